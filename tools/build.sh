#!/bin/bash
# build.sh PRESET [TARGET...]: configures build/PRESET and builds the targets (default: all). Uses Debian's own cmake
# and ninja, which setup.sh installs, before others on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
whole_build_seconds=850  # processor time of a release build with tests
cmake=/usr/bin/cmake
[ -x $cmake ] || cmake=cmake
configure=(--preset "$preset")
[ ! -x /usr/bin/ninja ] || configure+=(-DCMAKE_MAKE_PROGRAM=/usr/bin/ninja)
# The Python module is part of the whole release build where its environment can be made (tools/python_env.sh).
if [ "$preset" = release ] && [ $# -eq 0 ]; then
  if python=$(tools/python_env.sh); then
    configure+=(-DSTEPSCOPE_PYTHON=ON "-DPython_EXECUTABLE=$python")
  else
    echo "the Python module: off, its environment could not be made (see above)" >&2
    configure+=(-DSTEPSCOPE_PYTHON=OFF)
  fi
fi
! command -v ccache >/dev/null || configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

log=build/$preset.configure.log
mkdir -p build
if ! "$cmake" "${configure[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# A whole build prints its optional parts and why they are on or off.
[ $# -gt 0 ] || grep -E '^-- .*: (on|off)\b' "$log" || true
# Estimates the time: processor time of a whole build (measured by tools/build_time.sh) times the share of the files
# that are not compiled yet.
objects() { "$cmake" --build "build/$preset" -- -t commands "$@" | sed -nE 's/.* -o ([^ ]+\.(o|gch)) .*/\1/p' | sort -u; }
whole=$(objects all | wc -l)
left=0
while read -r object; do [ -e "build/$preset/$object" ] || left=$((left + 1)); done < <(objects "${@:-all}")
cores=${JOBS:-$(nproc)}
if [ "$left" -gt 20 ]; then
  minutes=$(( (left * whole_build_seconds / whole / cores + 59) / 60 ))
  echo "building: $left files to compile on $cores cores, about $minutes minutes (less beside a filled compiler cache)"
fi
# ThreadSanitizer needs a fixed address layout on kernels with much randomisation.
fixed_layout=()
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then fixed_layout=(setarch -R); fi
"${fixed_layout[@]}" "$cmake" --build "build/$preset" --parallel "${JOBS:-$(nproc)}" \
  ${1:+--target "$@"}
