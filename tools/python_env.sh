#!/bin/bash
# python_env.sh [EXTRA...]: a Python environment in build/python-env with what the Python module and its tests need
# (tools/python_requirements.txt), and the packages of EXTRA lists (tools/python_requirements_EXTRA.txt). Prints the path
# of its interpreter. Does nothing where all is there. Fails without a network on its first run.
set -euo pipefail
cd "$(dirname "$0")/.."

python=/usr/bin/python3
[ -x $python ] || python=python3
environment=build/python-env
lists=(tools/python_requirements.txt)
for extra in "$@"; do lists+=("tools/python_requirements_$extra.txt"); done
done_mark=$environment/$(cat "${lists[@]}" | sha256sum | cut -c1-16).done
if [ ! -e "$done_mark" ]; then
  [ -x $environment/bin/python ] || "$python" -m venv $environment >&2
  requirements=()
  for list in "${lists[@]}"; do requirements+=(-r "$list"); done
  $environment/bin/python -m pip install --quiet --disable-pip-version-check "${requirements[@]}" >&2
  touch "$done_mark"
fi
echo "$PWD/$environment/bin/python"
