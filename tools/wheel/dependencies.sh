#!/bin/bash
# dependencies.sh TARGET: builds the libraries that stepscope links, static and from Debian's source packages, for a
# target of zig (x86_64-linux-gnu.2.28, aarch64-linux-gnu.2.28, ...) into build/wheel/TARGET/prefix. A library that is
# already there is left as it is. Needs nasm, tcl, dpkg-dev, make, cmake and zig (STEPSCOPE_ZIG).
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$1
zig=$PWD/tools/wheel/zig
sources=$PWD/build/wheel/sources
prefix=$PWD/build/wheel/$target/prefix
work=$PWD/build/wheel/$target/work
jobs=${JOBS:-$(nproc)}
machine=${target%%-*}
case $target in *-linux*) system=linux ;; *-macos*) system=macos ;; esac
export CC="$zig/clang --target=$target" CXX="$zig/clang++ --target=$target" AR=$zig/ar RANLIB=$zig/ranlib
export CFLAGS="-O2 -g0 -fPIC -ffunction-sections -fdata-sections"
export CXXFLAGS=$CFLAGS

# debian SUITE ARCHITECTURE COMMAND...: apt-get for a suite of Debian, from the mirror and with the keys that this machine
# uses. The machine's own lists of apt stay as they are.
debian() {
  local suite=$1 architecture=$2 apt=$sources/apt-$1-$2
  shift 2
  local options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/list" -o "Dir::State::Lists=$apt/lists"
                 -o "Dir::Cache=$apt/cache" -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
                 -o APT::Sandbox::User=root -qq)
  if [ ! -e "$apt" ]; then
    rm -rf "$apt.part"
    mkdir -p "$apt.part/list" "$apt.part/lists/partial" "$apt.part/cache"
    awk -v RS= -v suite="$suite" '!/-security/ { sub(/Types: [^\n]*/, "Types: deb deb-src")
      sub(/Suites: [^\n]*/, "Suites: " suite); print; exit }' \
      /etc/apt/sources.list.d/debian.sources >"$apt.part/list/debian.sources"
    mv "$apt.part" "$apt"
    apt-get "${options[@]}" update || { rm -rf "$apt"; return 1; }
  fi
  apt-get "${options[@]}" "$@" >"$sources/apt.log" 2>&1 || { cat "$sources/apt.log" >&2; return 1; }
}

# The source package, unpacked into $sources/PACKAGE.
source_package() {
  local suite=$1 package=$2
  [ ! -e "$sources/$package" ] || return 0
  rm -rf "$sources/$package.part"
  mkdir -p "$sources/$package.part"
  (cd "$sources/$package.part" && debian "$suite" amd64 source "$package")
  mv "$sources/$package.part" "$sources/$package"
}

# The headers of MPI in $prefix/mpi/NAME: mpi.h of the target's machine describes the binary interface.
mpi_headers() {
  local name=$1 package=$2 architecture=amd64 file
  [ ! -e "$prefix/mpi/$name" ] || return 0
  [ "$machine" != aarch64 ] || architecture=arm64
  rm -rf "$work/mpi-$name"
  mkdir -p "$work/mpi-$name" "$prefix/mpi"
  (cd "$work/mpi-$name" && debian bookworm $architecture download "$package" && dpkg-deb -x "$package"_*.deb .)
  file=$(find "$work/mpi-$name" -name mpi.h -path "*-linux-gnu/$name/*" ! -path '*/fortran/*')
  mkdir "$prefix/mpi/$name"
  cp "$(dirname "$file")"/mpi*.h "$prefix/mpi/$name/"
}

# SIMDe's headers, which have the intrinsics of SSE2 for other CPUs (stepscope/base/isa.h).
simde_headers() {
  [ ! -e "$prefix/include/simde" ] || return 0
  rm -rf "$work/simde"
  mkdir -p "$work/simde" "$prefix/include" "$prefix/share/licenses/simde"
  (cd "$work/simde" && debian bookworm amd64 download libsimde-dev && dpkg-deb -x libsimde-dev_*.deb .)
  cp "$work/simde/usr/share/doc/libsimde-dev/copyright" "$prefix/share/licenses/simde/"
  cp -r "$work/simde/usr/include/simde" "$prefix/include/"
}

# A fresh copy of a package's sources in $work/PACKAGE; its licence in the prefix.
fresh() {
  rm -rf "${work:?}/$1"
  mkdir -p "$work" "$prefix/share/licenses/$1"
  # With their times: make would otherwise take generated files for older than their sources.
  cp -a "$(find "$sources/$1" -mindepth 1 -maxdepth 1 -type d)" "$work/$1"
  cp "$work/$1/debian/copyright" "$prefix/share/licenses/$1/"
  cd "$work/$1"
}

with_cmake() {
  cmake -S . -B build-wheel -G Ninja ${NINJA:+-DCMAKE_MAKE_PROGRAM=$NINJA} --toolchain "$zig/../../../cmake/zig.cmake" -DZIG_TARGET="$target" \
    -DZIG_PREFIX="$prefix" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DBUILD_SHARED_LIBS=OFF "$@"
  cmake --build build-wheel --parallel "$jobs"
  cmake --install build-wheel
}

build_fmtlib() { with_cmake -DFMT_TEST=OFF -DFMT_DOC=OFF; }
build_nlohmann-json3() { with_cmake -DJSON_BuildTests=OFF; }
build_cli11() { with_cmake -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF; }
build_onednn() {
  sed -i "/^find_package(spdlog REQUIRED)/d" src/CMakeLists.txt  # of its log, which is off
  with_cmake -DONEDNN_LIBRARY_TYPE=STATIC -DONEDNN_CPU_RUNTIME=SEQ -DONEDNN_GPU_RUNTIME=NONE \
    -DONEDNN_ENABLE_WORKLOAD=INFERENCE "-DONEDNN_ENABLE_PRIMITIVE=MATMUL;REORDER" -DONEDNN_BUILD_TESTS=OFF \
    -DONEDNN_BUILD_EXAMPLES=OFF -DONEDNN_BUILD_DOC=OFF -DONEDNN_BUILD_GRAPH=OFF -DONEDNN_ENABLE_JIT_PROFILING=OFF -DONEDNN_ENABLE_ITT_TASKS=OFF
}
build_libzstd() {
  make -C lib -j"$jobs" libzstd.a ZSTD_LIB_DICTBUILDER=0 ZSTD_LIB_DEPRECATED=0
  install -Dm644 lib/libzstd.a "$prefix/lib/libzstd.a"
  install -Dm644 -t "$prefix/include" lib/zstd.h lib/zstd_errors.h
}
build_libisal() {
  local cpu=base_aliases arch=noarch  # plain C: the assembly for aarch64 is in the dialect of GNU's assembler
  [ "$machine" != x86_64 ] || { cpu=x86_64; arch=; }
  make -f Makefile.unx -j"$jobs" lib units="crc igzip" host_cpu="$cpu" arch="$arch" lib_debug=0 DEBUG= DEBUG_nasm= \
    CC="$CC -fPIC" AR="$AR"
  install -Dm644 bin/isa-l.a "$prefix/lib/libisal.a"
  install -Dm644 -t "$prefix/include/isa-l" include/crc.h include/crc64.h include/igzip_lib.h include/types.h
}
build_sqlite3() {
  mkdir amalgamation
  (cd amalgamation && CC=gcc ../configure --disable-tcl --enable-shared=no >configure.log && make sqlite3.c >make.log)
  $CC $CFLAGS -DNDEBUG -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -c amalgamation/sqlite3.c -o sqlite3.o
  mkdir -p "$prefix/lib"
  rm -f "$prefix/lib/libsqlite3.a"
  $AR rcs "$prefix/lib/libsqlite3.a" sqlite3.o
  install -Dm644 -t "$prefix/include" amalgamation/sqlite3.h
}
build_libmicrohttpd() {
  ./configure --host="$machine-$system" --prefix="$prefix" --disable-shared --enable-static --disable-https --disable-doc \
    --disable-examples --disable-tools --disable-curl --disable-postprocessor --disable-dauth --disable-bauth --with-pic
  make -C src/microhttpd -j"$jobs" install
  make -C src/include install
}
build_liburing() {
  ./configure --prefix="$prefix" --cc="$CC" --cxx="$CXX"
  make -C src -j"$jobs" ENABLE_SHARED=0 liburing.a CFLAGS="$CFLAGS -D_GNU_SOURCE"
  install -Dm644 src/liburing.a "$prefix/lib/liburing.a"
  cp -r src/include/liburing src/include/liburing.h "$prefix/include/"
}

# The version of each library is that of Debian 12, which the other builds use; oneDNN is that of Debian 13.
packages=(bookworm:fmtlib bookworm:nlohmann-json3 bookworm:cli11 bookworm:libisal bookworm:libzstd
          bookworm:sqlite3 bookworm:libmicrohttpd)
[ "$system" != linux ] || packages+=(bookworm:liburing)
mkdir -p "$sources" "$prefix/stamps"
for entry in "${packages[@]}"; do
  package=${entry#*:}
  recipe=$(declare -f "build_$package")
  [ "$(cat "$prefix/stamps/$package" 2>/dev/null)" != "$recipe" ] || continue
  source_package "${entry%:*}" "$package"
  echo "building $package for $target"
  mkdir -p "$work"
  (fresh "$package"; "build_$package") >"$work/$package.log" 2>&1 &  # as a condition it would go on after a failure
  if ! wait $!; then
    tail -40 "$work/$package.log" >&2
    echo "dependencies: $package cannot be built for $target; the whole log is $work/$package.log" >&2
    exit 1
  fi
  rm -rf "${work:?}/$package"
  printf '%s' "$recipe" >"$prefix/stamps/$package"
done
[ "$machine" = x86_64 ] || simde_headers
if [ "$system" = linux ]; then
  mpi_headers openmpi libopenmpi-dev
  mpi_headers mpich libmpich-dev
fi
for part in libcxx libcxxabi libunwind; do
  install -Dm644 "$(dirname "$STEPSCOPE_ZIG")/lib/$part/LICENSE.TXT" "$prefix/share/licenses/$part/LICENSE.TXT"
done
