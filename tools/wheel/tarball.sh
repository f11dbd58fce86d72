#!/bin/bash
# tarball.sh WHEEL: packs the command, the plugin of NCCL, man pages and completion scripts of a wheel for this machine
# into build/dist/stepscope-VERSION-linux-MACHINE.tar.gz. All libraries are inside the command; it needs glibc 2.28 and no
# Python. `tar -C PREFIX --strip-components 1 -xf` installs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel=$(realpath "$1")
name=$(basename "$wheel" .whl)
machine=${name##*_28_}
version=${name#stepscope-}
version=${version%%-*}
folder=stepscope-$version-linux-$machine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unzip -q "$wheel" -d "$work/wheel"
mkdir -p "$work/$folder"/{bin,lib/stepscope,share/doc/stepscope}
install -m755 "$work/wheel/stepscope-$version.data/scripts/stepscope" "$work/$folder/bin/"
cp "$work/wheel/stepscope-$version.data/data/lib/stepscope"/* "$work/wheel/stepscope/libnccl-profiler-stepscope.so" \
  "$work/$folder/lib/stepscope/"
cp -r README.md CHANGELOG.md LICENSE "$work/wheel/stepscope-$version.dist-info/licenses" "$work/$folder/share/doc/stepscope/"
cmake -DPROGRAM="$work/$folder/bin/stepscope" -DSHARE="$work/share" -P cmake/shell_files.cmake
cp -r "$work/share/." "$work/$folder/share/"

mkdir -p build/dist
tar --owner=0 --group=0 --sort=name -C "$work" -czf "build/dist/$folder.tar.gz.part" "$folder"
mv "build/dist/$folder.tar.gz.part" "build/dist/$folder.tar.gz"
echo "build/dist/$folder.tar.gz: $(stat -c %s "build/dist/$folder.tar.gz" | awk '{printf "%.1f MB", $1 / 1e6}')"
