#!/bin/bash
# root_test.sh WHEEL ROOT PYTHON: wheel_test.sh in the root of another system (`debootstrap --variant=minbase bullseye ROOT`),
# which has bash and PYTHON, a path in it. Needs root, for chroot.
set -euo pipefail
wheel=$1 root=$2 python=$3
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d "$root/stepscope.XXXXXX")
trap 'rm -rf "$work"' EXIT
tar -C "$here/../.." -c README.md CMakeLists.txt docs examples tests/walk_through tests/wheel | tar -x -C "$work"
cp "$wheel" "$work/"
inside=/$(basename "$work")
chroot "$root" ldd --version | head -1
chroot "$root" bash -c "cd $inside && $python --version && tests/wheel/wheel_test.sh $(basename "$wheel") $python"
