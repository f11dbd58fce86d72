#!/bin/bash
# fuzz.sh [RUNS]: builds the fuzz targets, runs each RUNS times (2000000), and prints the line coverage of each file of
# the readers by all inputs, including new finds.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=$(cd tests/fuzz && basename -s .cc -- *_fuzz.cc)
tools/build.sh fuzz $targets
tools/check_fuzz.sh build/fuzz "${1:-2000000}x"

# The same functions over the same inputs, built for line coverage.
cmake --preset clang -B build/coverage -DSTEPSCOPE_BENCH=OFF -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
  -DCMAKE_CXX_FLAGS='-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fprofile-instr-generate -fcoverage-mapping' >build/coverage.configure.log
cmake --build build/coverage --parallel "${JOBS:-$(nproc)}" --target ${targets//_fuzz/_corpus_test} >build/coverage.log
objects=()
for target in $targets; do
  name=${target%_fuzz}
  test=build/coverage/tests/fuzz/${name}_corpus_test
  LLVM_PROFILE_FILE=build/coverage/$name.profraw "$test" build/fuzz/corpus/"$name" tests/fuzz/corpus/"$name" >build/coverage/$name.log 2>&1
  objects+=(-object "$test")
done
llvm-profdata-16 merge -sparse build/coverage/*.profraw -o build/coverage/all.profdata
llvm-cov-16 report "${objects[@]:1}" -instr-profile=build/coverage/all.profdata -show-region-summary=false \
  -show-branch-summary=false stepscope/read stepscope/stack
