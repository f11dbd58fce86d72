#!/bin/bash
# check_fuzz.sh BUILD_DIR [SECONDS|RUNSx [NAME…]]: runs each fuzz target (or those NAMEd) for some seconds (30) or runs
# (1000000x), from the committed corpus and earlier finds, one per core. Findings are kept in BUILD_DIR/findings.
set -euo pipefail
cd "$(dirname "$0")/.."

export build=$1 limit=-max_total_time=${2:-30}
case ${2:-} in *x) limit=-runs=${2%x} ;; esac
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=4:malloc_context_size=0}

fuzz_one() {
  local target=$1 name log options
  name=$(basename "$target" _fuzz)
  mkdir -p "$build/corpus/$name" "$build/findings"
  log=$build/findings/$name.log
  # Without entropic scheduling: weighing the corpus costs more than running such small inputs.
  options=("$limit" -max_len=20000 -entropic=0 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
           -artifact_prefix="$build/findings/$name-")
  [ ! -e "tests/fuzz/$name.dict" ] || options+=(-dict="tests/fuzz/$name.dict")
  if ! nice "$target" "${options[@]}" "$build/corpus/$name" "tests/fuzz/corpus/$name" </dev/null >"$log" 2>&1; then
    tail -50 "$log" >&2
    return 1
  fi
  echo "fuzz: $name: $(grep -E '^Done' "$log")"
}
export -f fuzz_one

targets=$(find "$build/tests/fuzz" -maxdepth 1 -name '*_fuzz' -executable | sort)
[ $# -lt 3 ] || targets=$(printf "$build/tests/fuzz/%s_fuzz\n" "${@:3}")
[ -n "$targets" ] || { echo "fuzz: no target in $build/tests/fuzz" >&2; exit 1; }
echo "fuzz: $(wc -l <<<"$targets") targets, $limit each"
xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'set -euo pipefail; fuzz_one {}' <<<"$targets"
