#!/bin/bash
# all_wheels.sh FOLDER: tests each wheel of the folder: one for this machine in every Python that it serves and that this
# machine has (wheel_test.sh), one for another machine under qemu-user (foreign_wheel_test.sh).
set -euo pipefail
folder=$1
here=$(dirname "$0")
failed=0
found=0
working() { "$1" -c 'import sys, venv' 2>/dev/null; }
for wheel in "$folder"/*.whl; do
  found=$((found + 1))
  name=$(basename "$wheel" .whl)
  if [[ $name != *_"$(uname -m)" ]]; then
    echo "testing $name"
    "$here/foreign_wheel_test.sh" "$wheel" || { echo "FAILED: $name"; failed=1; }
    continue
  fi
  case $name in
    *-cp310-*) versions=3.10 ;;
    *-cp311-*) versions=3.11 ;;
    *-cp312-abi3-*) versions="3.12 3.13 3.14" ;;
    *) echo "FAILED: $name is for an unknown Python"; failed=1; continue ;;
  esac
  for version in $versions; do
    python=
    for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
      if working "$candidate"; then python=$candidate; break; fi
    done
    [ -n "$python" ] || { echo "not tested: $name with Python $version, which this machine lacks"; continue; }
    echo "testing $name with $("$python" --version)"
    "$here/wheel_test.sh" "$wheel" "$python" || { echo "FAILED: $name with Python $version"; failed=1; }
  done
done
[ "$found" -gt 0 ] || { echo "FAILED: no wheels in $folder"; exit 1; }
exit $failed
