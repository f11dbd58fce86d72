#!/bin/bash
# each_point_fails.sh COMPILER: links a program with each protection left out in turn, which check_binaries.sh must refuse
# for just that, and one with all of them, which it must pass.
set -euo pipefail
compiler=$1
check=$(realpath "$(dirname "$0")/check_binaries.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >program.cc <<'END'
#include <cstdio>
#include <cstring>
int main(int count, char** words) {
  char text[16];
  std::strcpy(text, words[count - 1]);
  return std::puts(text) < 0;
}
END
safe=(-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now,-z,noexecstack
      -Wl,--enable-new-dtags)
failed=0
# expect WHAT FLAG...: what check_binaries.sh says of the program with these flags added.
expect() {
  local what=$1 said
  shift
  "$compiler" "${safe[@]}" "$@" program.cc -o program
  said=$("$check" program) && [ -n "$what" ] && said="nothing: $said"
  if [ -z "$what" ] && [ "$said" != "1 binaries have every protection" ] ||
     [ -n "$what" ] && { [[ $said != "program: "*"$what"* ]] || [ "$(wc -l <<<"$said")" != 1 ]; }; then
    echo "with ${*:-all protections} expected \"${what:-nothing}\", said: $said"
    failed=1
  fi
}
expect ""
expect "" -Wl,-rpath,/opt/mpi/lib:'$ORIGIN/../lib'
expect "empty entry" -Wl,-rpath,/opt/mpi/lib:
expect "empty entry" -Wl,-rpath,:/opt/mpi/lib
expect "empty entry" -Wl,-rpath,/opt/mpi/lib::/usr/lib
expect "empty entry" -Wl,--disable-new-dtags,-rpath,/opt/mpi/lib:
expect "relative entry, lib" -Wl,-rpath,/opt/mpi/lib:lib
expect "relative entry, ." -Wl,-rpath,.
expect "(PIE)" -fno-pie -no-pie
expect "(RELRO)" -Wl,-z,norelro
expect "BIND_NOW" -Wl,-z,lazy
expect "the stack is executable" -Wl,-z,execstack
expect "no stack protector" -fno-stack-protector
expect "no _FORTIFY_SOURCE" -U_FORTIFY_SOURCE
exit $failed
