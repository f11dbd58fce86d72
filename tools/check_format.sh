#!/bin/bash
# check_format.sh: fails if clang-format-19 would change a source file, ruff a Python file, or if check_words.sh refuses a word.
# `make format` fixes the first two.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run --Werror
python=build/python-env/bin/python
if [ -x $python ] && $python -m ruff --version >/dev/null 2>&1; then
  mapfile -t files < <(git ls-files 'python/*.py' 'tools/*.py' 'tests/wheel/*.py' 'bench/python_*.py')
  $python -m ruff format --force-exclude --quiet --check "${files[@]}"
  $python -m ruff check --force-exclude --quiet "${files[@]}"
else
  echo "format: Python files are not checked, no ruff in build/python-env (tools/python_env.sh check)"
fi
tools/check_words.sh
echo "format: clean"
