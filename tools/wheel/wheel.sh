#!/bin/bash
# wheel.sh TARGET...: builds the wheels of stepscope for targets of zig (x86_64-linux-gnu.2.28, aarch64-linux-gnu.2.28)
# into build/wheel/dist and checks them. One wheel for each Python: CPython 3.10, CPython 3.11, and CPython 3.12 with its
# stable ABI, which serves all later ones. An interpreter that this machine lacks is named and its wheel left out. For
# aarch64-macos the libraries that read and analyse are compiled, to know that they do; there is no wheel.
# Needs the packages of `tools/setup.sh wheel` and PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ $# -gt 0 ] || { echo "usage: wheel.sh TARGET..." >&2; exit 2; }
build=$PWD/build/wheel
dist=$build/dist
mkdir -p "$dist"

# A venv of an interpreter with packages of requirements.txt.
venv_of() {
  local folder=$1 python=$2
  shift 2
  if ! cmp -s tools/wheel/requirements.txt "$folder/requirements.txt"; then
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --constraint tools/wheel/requirements.txt "$@"
    cp tools/wheel/requirements.txt "$folder/"
  fi
}

# The first working interpreter of these versions, on PATH or of pyenv.
find_python() {
  local version python
  for version; do
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
      "$python" -c 'import sys, venv' 2>/dev/null && { echo "$python"; return; }
    done
  done
  return 1
}

any=$(find_python 3.12 3.13 3.14 3.11 3.10) || { echo "wheel: no Python from 3.10 to 3.14 is found" >&2; exit 1; }
venv_of "$build/tools" "$any" ziglang wheel auditwheel abi3audit twine
tools=$build/tools/bin
STEPSCOPE_ZIG=$("$tools/python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')
export STEPSCOPE_ZIG
CCACHE_COMPILERCHECK="string:zig $("$STEPSCOPE_ZIG" version)"
export CCACHE_COMPILERCHECK
export CMAKE_GENERATOR=Ninja SKBUILD_BUILD_TOOL_ARGS=-j${JOBS:-$(nproc)}
[ ! -x /usr/bin/ninja ] || export CMAKE_MAKE_PROGRAM=/usr/bin/ninja

# build_wheel TARGET PYTHON_TAG INTERPRETER
build_wheel() {
  local target=$1 tag=$2 python=$3 abi=$2 prefix=$build/$1/prefix machine=${1%%-*} venv
  [ "$tag" != cp312 ] || abi=abi3
  venv=$build/python-$tag
  venv_of "$venv" "$python" scikit-build-core nanobind
  local settings=(
    --config-setting "build-dir=$build/$target/$tag"
    --config-setting "cmake.args=--toolchain;$PWD/cmake/zig.cmake"
    --config-setting "cmake.define.ZIG_TARGET=$target"
    --config-setting "cmake.define.ZIG_PREFIX=$prefix"
    --config-setting "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"
    --config-setting "cmake.define.STEPSCOPE_MPI_INTERFACES=openmpi=$prefix/mpi/openmpi;mpich=$prefix/mpi/mpich")
  ! command -v ccache >/dev/null || settings+=(--config-setting "cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache")
  echo "building the wheel $tag for $target"
  local log=$build/$target/$tag.log
  rm -f "$dist"/stepscope-*-"$tag-$abi-"*"_$machine.whl"
  # The interpreter here is of this machine and would name the module for it.
  export SETUPTOOLS_EXT_SUFFIX=.cpython-${tag#cp}-$machine-linux-gnu.so
  if ! SKBUILD_WHEEL_TAGS=$tag-$abi-manylinux_2_28_$machine "$venv/bin/python" -m pip wheel --quiet --no-deps \
       --no-build-isolation --wheel-dir "$dist" "${settings[@]}" . >"$log" 2>&1; then
    tail -40 "$log" >&2
    echo "wheel: $tag for $target cannot be built; the whole log is $log" >&2
    return 1
  fi
}

# build_libraries TARGET
build_libraries() {
  local target=$1 folder=$build/$1/libraries log=$build/$1/libraries.log
  local launcher=()
  ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  echo "compiling the libraries that read and analyse for $target"
  if ! { cmake -S . -B "$folder" ${CMAKE_MAKE_PROGRAM:+-DCMAKE_MAKE_PROGRAM=$CMAKE_MAKE_PROGRAM} \
           --toolchain "$PWD/cmake/zig.cmake" -DZIG_TARGET="$target" -DZIG_PREFIX="$build/$target/prefix" \
           -DCMAKE_BUILD_TYPE=Release -DSTEPSCOPE_TESTS=OFF -DSTEPSCOPE_BENCH=OFF "${launcher[@]}" &&
         cmake --build "$folder" --parallel "${JOBS:-$(nproc)}" --target stepscope_read stepscope_analysis stepscope_stack \
           stepscope_write stepscope_cost; } >"$log" 2>&1; then
    tail -40 "$log" >&2
    echo "wheel: the libraries for $target cannot be built; the whole log is $log" >&2
    return 1
  fi
}

for target; do
  tools/wheel/dependencies.sh "$target"
  case $target in
    *-linux-gnu.*) ;;
    *-macos) build_libraries "$target"; continue ;;
    *) echo "wheel: there are wheels for Linux with glibc only, not for $target" >&2; exit 2 ;;
  esac
  for entry in "cp310 3.10" "cp311 3.11" "cp312 3.12 3.13 3.14"; do
    read -r tag versions <<<"$entry"
    # shellcheck disable=SC2086
    if python=$(find_python $versions); then
      build_wheel "$target" "$tag" "$python"
    else
      echo "wheel: no wheel $tag for $target: this machine has no Python ${versions// / or }"
    fi
  done
done
wheels=("$dist"/*.whl)
[ ! -e "${wheels[0]}" ] || tools/wheel/check.sh "$tools" "${wheels[@]}"
