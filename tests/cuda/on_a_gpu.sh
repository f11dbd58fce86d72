#!/bin/bash
# on_a_gpu.sh BUILD OUT: on a machine with a CUDA device, runs the tests of the device tier and trains with states in host
# memory, on a drive and in the device. BUILD is the folder of a build with STEPSCOPE_CUDA (the programs stepscope and
# tests/cuda/cuda_test). Writes into OUT: tests.txt, one JSON a run, and summary.txt. Fails if a test fails or is skipped,
# or if a loss differs. Needs python3. PRESET names the network (gpt2-124m). A build of another machine is found wherever it
# lies; libraries that this machine lacks may lie in BUILD/lib (ldd BUILD/stepscope lists them).
set -euo pipefail
build=$(cd "$1" && pwd)
export STEPSCOPE_PROGRAM=$build/stepscope
[ ! -d "$build/lib" ] || export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
drive=$(mktemp -d "$out/drive.XXXXXX")
trap 'rm -rf "$drive"' EXIT

"$build/tests/cuda/cuda_test" | tee "$out/tests.txt"
if grep -q SKIPPED "$out/tests.txt"; then
  echo "no CUDA device was used" >&2
  exit 1
fi

train() {  # NAME STEPS FLAG...
  local name=$1 steps=$2
  shift 2
  "$STEPSCOPE_PROGRAM" train --preset "${PRESET:-gpt2-124m}" --zero 3 --ranks 2 --dtype bf16 --micro-batch 2 --seq 128 --steps "$steps" \
    --data "$source/docs/explanation/performance-model.md" --quiet --json "$out/$name.json" "$@" >"$out/$name.txt"
}
parts=optimizer,gradients,parameters
train memory 8
train drive 8 --offload "$parts:$drive"
train device 8 --offload-device "$parts" --checkpoint "$drive/checkpoints"
train resumed 12 --offload-device optimizer,parameters --offload "gradients:$drive" \
  --checkpoint "$drive/checkpoints" --resume

python3 - "$out" <<'PYTHON' | tee "$out/summary.txt"
import json
import sys

runs = {name: json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("memory", "drive", "device", "resumed")}
for name, run in runs.items():
    copies = run["means"]["budget_ns"]["copy_exposed"] / 1e6
    print(f"{name}: step {run['step_time_ns'] / 1e6:.1f} ms, exposed copies {copies:.2f} ms")
    for link in run["stats"]["memory_transfers"]["links"]:
        share = f", {100 * link['efficiency']:.0f} % of the measured rate" if link["efficiency"] else ""
        print(f"  {link['direction']}: {link['bytes']} bytes in {link['count']} transfers, {link['gb_per_s']:.2f} GB/s{share}")
losses = {name: [step["loss"] for step in run["steps"]] for name, run in runs.items()}
if not losses["memory"] == losses["drive"] == losses["device"]:
    sys.exit(f"losses differ: {losses}")
directions = {link["direction"] for link in runs["resumed"]["stats"]["memory_transfers"]["links"]}
if len(directions) != 6:
    sys.exit(f"not all six directions: {sorted(directions)}")
print("equal losses, six directions")
PYTHON
