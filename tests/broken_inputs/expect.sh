# SPDX-License-Identifier: Apache-2.0
# Sourced by the tables of broken inputs. Runs a command on an input in a directory of its own, checks the exit code,
# standard error and the remaining answer, and prints a row. The caller ends with `exit $failed`.
set -uo pipefail

stepscope=$(realpath "$1")
work=$(mktemp -d)
trap 'umount "$work/full" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# expect NAME CODE STDERR-PATTERN... -- COMMAND...: each pattern (a basic regular expression) matches a line of its own
# on standard error, and there are no other lines. Prefixed `ranks=N`: out.json has N ranks. Prefixed `says=PATTERN`:
# standard output or out.json matches.
expect() {
  local name=$1 code=$2 got lines=0 ok=1 patterns=()
  shift 2
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  rm -f out.json
  "$@" >stdout 2>stderr </dev/null
  got=$?
  [ "$got" = "$code" ] || ok=0
  for pattern in "${patterns[@]}"; do grep -q -- "$pattern" stderr || ok=0; done
  lines=$(wc -l <stderr)
  [ "$code" = 2 ] && [ -z "${one_line:-}" ] || [ "$lines" = "${#patterns[@]}" ] || ok=0
  if [ -n "${ranks:-}" ]; then
    [ "$(grep -o '"rank":[0-9]*,"rank_source":' out.json 2>/dev/null | wc -l)" = "$ranks" ] || ok=0
  fi
  if [ -n "${says:-}" ]; then grep -q -- "$says" stdout out.json 2>/dev/null || ok=0; fi
  printf '%-34s exit %-3s %s\n' "$name" "$got" \
    "$(sed "s/^stepscope: //; s/^\(.\{${longest:-150}\}\).*/\1…/" stderr | sed -n 1p)"
  if [ $ok = 0 ]; then
    failed=1
    echo "  FAILED: expected exit $code, ${#patterns[@]} line(s) (${patterns[*]:-none}), ranks ${ranks:-any}, ${says:-}"
    sed 's/^/  stderr: /' stderr
    sed -n '1,6s/^/  stdout: /p' stdout
    [ -e out.json ] && cut -c1-800 out.json | sed 's/^/  json: /'
  fi
}
