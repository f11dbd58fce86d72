#!/bin/bash
# setup.sh build|gate|check|wheel: installs the Debian packages for building and testing (build), or also those of the
# gates (gate), of every check (check) or for wheels (wheel). Installs only missing ones through apt, with sudo if not root, and prints its
# actions. Silent and quick if nothing is missing.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build make git
  libisal-dev libzstd-dev libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev
  esbuild                                            # face/page
  libsqlite3-dev                                     # base/files/sqlite_file
  libcurl4                                           # base/files/curl_library: loaded for URLs
  libdnnl-dev                                        # engine/nn/matmul
  libopenmpi-dev openmpi-bin                         # crew/mpi_job
  liburing-dev                                       # engine/zero/offload_file
  libmicrohttpd-dev                                  # metrics/text_endpoint
  python3-dev python3-venv                           # binding, python/
  libsimdjson-dev libdeflate-dev libbenchmark-dev    # bench/
)
gate_packages=(
  "${build_packages[@]}"
  clang-format-19
  nodejs eslint                                      # tools/check_page.sh
  clang-16 libclang-rt-16-dev llvm-16                # the sanitizers
)
check_packages=(
  "${gate_packages[@]}"
  clang-tidy-22
  chromium python3                                   # tests/browser
)

wheel_packages=(
  "${build_packages[@]}"
  dpkg-dev nasm tcl                                  # tools/wheel/dependencies.sh: sources, isa-l, SQLite
  qemu-user debootstrap                              # tests/wheel: runs what was built for aarch64
  unzip
)

case ${1:-} in
  build) wanted=("${build_packages[@]}") ;;
  gate) wanted=("${gate_packages[@]}") ;;
  check) wanted=("${check_packages[@]}") ;;
  wheel) wanted=("${wheel_packages[@]}") ;;
  *) echo "usage: tools/setup.sh build|gate|check|wheel" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: no apt here; stepscope needs what these Debian packages hold: ${wanted[*]}" >&2
  exit 0  # not an error: the build reports missing parts
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
            sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing packages and neither root nor sudo; as root run:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  root=(sudo)
fi
run() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }
install_missing() {
  run apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
}
candidates_known() {
  local known
  known=$(apt-cache policy "${missing[@]}" 2>/dev/null | grep -c '^  Candidate: [^(]' || true)
  [ "$known" -eq ${#missing[@]} ]
}

echo "setup: installing with apt (a minute or two): ${missing[*]}"
if candidates_known && install_missing; then
  exit 0
fi
echo "setup: refreshing apt's package lists"  # they are absent on a bare machine, or too old to download from
run apt-get update -qq
install_missing
