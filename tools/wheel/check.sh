#!/bin/bash
# check.sh TOOLS WHEEL...: checks wheels with the programs in the folder TOOLS (auditwheel, abi3audit, twine) and prints
# a table of their tags and sizes. It fails if one is larger than 15 MB, needs more than its tag says, has a module of
# another binary interface or a binary without a protection (tests/hardening), or would be refused by an index.
set -euo pipefail
tools=$1
shift
failed=0
fail() {
  echo "check: $1" >&2
  failed=1
}

for wheel; do
  name=$(basename "$wheel" .whl)
  platform=${name##*-}
  shown=$("$tools/auditwheel" show "$wheel") || fail "auditwheel cannot read $wheel"
  flat=$(tr '\n' ' ' <<<"$shown" | tr -s ' ')
  grep -qF "is consistent with the following platform tag: \"$platform\"" <<<"$flat" ||
    fail "$wheel is not what $platform says: $flat"
  case $name in *-abi3-*) "$tools/abi3audit" --strict "$wheel" || fail "$wheel is not of the stable ABI" ;; esac
  [ "$(stat -c %s "$wheel")" -le 15000000 ] || fail "$wheel is larger than 15 MB"
  unpacked=$(mktemp -d)
  unzip -q "$wheel" -d "$unpacked"
  products=("$unpacked"/*.data/scripts/stepscope "$unpacked"/stepscope/*.so)
  "$(dirname "$0")/../../tests/hardening/check_binaries.sh" "${products[@]}" "$unpacked" || fail "$wheel has unprotected binaries"
  rm -rf "$unpacked"
done
"$tools/twine" check --strict "$@" || failed=1

printf '%-60s %10s %14s\n' wheel packed unpacked
for wheel; do
  printf '%-60s %7s MB %11s MB\n' "$(basename "$wheel")" "$(stat -c %s "$wheel" | awk '{printf "%.1f", $1 / 1e6}')" \
    "$(unzip -l "$wheel" | tail -1 | awk '{printf "%.1f", $1 / 1e6}')"
done
exit $failed
