#!/bin/sh
# SPDX-License-Identifier: MIT
# What the tool says to a wrong command line: status 64, nothing on standard output, one line that names the fault.
set -u
# shellcheck source=../peers/lib.sh
. "$(dirname "$0")/../peers/lib.sh"

# Nothing listens here; a command line that is wrong never dials.
target=127.0.0.1:1
method=/pkg.Service/Method

# run ARGUMENT...: the tool with empty standard input.
run() {
    status=0
    timeout -k 5 60 "$lull" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    said=$(cat "$work/err")
}

# refuses NAME LINE ARGUMENT...: the whole line.
refuses() {
    name=$1 line=$2
    shift 2
    run "$@"
    is "$name" "64 0 lull: $line" "$status $(wc -c <"$work/out") $said"
}

# refuses_with NAME WORD ARGUMENT...: one line with this word; the library has the text.
refuses_with() {
    name=$1 word=$2
    shift 2
    run "$@"
    is "$name: status, bytes printed, lines said" "64 0 1" "$status $(wc -c <"$work/out") $(wc -l <"$work/err")"
    has "$name: names the fault" "$said" "lull: " "$word"
}

# ---- commands
run
has "no command" "$status $(wc -c <"$work/out") $said" "64 0 lull: a command is missing" "usage: lull COMMAND" "lull call"
refuses "an unknown command" "unknown command 'cal' (see 'lull help')" cal
refuses "help for an unknown command" "unknown command 'cal' (see 'lull help')" help cal
run help
has "help names the commands" "$status $said $(cat "$work/out")" "0  usage: lull" "lull call" "lull help"
run help call
cp "$work/out" "$work/help"
has "help call names the options" "$status $(cat "$work/help")" "0 usage: lull call" --data-hex --hex -H --deadline \
    --plaintext --authority --delimited --read-timeout --wait-for-ready -v --max-message base64 "exit status"
run call --help
holds "call --help is the same" cmp "$work/help" "$work/out"
run --version
has "--version" "$status $(cat "$work/out")" "0 lull 0."

# ---- the words of a call
refuses "no target" "the target is missing (see 'lull help call')" call --plaintext
refuses "no method" "the method is missing: /package.Service/Method" call --plaintext $target
refuses "a word too many" "unexpected 'x': the target and the method came before" call --plaintext $target $method x
for bad in pkg.Service/Method /pkg.Service /pkg.Service/ //Method / '/pkg.Service/Met hod' /a/b/c ''; do
    refuses "bad method '$bad'" "bad method '$bad': it is written /package.Service/Method" call --plaintext $target "$bad"
done
refuses "no --plaintext" \
    "pass --tls, or --plaintext to make this call over a connection without TLS" \
    call --data-hex '' $target $method

refuses "both" "--tls and --plaintext are both given" call --tls --plaintext $target $method
refuses "a root in plaintext" "--cacert, --cert, --key and --insecure need --tls" call --plaintext --cacert x.pem $target $method
refuses "a certificate without its key" "--cert and --key go together" call --tls --cert x.pem $target $method

# ---- options
refuses "an unknown option" "unknown option '--dead-line' (see 'lull help call')" \
    call --plaintext --dead-line 5s $target $method
refuses "an unknown letter" "unknown option '-x' (see 'lull help call')" call --plaintext -x $target $method
refuses "an option without its value" "--deadline needs a value" call --plaintext $target $method --deadline
refuses "a value for an option that takes none" "--plaintext takes no value" call --plaintext=yes $target $method
refuses "a value for --delimited" "--delimited takes no value" call --plaintext --delimited=1 $target $method
refuses "a read timeout that is none" "--read-timeout 'x': not a duration: a whole number and ns, us, ms, s, m or h" \
    call --plaintext --read-timeout x $target $method
refuses "the same option twice" "--deadline is given twice" \
    call --plaintext --deadline 5s --deadline 6s $target $method
refuses "the same data twice" "--data-hex is given twice" call --plaintext --data-hex 00 --data-hex=00 $target $method
refuses "after -- everything is a word" "unexpected '--hex': the target and the method came before" \
    call --plaintext -- $target $method --hex

whole="a whole number and ns, us, ms, s, m or h"
for bad in '' s -5s +5s ' 5s' five 99999999999999999999s; do
    refuses "bad duration '$bad'" "--deadline '$bad': not a duration: $whole" \
        call --plaintext --deadline "$bad" $target $method
done
refuses "a duration without a unit" \
    "--deadline '5': the unit is missing: ns, us, ms, s, m or h must follow the whole number" \
    call --plaintext --deadline 5 $target $method
for bad in 5x 0x5s 5S 5sec '5 s' 5s5 5d; do
    refuses "bad unit '$bad'" "--deadline '$bad': unknown unit: ns, us, ms, s, m or h must follow the whole number" \
        call --plaintext --deadline "$bad" $target $method
done
refuses "a fraction" "--deadline '1.5s': a fraction: the number must be whole, as in 1500ms" \
    call --plaintext --deadline 1.5s $target $method
refuses "a duration of 300 years" "--deadline '2628000h': too long: the longest is 292 years" \
    call --plaintext --deadline 2628000h $target $method

refuses "half a byte" "--data-hex 'abc': half a byte at position 3: two hex digits make a byte" \
    call --plaintext --data-hex abc $target $method
refuses "half a byte before a blank" "--data-hex 'a b': half a byte at position 1: two hex digits make a byte" \
    call --plaintext --data-hex 'a b' $target $method
refuses "a letter that is no digit" "--data-hex '0g': 'g' at position 2 is not a hex digit" \
    call --plaintext --data-hex 0g $target $method
refuses "hex with 0x" "--data-hex '0x00': 'x' at position 2 is not a hex digit" \
    call --plaintext --data-hex 0x00 $target $method

for bad in 0 -1 1k '' 2147483648 99999999999999999999 4.5; do
    refuses "bad size '$bad'" "--max-message '$bad': not a number of bytes from 1 to 2147483647" \
        call --plaintext --max-message "$bad" $target $method
done
refuses "an empty authority" "--authority '': a name is needed" call --plaintext --authority '' $target $method

# ---- metadata
for bad in '' name :value; do
    refuses "bad header '$bad'" "-H '$bad': a header is name:value" call --plaintext -H "$bad" $target $method
done
refuses "a -bin value that is no base64" "-H 'x-bin:a*bc': not base64: '*' at position 2" \
    call --plaintext -H 'x-bin:a*bc' $target $method
refuses "base64 cut short" "-H 'x-bin:QUJDR': not base64: its length fits no bytes" \
    call --plaintext -H x-bin:QUJDR $target $method
refuses "base64 with stray bits" "-H 'x-bin:QUJ': not base64: bits are left over at its end" \
    call --plaintext -H x-bin:QUJ $target $method
# What may be metadata is the library's to say.
refuses_with "a name that gRPC owns" grpc-timeout call --plaintext -H grpc-timeout:1S $target $method
refuses_with "a name that HTTP/2 owns" content-type call --plaintext -H Content-Type:text/html $target $method
refuses_with "a name with a space" 'a b' call --plaintext -H 'a b:c' $target $method
refuses_with "a value outside ASCII" x-a call --plaintext -H "$(printf 'x-a:na\303\257ve')" $target $method
refuses_with "a value with a newline" 'x-a' call --plaintext -H 'x-a:b
c' $target $method

# ---- targets are the library's to judge too
# bad_target TARGET WORD
bad_target() {
    refuses_with "bad target '$1'" "$2" call --plaintext --data-hex '' "$1" $method
}
bad_target nonsense:name:x nonsense:name:x
bad_target 127.0.0.1: 127.0.0.1:
bad_target 127.0.0.1:99999 99999
bad_target '[::1' '[::1'
bad_target unix: unix:
bad_target example..com:80 example..com

# ---- what a terminal would act on is shown, not sent
refuses "control characters are shown" "unknown command 'a\\nb\\x1b[2J' (see 'lull help')" "$(printf 'a\nb\033[2J')"

# ---- a command line that is right gets as far as the network: nobody listens on port 1
run call --plaintext --data-hex 'AB cd' -Hx-a:1 --header 'X-B-bin: AP8=' --deadline=10s --hex -v --authority a.test \
    --max-message 1000 -- $target $method
is "a right command line is past status 64" 14 "$status"
has "it reached the network" "$said" "> $method (2 bytes)" "> x-a: 1" "> x-b-bin: AP8=" "lull: UNAVAILABLE"

finish
