#!/bin/bash
# test.sh PRESET [CTEST OPTION...]: runs the tests of build/PRESET. It fails if there are no tests.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
ctest=/usr/bin/ctest
[ -x $ctest ] || ctest=ctest
fixed_layout=()
if [ "$preset" = tsan ]; then
  if setarch -R true 2>/dev/null; then fixed_layout=(setarch -R); fi
  export TSAN_OPTIONS=suppressions=$PWD/tools/tsan.suppressions${TSAN_OPTIONS:+:$TSAN_OPTIONS}
fi
# Freed memory that the sanitizer keeps is no growth of the program.
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=4:malloc_context_size=4}
"${fixed_layout[@]}" "$ctest" --test-dir "build/$preset" --output-on-failure --no-tests=error \
  --parallel "${JOBS:-$(nproc)}" "$@" </dev/null
