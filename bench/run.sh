#!/bin/bash
# bench/run.sh [--trace FILE] [--bytes N] [--rounds N] [--big] [--hta PYTHON] [--build DIR]: makes the inputs in
# a temporary folder, measures, and prints Markdown; docs/dev/benchmarks.md explains the figures.
#   --trace FILE   the recording that is grown (default: the bundled example)
#   --bytes N      of JSON (default 1000000000)
#   --rounds N     of every measured thing, in turn (default 5)
#   --big          also a file larger than 4 GiB, read once
#   --hta PYTHON   also HolisticTraceAnalysis, with this interpreter (PYTHONPATH is honoured)
#   --build DIR    where the release build is (default build/release)
# On two cores about three minutes, and two more for each of --big and --hta. Needs disk space of about 1.2 times N,
# with --big 6 GB more, in TMPDIR, and nothing else running: a busy machine makes every ratio meaningless.
set -euo pipefail
cd "$(dirname "$0")/.."

trace=examples/train_tiny/traces/ddp/rank0.json.gz bytes=1000000000 rounds=5 big='' hta='' build=build/release
usage() { sed -n '2,11s/^# //p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --big) big=4500000000; shift ;;
    --trace | --bytes | --rounds | --hta | --build) [ $# -gt 1 ] || usage; declare "${1#--}=$2"; shift 2 ;;
    *) usage ;;
  esac
done

for program in scaling ingest floor; do
  [ -x "$build/bench/$program" ] || { echo "run.sh: build it first: make test, or ninja -C $build" >&2; exit 1; }
done
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

echo "- machine: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "- $(uname -sr), built by $(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' "$build/CMakeCache.txt" | head -1) ($(sed -n 's/^CMAKE_BUILD_TYPE:[^=]*=//p' "$build/CMakeCache.txt")), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
echo "- grown from $(basename "$trace")"
"$build/bench/scaling" --grow "$trace" "$bytes" >"$dir/trace.json"
gzip -6 -k "$dir/trace.json"

analyze=()
if [ -x "$build/stepscope" ]; then analyze=(--analyze "$build/stepscope"); fi
"$build/bench/ingest" "${analyze[@]}" --rounds "$rounds" "$dir/trace.json" "$dir/trace.json.gz"

if [ -n "$hta" ]; then
  printf '\n### HolisticTraceAnalysis on trace.json, %s MB\n\n' $(($(stat -c %s "$dir/trace.json") / 1000000))
  "$hta" bench/hta_peer.py "$dir/trace.json" 2>"$dir/hta.log" | grep '^| HTA' ||
    { echo "HTA failed: $(tail -1 "$dir/hta.log")"; }
fi
if [ -n "$big" ]; then
  rm -f "$dir"/trace.json*
  "$build/bench/scaling" --grow "$trace" "$big" >"$dir/big.json"
  "$build/bench/ingest" "$dir/big.json"
fi
