#!/bin/bash
# check_format.sh: fails if clang-format-19 would change a source file. `make format` fixes it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run --Werror
echo "format: clean"
