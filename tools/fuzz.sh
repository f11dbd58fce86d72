#!/bin/bash
# fuzz.sh [RUNS]: builds the fuzz targets, runs each RUNS times (2,000,000) from the committed corpus and what earlier
# runs found, and prints which lines of the reader the inputs reach. Findings are kept in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-2000000}
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=4:malloc_context_size=2}
names=$(cd tests/fuzz && ls ./*_fuzz.cc | sed 's|^./||; s|_fuzz\.cc$||')
tools/build.sh fuzz ${names//$'\n'/_fuzz }_fuzz
mkdir -p build/fuzz/findings
for name in $names; do
  target=build/fuzz/tests/fuzz/${name}_fuzz
  found=build/fuzz/corpus/$name
  mkdir -p "$found"
  echo "fuzz: $name, $runs runs"
  # Without entropic scheduling: weighing the corpus costs more than running so small an input.
  nice "$target" -runs="$runs" -max_len=2048 -entropic=0 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -dict=tests/fuzz/"$name".dict -artifact_prefix="build/fuzz/findings/$name-" "$found" \
    tests/fuzz/corpus/"$name" </dev/null 2>&1 | grep -E '^(stat|Done|SUMMARY|==|artifact)' || true
done
if compgen -G 'build/fuzz/findings/*' >/dev/null; then
  echo "fuzz: findings in build/fuzz/findings" >&2
  exit 1
fi

# The same functions over the same inputs, built to count lines.
flags='-fprofile-instr-generate -fcoverage-mapping'
launcher=$(command -v ccache || true)
cmake --preset clang -B build/coverage -DSTEPSCOPE_BENCH=OFF -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_FLAGS="$flags" >build/coverage.configure.log
for name in $names; do
  cmake --build build/coverage --parallel "${JOBS:-$(nproc)}" --target ${name}_corpus_test >/dev/null
  LLVM_PROFILE_FILE=build/coverage/$name.profraw build/coverage/tests/fuzz/${name}_corpus_test \
    build/fuzz/corpus/"$name" tests/fuzz/corpus/"$name" >/dev/null 2>&1
  llvm-profdata-16 merge -sparse build/coverage/$name.profraw -o build/coverage/$name.profdata
  llvm-cov-16 report build/coverage/tests/fuzz/${name}_corpus_test -instr-profile=build/coverage/$name.profdata \
    -show-region-summary=false -show-branch-summary=false stepscope/read stepscope/base/byte_source.cc
done
