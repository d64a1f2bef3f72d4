#!/bin/sh
# SPDX-License-Identifier: MIT
# `lull call` against etcd: Put, Range and Txn by way of protoc and etcd.proto, every value checked.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=etcd.sh
. "$(dirname "$0")/etcd.sh"

# etcd_call METHOD REQUEST RESPONSE TEXT [OPTION...]: text form in, text form out in $text.
etcd_call() {
    method=$1 request=$2 response=$3
    printf '%s\n' "$4" >"$work/text"
    shift 4
    protoc -I "$peers" --encode="etcdserverpb.$request" etcd.proto <"$work/text" >"$work/request" ||
        error "protoc cannot encode the request"
    call "$@" "127.0.0.1:$port" "/etcdserverpb.KV/$method" <"$work/request"
    text=$(protoc -I "$peers" --decode="etcdserverpb.$response" etcd.proto <"$work/out") ||
        not_ok "protoc decodes the response of $method" "it does not"
}

# field NAME: the first value of a field in $text.
field() {
    printf '%s\n' "$text" | sed -n "s/^ *$1: //p" | sed -n 1p
}

# without_header: $text without its first message, which changes from run to run.
without_header() {
    printf '%s\n' "$text" | sed '/^header {/,/^}/d'
}

put_and_range() {
    etcd_call Put PutRequest PutResponse 'key: "lull" value: "one\000\377"'
    is "Put ends OK" "0 " "$status $said"
    cluster=$(field cluster_id)
    has_ids=no
    [ "${cluster:-0}" != 0 ] && [ "$(field member_id)" != 0 ] && has_ids=yes
    is "its header names cluster and member" yes $has_ids
    first=$(field revision)
    within "it has a revision" 1 "${first:-0}" 1000000
    is "nothing was there before" '' "$(without_header)"

    etcd_call Put PutRequest PutResponse 'key: "lull" value: "two" prev_kv: true'
    is "the second Put is one revision later" $((first + 1)) "$(field revision)"
    is "and has what was there before" "prev_kv {
  key: \"lull\"
  create_revision: $first
  mod_revision: $first
  version: 1
  value: \"one\\000\\377\"
}" "$(without_header)"

    etcd_call Range RangeRequest RangeResponse 'key: "lull"'
    is "Range gives the key exactly" "kvs {
  key: \"lull\"
  create_revision: $first
  mod_revision: $((first + 1))
  version: 2
  value: \"two\"
}
count: 1" "$(without_header)"
    is "from the same cluster" "$cluster" "$(field cluster_id)"
    etcd_call Range RangeRequest RangeResponse "key: \"lull\" revision: $first"
    is "Range gives the past" "one\\000\\377" "$(field value | tr -d '"')"
    etcd_call Range RangeRequest RangeResponse 'key: "nothing"'
    is "a key that is not there is OK and empty" "0 " "$status $(without_header)"
    is "etcd's own client sees what was put" two \
        "$(etcdctl --endpoints "127.0.0.1:$port" get --print-value-only lull)"
}

# txn EXPECTED-VALUE NEW-VALUE: if lull has the first value, it gets the second, else it is read.
txn() {
    etcd_call Txn TxnRequest TxnResponse "
compare { result: EQUAL target: VALUE key: \"lull\" value: \"$1\" }
success { request_put { key: \"lull\" value: \"$2\" } }
success { request_range { key: \"lull\" } }
failure { request_range { key: \"lull\" } }"
}

transactions() {
    txn two three
    at=$(field revision)
    is "Txn takes the success branch" "0 true $((first + 2))" "$status $(field succeeded) $at"
    is "put, then read, in one revision" "succeeded: true
responses {
  response_put {
    header {
      revision: $at
    }
  }
}
responses {
  response_range {
    header {
      revision: $at
    }
    kvs {
      key: \"lull\"
      create_revision: $first
      mod_revision: $at
      version: 3
      value: \"three\"
    }
    count: 1
  }
}" "$(without_header)"
    txn two four
    is "Txn takes the failure branch, which writes nothing" "0  $at" "$status $(field succeeded) $(field revision)"
    is "and reads the value that was there" "responses {
  response_range {
    header {
      revision: $at
    }
    kvs {
      key: \"lull\"
      create_revision: $first
      mod_revision: $at
      version: 3
      value: \"three\"
    }
    count: 1
  }
}" "$(without_header)"
}

errors() {
    etcd_call Range RangeRequest RangeResponse ''
    call_ended "an empty key is etcd's own error" 3 "lull: INVALID_ARGUMENT: etcdserver: key is not provided"
    etcd_call Range RangeRequest RangeResponse 'key: "lull" revision: 1000000'
    call_ended "a revision to come is OUT_OF_RANGE" 11 "lull: OUT_OF_RANGE: etcdserver: mvcc: required revision is a future revision"
    call --data-hex '' "127.0.0.1:$port" /etcdserverpb.KV/Nope
    call_ended "a method that etcd has not is UNIMPLEMENTED" 12 "lull: UNIMPLEMENTED:" Nope
    # A field of type string (lease: varint) with a broken varint.
    call --data-hex 18ff "127.0.0.1:$port" /etcdserverpb.KV/Put
    call_ended "a request that is no protobuf is INTERNAL" 13 "lull: INTERNAL:"
}

deadlines() {
    etcd_call Range RangeRequest RangeResponse 'key: "lull"' --deadline 20s
    is "a call with a deadline ends OK" "0 three" "$status $(field value | tr -d '"')"
    # A server that hangs: the connection stands, nobody answers.
    kill -STOP "$started"
    start_at=$(now_ms)
    etcd_call Range RangeRequest RangeResponse 'key: "lull"' --deadline 500ms
    took=$(($(now_ms) - start_at))
    kill -CONT "$started"
    call_ended "a stopped etcd is DEADLINE_EXCEEDED" 4 "lull: DEADLINE_EXCEEDED"
    within "not before 500 ms, nor long after" 500 "$took" 5000
    etcd_call Range RangeRequest RangeResponse 'key: "lull"' --deadline 20s
    is "and works again when it goes on" "0 three" "$status $(field value | tr -d '"')"
}

timeline() {
    etcd_call Range RangeRequest RangeResponse 'key: "lull"' -v
    states=$(grep -E '^ *[0-9]+\.[0-9]{3} ms  state ' "$work/err" | tr '\n' ' ')
    is "-v shows IDLE, CONNECTING, READY in this order" yes "$(printf %s "$states" |
        sed -n 's/.*IDLE.*CONNECTING.*READY.*/yes/p')"
    has "and etcd's response" "$said" " ms  sent " " ms  headers " ":status 200" " ms  message " " ms  closed "
    printf '%s\n' "$said" | sed 's/^/    /'
}

start_etcd etcd
put_and_range
transactions
errors
deadlines
timeline
finish
