#!/bin/bash
# library_test.sh PROGRAM FOLDER TRACES TEXT: the ten-line programs in FOLDER print the JSON of PROGRAM, byte for byte. Only
# the reading time in seconds differs from one run to the next. In training, all results that do not depend on time are
# equal.
set -euo pipefail
program=$1 folder=$2 traces=$3 text=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for i in $(seq 1 60); do
  echo "$((100 + i * 37 % 11))" >>"$work/before.txt"
  echo "$((110 + i * 37 % 11))" >>"$work/after.txt"
done
same() {
  local name=$1
  if ! cmp "$work/$name.command" "$work/$name.library"; then
    diff "$work/$name.command" "$work/$name.library" | head -n 20
    echo "$name: the library's JSON differs from the command's"
    exit 1
  fi
  [ "$(wc -c <"$work/$name.command")" -gt 500 ] || { echo "$name: hardly anything was printed"; exit 1; }
}
timeless() { sed -E 's/("(read_)?seconds":) *[0-9.e+-]+/\1 0/'; }

"$program" analyze "$traces" --json - | timeless >"$work/analyze.command"
"$folder/library_analyze" "$traces" | timeless >"$work/analyze.library"
same analyze
"$program" predict gpt2 --machine h100_sxm_80gb --gpus 8 --global-batch 64 --zero 2 --json - >"$work/predict.command"
"$folder/library_predict" >"$work/predict.library"
same predict
"$program" compare "$work/before.txt" "$work/after.txt" --json - >"$work/compare.command"
"$folder/library_compare" "$work/before.txt" "$work/after.txt" >"$work/compare.library"
same compare
[ -x "$folder/library_train" ] || exit 0  # a build without the engine
learned() { tr -d ' \n' | tr ',' '\n' | grep -oE '"(model|parameters|ranks|transport|loss|gradient_norm|tokens|planned_bytes|measured_bytes)":[^]}]+'; }
"$program" train --data "$text" --ranks 2 --transport shm --batch 1 --seq 16 --steps 3 --quiet --json - | learned >"$work/train.command"
"$folder/library_train" "$text" | learned >"$work/train.library"
same train
