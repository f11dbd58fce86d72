#!/bin/bash
# foreign_wheel_test.sh WHEEL [PROGRAM]: runs a wheel for aarch64 under qemu-user on Debian's system for arm64: its command
# and module answer for the examples with the JSON of PROGRAM (a stepscope of this machine; default build/release/stepscope)
# byte for byte, and its plugin of NCCL loads. Only a wheel that CPython 3.11, Debian's, can load has its module tested.
# Needs qemu-user and debootstrap (tools/setup.sh wheel) and root.
set -euo pipefail
wheel=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
program=$(realpath "${2:-$source/build/release/stepscope}")
root=$source/build/wheel/root-arm64
if [ ! -e "$root" ]; then
  echo "unpacking Debian 12 for arm64"
  rm -rf "$root.part"
  debootstrap --foreign --arch=arm64 --variant=minbase --include=python3 bookworm "$root.part" \
    "$(sed -nE 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources | head -1)" >"$source/build/wheel/root-arm64.log"
  for package in "$root.part"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root.part"; done
  mv "$root.part" "$root"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unzip -q "$wheel" -d "$work/package"
scripts=("$work"/package/*.data/scripts)
command=${scripts[0]}/stepscope
chmod +x "$command"
foreign() { qemu-aarch64 -L "$root" "$@"; }
python() { PYTHONPATH=$work/package foreign "$root/usr/bin/python3.11" "$@"; }

[ "$(foreign "$command" --version)" = "$("$program" --version)" ] || { echo "FAILED: the versions differ"; exit 1; }
compared=0
for traces in "$source"/examples/*/traces/*; do
  "$program" analyze "$traces" --threads 1 --json "$work/here.json" >"$work/here.txt"
  foreign "$command" analyze "$traces" --threads 1 --json "$work/there.json" >"$work/there.txt"
  # The first line of the text says how long reading took.
  cmp "$work/here.json" "$work/there.json" && cmp <(tail -n +2 "$work/here.txt") <(tail -n +2 "$work/there.txt") ||
    { echo "FAILED: the answers for $traces differ"; exit 1; }
  compared=$((compared + 1))
done
[ "$compared" -gt 0 ] || { echo "FAILED: no examples"; exit 1; }
echo "the command's answers for $compared runs are those of this machine"

case $wheel in
  *-cp311-*)
    traces=$source/examples/train_tiny/traces/ddp
    "$program" analyze "$traces" --json "$work/here.json" >/dev/null
    python -c '
import sys, stepscope
assert stepscope.analyze(sys.argv[1]).to_json() == open(sys.argv[2]).read()
import ctypes, stepscope.nccl_plugin
ctypes.CDLL(str(stepscope.nccl_plugin.path())).ncclProfiler_v6' "$traces" "$work/here.json"
    echo "the module's answer is that of this machine, and the plugin loads" ;;
esac
