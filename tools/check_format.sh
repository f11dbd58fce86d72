#!/bin/bash
# check_format.sh: fails if clang-format-19 would change a source file, or ruff a Python file. `make format` fixes it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run --Werror
python=build/python-env/bin/python
if [ -x $python ] && $python -m ruff --version >/dev/null 2>&1; then
  $python -m ruff format --quiet --check python tools tests/wheel bench/python_*.py
  $python -m ruff check --quiet python tools tests/wheel bench/python_*.py
else
  echo "format: Python files are not checked, no ruff in build/python-env (tools/python_env.sh check)"
fi
echo "format: clean"
