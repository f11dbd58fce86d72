#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: man_page_test.sh STEPSCOPE
# groff formats every man page without a warning (77: there is no groff).
set -u
stepscope=$(realpath "$1")
command -v groff >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
  echo "FAILED: $1"
  failed=1
}
"$stepscope" man --all "$dir" || fail "man --all"
pages=("$dir"/stepscope*.1)
[ ${#pages[@]} -ge 15 ] || fail "only ${#pages[@]} pages"
for page in "${pages[@]}"; do
  groff -man -Tutf8 -P-cbou -ww "$page" >"$dir/out" 2>"$dir/err" || fail "groff refuses $page"
  [ ! -s "$dir/err" ] || fail "$(basename "$page"): $(head -3 "$dir/err")"
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" "SEE ALSO"; do
    grep -q "$section" "$dir/out" || fail "$(basename "$page") has no section $section"
  done
done
"$stepscope" man plan | cmp -s - "$dir/stepscope-plan.1" || fail "man plan is another page"
"$stepscope" man | cmp -s - "$dir/stepscope.1" || fail "man is another page"
[ $failed -eq 0 ] && echo "${#pages[@]} pages"
exit $failed
