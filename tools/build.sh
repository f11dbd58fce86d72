#!/bin/bash
# build.sh PRESET [TARGET...]: configures build/PRESET and builds the targets (all without any).
# Takes Debian's own cmake and ninja, which setup.sh installs, before others that PATH may hold.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
whole_build_seconds=1100  # of a core, release with tests
cmake=/usr/bin/cmake
[ -x $cmake ] || cmake=cmake
configure=(--preset "$preset")
[ ! -x /usr/bin/ninja ] || configure+=(-DCMAKE_MAKE_PROGRAM=/usr/bin/ninja)
! command -v ccache >/dev/null || configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

log=build/$preset.configure.log
mkdir -p build
if ! "$cmake" "${configure[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# A whole build says which optional parts it has, and why.
[ $# -gt 0 ] || grep -E '^-- .*: (on|off)\b' "$log" || true
# How long it will take: processor time of a whole build (tools/build_time.sh measures it), by the share of steps that are left.
steps=$(grep -c '^build .*\.o: CXX' "build/$preset/build.ninja" || true)
left=$("$cmake" --build "build/$preset" ${1:+--target "$@"} -- -n 2>/dev/null | grep -c 'Building CXX' || true)
cores=${JOBS:-$(nproc)}
if [ "$left" -gt 20 ] && [ "$steps" -gt 0 ]; then
  minutes=$(( (left * whole_build_seconds / steps / cores + 59) / 60 ))
  echo "building: $left files to compile on $cores cores, about $minutes minutes (less beside a filled compiler cache)"
fi
# Under a fixed address layout, or ThreadSanitizer refuses kernels with much randomness.
fixed_layout=()
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then fixed_layout=(setarch -R); fi
"${fixed_layout[@]}" "$cmake" --build "build/$preset" --parallel "${JOBS:-$(nproc)}" \
  ${1:+--target "$@"}
