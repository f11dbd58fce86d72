#!/bin/bash
# walk_through_test.sh PROGRAM SOURCE PAGE [--write]: runs the commands of a page (README.md, docs/walk-through.md, docs/exercises.md) in
# order, in one shell and in a temporary copy of their files, and compares their outputs with the page.
#
# A block of commands is fenced as ```sh. Comments may follow it:
#   <!-- output: FILTER -->   and a block fenced as ```text: the block's standard output after FILTER, to the letter
#   <!-- live: FILTER -->     the same for figures of this machine: not compared
#   <!-- expect: REGEX -->    a line of the block's standard output matches
# --write puts the program's current output into the page.
set -euo pipefail
program=$(realpath "$1")
source=$(realpath "$2")
page=$source/$3
mode=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/run" "$work/bin"
cp -r "$source/examples" "$work/run/"
ln -s "$program" "$work/bin/stepscope"
export PATH=$work/bin:$PATH

# Splits the page into blocks: N.sh (commands), N.filter, N.kind (output or live), N.text (as on the page), N.expect.
block=0
state=prose
while IFS= read -r line; do
  case $state:$line in
    prose:'```sh') block=$((block + 1)); state=sh; : >"$work/$block.sh" ;;
    prose:'```text') state=text; : >"$work/$block.text" ;;
    sh:'```' | text:'```') state=prose ;;
    sh:* | text:*) printf '%s\n' "$line" >>"$work/$block.$state" ;;
    prose:'<!-- output: '*' -->' | prose:'<!-- live: '*' -->')
      kind=${line#<!-- }
      filter=${kind#*: }
      echo "${kind%%:*}" >"$work/$block.kind"
      echo "${filter% -->}" >"$work/$block.filter" ;;
    prose:'<!-- expect: '*' -->')
      regex=${line#<!-- expect: }
      echo "${regex% -->}" >>"$work/$block.expect" ;;
  esac
done <"$page"
[ "$block" -ge 3 ] || { echo "only $block blocks of commands in $page"; exit 1; }

# One shell runs all blocks, so that later blocks see variables of earlier ones. It ends at the first failing command.
for ((i = 1; i <= block; i++)); do
  echo "echo $i >'$work/at'; exec >'$work/$i.out' 2>'$work/$i.err'"
  cat "$work/$i.sh"
done >"$work/all.sh"
if ! (cd "$work/run" && exec bash -euo pipefail "$work/all.sh"); then
  at=$(cat "$work/at")
  echo "FAILED: the commands"
  cat "$work/$at.sh" "$work/$at.out" "$work/$at.err"
  exit 1
fi

failed=0
for ((i = 1; i <= block; i++)); do
  if [ -e "$work/$i.filter" ]; then
    shown=$(bash -c "$(cat "$work/$i.filter")" <"$work/$i.out" || true)  # drops empty lines at the end
    printf '%s\n' "$shown" >"$work/$i.now"
    [ -n "$shown" ] || { echo "FAILED: nothing is left of the output of"; cat "$work/$i.sh"; failed=1; }
    if [ "$mode" != --write ] && [ "$(cat "$work/$i.kind")" = output ] && ! diff -u "$work/$i.text" "$work/$i.now"; then
      echo "FAILED: the page shows another output than that of"
      cat "$work/$i.sh"
      failed=1
    fi
  fi
  [ -e "$work/$i.expect" ] || continue
  while IFS= read -r regex; do
    grep -qE -- "$regex" "$work/$i.out" && continue
    echo "FAILED: no line matches $regex in the output of"
    cat "$work/$i.sh" "$work/$i.out"
    failed=1
  done <"$work/$i.expect"
done

if [ "$mode" = --write ]; then
  block=0
  state=prose
  while IFS= read -r line; do
    case $state:$line in
      prose:'```sh') block=$((block + 1)); state=sh ;;
      prose:'```text') state=text; echo "$line"; cat "$work/$block.now" ;;
      sh:'```' | text:'```') state=prose ;;
    esac
    [ "$state" = text ] || printf '%s\n' "$line"
  done <"$page" >"$work/page"
  cp "$work/page" "$page"
  echo "written: $page"
fi
echo "$block blocks"
exit $failed
