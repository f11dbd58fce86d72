#!/bin/bash
# check_binaries.sh [--search-path] FILE|FOLDER...: reads programs and shared libraries (of a folder: all of them, without
# the project of others that tests/install builds) with readelf, and prints a line for each that lacks a protection of
# cmake/hardening.cmake. Exits 1 if one does, 2 without a file to read. With --search-path it reads only where they have
# their libraries searched.
# A file that is named, not found in a folder, must also call checks of the stack and of buffers: the command, the Python
# module, the plugin of NCCL. Small programs and libraries may have no buffer.
set -euo pipefail
only_path=
if [ "${1:-}" = --search-path ]; then
  only_path=1
  shift
fi
failed=0
checked=0
violated() {
  echo "$1: $2"
  failed=1
}

# Each entry of a search path is a folder of the system or next to the binary, never a folder of the user who starts it.
check_search_path() {
  local file=$1 path entry
  while read -r path; do
    while IFS= read -r -d: entry; do
      case $entry in
        /* | "\$ORIGIN" | "\$ORIGIN/"*) ;;
        "") violated "$file" "RUNPATH has an empty entry, the current directory: [$path]" ;;
        *) violated "$file" "RUNPATH has a relative entry, $entry: [$path]" ;;
      esac
    done <<<"$path:"
  done < <(sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p' <<<"$2")
}

check_binary() {
  local file=$1 named=$2 dynamic segments symbols
  dynamic=$(LC_ALL=C readelf -dW "$file")
  segments=$(LC_ALL=C readelf -lW "$file")
  checked=$((checked + 1))
  check_search_path "$file" "$dynamic"
  [ -z "$only_path" ] || return 0
  grep -q '^Elf file type is DYN' <<<"$segments" || violated "$file" "no position-independent code (PIE)"
  grep -q '^ *GNU_RELRO ' <<<"$segments" || violated "$file" "no read-only relocations (RELRO)"
  grep -qE '\((FLAGS|BIND_NOW)\).*BIND_NOW|\(FLAGS_1\).* NOW( |$)' <<<"$dynamic" ||
    violated "$file" "symbols are bound late (no BIND_NOW)"
  grep -qE '^ *GNU_STACK .* RW +0x' <<<"$segments" || violated "$file" "the stack is executable"
  ! grep -qE '\(TEXTREL\)|\(FLAGS\).*TEXTREL' <<<"$dynamic" || violated "$file" "relocations in code (TEXTREL)"
  [ -n "$named" ] || return 0
  symbols=$(LC_ALL=C readelf -W --dyn-syms "$file")
  grep -qE ' __stack_chk_fail(@|$)' <<<"$symbols" || violated "$file" "no stack protector"
  grep -E ' __[a-z0-9_]+_chk(@|$)' <<<"$symbols" | grep -qv longjmp || violated "$file" "no _FORTIFY_SOURCE"
}

is_elf() { [ "$(head -c 4 "$1" | tr -d '\0')" = $'\x7fELF' ]; }

for argument; do
  if [ -d "$argument" ]; then
    while IFS= read -r -d '' file; do
      ! is_elf "$file" || check_binary "$file" ""
    done < <(find "$argument" -type d \( -name CMakeFiles -o -path '*/tests/install' \) -prune -o \
               -type f \( -perm -u+x -o -name '*.so' \) -print0 | sort -z)
  else
    check_binary "$argument" named
  fi
done
if [ $checked = 0 ]; then
  echo "check_binaries: no program and no library in $*" >&2
  exit 2
fi
[ $failed != 0 ] || echo "$checked binaries have every protection"
exit $failed
