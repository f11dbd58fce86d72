#!/bin/bash
# check_tidy.sh BUILD_DIR: clang-tidy-19 over every translation unit of stepscope/, as compiled there.
# A file is looked at again only when it, a header, or .clang-tidy changed since it was last clean.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
stamps=$build/tidy
mkdir -p "$stamps"
shared_state=$({ cat .clang-tidy; git ls-files -z 'stepscope/*.h' | xargs -0 cat; } | sha256sum)
export stamps build shared_state

tidy_one() {
  local file=$1 stamp
  stamp=$stamps/$({ echo "$shared_state"; cat "$file"; } | sha256sum | cut -c1-32)
  [ ! -e "$stamp" ] || return 0
  if ! clang-tidy-19 -p "$build" --quiet "$file" >"$stamp.log" 2>&1; then
    cat "$stamp.log"
    rm "$stamp.log"
    return 1
  fi
  mv "$stamp.log" "$stamp"
}
export -f tidy_one

# Units that this build does not compile (a module switched off) have no flags to look at them with.
compiled=$(grep -o '"file": "[^"]*"' "$build/compile_commands.json" | cut -d'"' -f4)
git ls-files 'stepscope/*.cc' | while read -r file; do
  ! grep -qxF "$PWD/$file" <<<"$compiled" || echo "$file"
done | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'tidy_one {}'
echo "tidy: clean"
