#!/bin/bash
# build_time.sh [TARGET...]: builds the targets (default: the command `stepscope`, then everything) from scratch,
# without a compiler cache and with no other work on the machine. Prints wall time, processor time, and the slowest
# files.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(stepscope all)
cmake=/usr/bin/cmake
[ -x $cmake ] || cmake=cmake
configure=(--preset release)
[ ! -x /usr/bin/ninja ] || configure+=(-DCMAKE_MAKE_PROGRAM=/usr/bin/ninja)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
"$cmake" "${configure[@]}" -B "$build" -DCMAKE_CXX_COMPILER_LAUNCHER= >"$build/configure.log" 2>&1 || {
  cat "$build/configure.log" >&2
  exit 1
}
echo "cores: ${JOBS:-$(nproc)}, $(c++ --version | head -n 1)"
TIMEFORMAT='%R %U %S'
for target in "${targets[@]}"; do
  took=$( { time "$cmake" --build "$build" --parallel "${JOBS:-$(nproc)}" --target "$target" >"$build/build.log" 2>&1; } 2>&1 ) || {
    tail -n 40 "$build/build.log" >&2
    exit 1
  }
  read -r wall user system <<<"$took"
  awk -v t="$target" -v w="$wall" -v u="$user" -v s="$system" \
    'BEGIN { printf "%-10s %7.0f s on the clock, %7.0f s of processor time\n", t, w, u + s }'
done
echo "slowest files (s on the clock):"
awk -F'\t' 'NR > 1 && $4 ~ /\.o$/ { printf "%8.1f  %s\n", ($2 - $1) / 1000, $4 }' "$build/.ninja_log" | sort -rn | head -n 15
