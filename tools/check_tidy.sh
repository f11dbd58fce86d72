#!/bin/bash
# check_tidy.sh BUILD_DIR: clang-tidy-22 on every product source of stepscope/ and engine/, with its flags in that build.
# Tests are left to compilers and sanitizers: tidy cannot follow ASSERT_TRUE, and would take twice the time. A file is
# checked again only if it, a header, or .clang-tidy changed since it was last clean.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
stamps=$build/tidy
mkdir -p "$stamps"
shared_state=$({ cat .clang-tidy; git ls-files -z 'stepscope/*.h' 'engine/*.h' | xargs -0 cat; } | sha256sum)
export stamps build shared_state

tidy_one() {
  local file=$1 stamp
  stamp=$stamps/$({ echo "$shared_state"; cat "$file"; } | sha256sum | cut -c1-32)
  [ ! -e "$stamp" ] || return 0
  # -w: warnings are left to the compilers, and a newer clang deprecates internals of this libstdc++.
  if ! clang-tidy-22 -p "$build" --quiet --extra-arg=-w "$file" >"$stamp.log" 2>&1; then
    cat "$stamp.log"
    rm "$stamp.log"
    return 1
  fi
  mv "$stamp.log" "$stamp"
}
export -f tidy_one

# Sources that this build does not compile (a module switched off) have no compile flags.
units=$(comm -12 <(git ls-files 'stepscope/*.cc' 'engine/*.cc' | grep -v '_test\.cc$' | sort) \
  <(grep -o '"file": "[^"]*"' "$build/compile_commands.json" | cut -d'"' -f4 |
    sed "s|^$PWD/||" | sort -u))
[ -n "$units" ] || { echo "tidy: nothing to look at in $build" >&2; exit 1; }
xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'tidy_one {}' <<<"$units"
echo "tidy: clean ($(wc -l <<<"$units") files)"
