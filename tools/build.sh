#!/bin/bash
# build.sh PRESET [TARGET...]: configures build/PRESET and builds the targets (default: all). Uses Debian's own cmake
# and ninja, which setup.sh installs, before others on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
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
# The objects that are not compiled yet.
objects() { "$cmake" --build "build/$preset" -- -t commands "$@" | sed -nE 's/.* -o ([^ ]+\.(o|gch)) .*/\1/p' | sort -u; }
wanted=$(objects "${@:-all}")
left() { local n=0; for object in $wanted; do [ -e "build/$preset/$object" ] || n=$((n + 1)); done; echo $n; }
cores=${JOBS:-$(nproc)}
files=$(left)
# Says how long the build takes, by its first files.
announce() {
  local begin=$SECONDS compiled=0 first=12
  while [ $compiled -lt $first ]; do sleep 5; compiled=$((files - $(left))); done
  local seconds=$(( (SECONDS - begin) * (files - compiled) / compiled ))
  echo "building: about $(( (seconds + 59) / 60 )) minutes more, as long as the first $compiled files"
}
announcing=
if [ "$files" -gt 40 ]; then
  echo "building: $files files to compile on $cores cores"
  announce & announcing=$!
  trap '[ -z "$announcing" ] || kill $announcing 2>/dev/null || true' EXIT
fi
# ThreadSanitizer needs a fixed address layout on kernels with much randomisation.
fixed_layout=()
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then fixed_layout=(setarch -R); fi
"${fixed_layout[@]}" "$cmake" --build "build/$preset" --parallel "$cores" \
  ${1:+--target "$@"}
