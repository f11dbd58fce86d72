#!/bin/bash
# check_format.sh: fails when clang-format-19 would change a source file. `make format` mends it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run --Werror
echo "format: clean"
