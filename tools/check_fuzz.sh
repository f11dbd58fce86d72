#!/bin/bash
# check_fuzz.sh BUILD_DIR [SECONDS]: each fuzz target for a short while, from the committed corpus.
# Findings are kept in BUILD_DIR/findings.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
seconds=${2:-60}
found=0
for target in "$build"/tests/fuzz/*_fuzz; do
  [ -x "$target" ] || continue
  found=1
  name=$(basename "$target" _fuzz)
  mkdir -p "$build/corpus/$name" "$build/findings"
  log=$build/findings/$name.log
  options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
           -artifact_prefix="$build/findings/$name-")
  [ ! -e "tests/fuzz/$name.dict" ] || options+=(-dict="tests/fuzz/$name.dict")
  echo "fuzz: $name for $seconds s"
  if ! "$target" "${options[@]}" "$build/corpus/$name" "tests/fuzz/corpus/$name" </dev/null >"$log" 2>&1; then
    tail -50 "$log" >&2
    exit 1
  fi
  grep -E '^(Done|stat::number_of)' "$log"
done
[ $found = 1 ] || { echo "fuzz: no target in $build/tests/fuzz" >&2; exit 1; }
