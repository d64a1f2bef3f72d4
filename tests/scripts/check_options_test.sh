#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/check-options.sh catches what it is there for.
set -eu
. "$(dirname "$0")/plant.sh"

check() { sh "$top/scripts/check-options.sh" --root "$tree" --lull "$tree/lull"; }

# Three commands with the same options; of the first one some are changed.
help_of_call='  --tls               TLS, or
  -H, --header NAME   metadata, as --other has
  --cert FILE, --key FILE
                      --not-an-option'
manual_of_call='.It Fl -tls
.It Fl H , Fl -header Ar NAME
.It Fl -cert Ar FILE , Fl -key Ar FILE'
completion_of_call='--tls -H --header --cert --key'

plant() {
    {
        echo '#!/bin/sh'
        echo "test \"\$2\" = call || { echo '  --tls'; exit; }"
        echo "cat <<'END'"
        printf '%s\nEND\n' "$help_of_call"
    } | put lull
    chmod +x "$tree/lull"
    {
        printf '.Ss lull call\n%s\n.Ss lull serve\n.It Fl -tls\n.Ss lull watch\n.It Fl -tls\n' "$manual_of_call"
        printf '.Sh MORE\n.It Fl -elsewhere\n'
    } | put tool/lull.1
    echo "_lull_options() { test \"\$1\" = call || { echo --tls; return; }; echo $completion_of_call; }" | put tool/completion/lull
}

plant
passes "three lists that are one" check
manual_of_call='.It Fl -tls
.It Fl -header Ar NAME
.It Fl -cert Ar FILE , Fl -key Ar FILE'
plant
catches "an option that the manual lacks" "lull call: -H is missing in the manual" check
manual_of_call='.It Fl -tls
.It Fl H , Fl -header Ar NAME
.It Fl -cert Ar FILE , Fl -key Ar FILE
.It Fl -old'
plant
catches "one that only the manual has" "lull call: --old is in the manual, and not in the help" check
manual_of_call='.It Fl -tls
.It Fl H , Fl -header Ar NAME
.It Fl -cert Ar FILE , Fl -key Ar FILE'
completion_of_call='--tls --header --cert --key --older'
plant
catches "an option that the completion lacks" "lull call: -H is missing in the completion" check
catches "one that only the completion has" "lull call: --older is in the completion, and not in the help" check
completion_of_call='--tls -H --header --cert --key'
help_of_call="$help_of_call
  --new               what nobody wrote down"
plant
catches "a new option" "lull call: --new is missing in the manual" check
catches "which is missing twice" "lull call: --new is missing in the completion" check
help_of_call='no option at all'
plant
catches "a help without options" "lull call: its help has no option" check

finish
