#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: flags_page_test.sh STEPSCOPE SOURCE [--write]
# docs/reference/flags.md and flags/VERB.md are what the program prints; --write puts that into the pages.
set -euo pipefail
pages=$2/docs/reference
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/flags"
"$1" man --markdown >"$made/flags.md"
verbs=$(sed -nE 's/^\| \[(.*)\]\(flags\/.*/\1/p' "$made/flags.md")
[ "$(wc -w <<<"$verbs")" -ge 10 ] || { echo "FAILED: flags.md names few verbs"; exit 1; }
for verb in $verbs; do "$1" man "$verb" --markdown >"$made/flags/$verb.md"; done
if [ "${3:-}" = --write ]; then
  rm -rf "$pages/flags"
  cp -r "$made/flags.md" "$made/flags" "$pages"
  echo "written: $pages/flags.md and $(wc -w <<<"$verbs") pages in $pages/flags"
else
  { diff -u "$pages/flags.md" "$made/flags.md" && diff -ru "$pages/flags" "$made/flags"; } ||
    { echo "FAILED: run this test with --write"; exit 1; }
fi
