#!/bin/bash
# at_level.sh LEVEL ISA_LEVELS PROGRAM [ARGUMENT...]: runs PROGRAM with STEPSCOPE_ISA=LEVEL; exits 77 if the run is
# redundant.
set -euo pipefail
level=$1
mapfile -t levels < <("$2")
shift 2
if [[ ! " ${levels[*]} " == *" $level "* ]]; then
  echo "skipped: this CPU has no $level"
  exit 77
fi
if [ "$level" = "${levels[-1]}" ] && [ "$level" != avx512 ]; then
  echo "skipped: $level is this CPU's highest level, at which the other tests run"
  exit 77
fi
STEPSCOPE_ISA=$level exec "$@"
