#!/bin/bash
# wheel_test.sh WHEEL PYTHON: installs a wheel into an empty venv without a network, then runs docs/walk-through.md and
# README.md with its command, compares its module's answer with the command's, finds and loads its plugin of NCCL, and
# removes it again.
set -euo pipefail
wheel=$(realpath "$1")
python=$2
source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$python" -m venv venv
before=$(find venv -type f ! -path '*/__pycache__/*' | sort)
# Where the system allows it, there is no network at all.
offline=()
if unshare --map-root-user --net true 2>/dev/null; then offline=(unshare --map-root-user --net); fi
start=$(date +%s%N)
"${offline[@]}" venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
printf 'installed in %d ms\n' $((($(date +%s%N) - start) / 1000000))

program=$work/venv/bin/stepscope
version=$(sed -nE 's/^project\(stepscope VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")
[ "$("$program" --version)" = "$version" ] || { echo "FAILED: --version prints $("$program" --version)"; exit 1; }
metadata=$(venv/bin/python -c 'import importlib.metadata as m; print(m.version("stepscope"))')
[ "$metadata" = "$version" ] || { echo "FAILED: the wheel's version is $metadata"; exit 1; }
for page in README.md docs/walk-through.md; do
  "$source/tests/walk_through/walk_through_test.sh" "$program" "$source" "$page"
done

# The module answers with the command's JSON, byte for byte.
traces=$source/examples/train_tiny/traces/ddp
"$program" analyze "$traces" --json command.json >/dev/null
venv/bin/python - "$traces" command.json <<'PY'
import sys, time
start = time.perf_counter()
import stepscope
print(f"imported in {(time.perf_counter() - start) * 1e3:.0f} ms")
answer = stepscope.analyze(sys.argv[1]).to_json()
assert answer == open(sys.argv[2]).read(), "the module's JSON is not the command's"
PY

plugin=$(venv/bin/python -m stepscope.nccl_plugin)
venv/bin/python - "$plugin" <<'PY'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for version in range(1, 7):
    getattr(library, f"ncclProfiler_v{version}")
PY
echo "the plugin of NCCL is $plugin"

venv/bin/python -m pip uninstall --quiet --yes stepscope
after=$(find venv -type f ! -path '*/__pycache__/*' | sort)
[ "$before" = "$after" ] || { echo "FAILED: pip leaves files behind"; diff <(echo "$before") <(echo "$after"); exit 1; }
