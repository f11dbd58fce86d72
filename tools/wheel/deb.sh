#!/bin/bash
# deb.sh: packs build/release (tools/build.sh release) into a Debian package in build/dist.
set -euo pipefail
cd "$(dirname "$0")/../.."
cpack=/usr/bin/cpack
[ -x $cpack ] || cpack=cpack
mkdir -p build/dist
rm -f build/dist/stepscope_*.deb
log=build/dist/deb.log
(cd build/release && "$cpack" -G DEB -B ../dist) >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
rm -rf build/dist/_CPack_Packages
for package in build/dist/stepscope_*.deb; do
  echo "$package: $(stat -c %s "$package" | awk '{printf "%.1f MB", $1 / 1e6}'), depends on $(dpkg-deb -f "$package" Depends)"
done
