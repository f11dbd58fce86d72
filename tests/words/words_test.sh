#!/bin/bash
# words_test.sh SOURCE: tools/check_words.sh refuses the words of its list, and only in comments and prose.
set -euo pipefail
lint=$(cd "$1" && pwd)/tools/check_words.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failed=0
# expect COUNT FILE: the lint refuses COUNT places of FILE, and passes a file without refused places.
expect() {
  local found rc=0
  found=$(bash "$lint" "$2" 2>/dev/null) || rc=$?
  found=$(grep -c . <<<"$found" || true)
  if [ "$found" -ne "$1" ] || { [ "$1" -eq 0 ] && [ "$rc" -ne 0 ]; } || { [ "$1" -ne 0 ] && [ "$rc" -eq 0 ]; }; then
    echo "FAILED: $2 has $1 refused places, the lint says $found (exit $rc)"
    failed=1
  fi
}

cat >refused.cc <<'TEXT'
// Beside it a rank is told nothing, one
// of which tells. Of a step likewise. Those of a rank.
int a = 1;  // none is left
/* There are so
   many; held against it. */
TEXT
expect 10 refused.cc
cat >passed.cc <<'TEXT'
// As many as it has. The key "beside" and `told` are quoted, and --beside is a flag.
const char* a = "told // beside"; const char c = '"'; // it has 1'000 steps
int told(int beside);
R"(// beside)";
TEXT
expect 0 passed.cc
printf '# It tells.\nx = "beside"  # told\n"""Of text."""\n' >refused.py
expect 3 refused.py
printf 'Text tells.\n\n    code tells\n\n```\nbeside\n```\n| a | likewise |\n' >refused.md
expect 2 refused.md
[ $failed -eq 0 ] && echo "words: the lint refuses what it should"
exit $failed
