#!/bin/bash
# errata_test.sh SOURCE: every test that docs/dev/errata.md names exists, and every row names one.
set -euo pipefail
cd "$1"
tests=$(grep -rhoE 'TEST(_F|_P)?\([A-Za-z_]+, *[A-Za-z_0-9]+\)' --include='*_test.cc' stepscope engine tests |
  sed -E 's/TEST(_F|_P)?\(//; s/, */./; s/\)//' | sort -u)
rows=0
failed=0
while IFS= read -r row; do
  rows=$((rows + 1))
  names=$(grep -oE '`[A-Za-z_]+\.[A-Za-z_0-9]+`' <<<"${row##*| }" | tr -d '`') || true
  [ -n "$names" ] || { echo "names no test: $row"; failed=1; }
  for name in $names; do
    grep -qxF "$name" <<<"$tests" || { echo "there is no test $name"; failed=1; }
  done
done < <(grep '^| ' docs/dev/errata.md | tail -n +2 | sed 's/ |$//')
[ "$rows" -ge 38 ] || { echo "only $rows rows"; failed=1; }
echo "$rows rows"
exit $failed
