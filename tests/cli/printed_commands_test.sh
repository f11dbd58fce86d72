#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: printed_commands_test.sh STEPSCOPE SOURCE
# Commands that the program prints work as they are pasted: those on a line of their own in an answer, and the examples
# of the help that need no input, or one in the tree.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" && ln -s "$(realpath "$1")" "$dir/bin/stepscope" && ln -s "$(realpath "$2/examples")" "$dir/examples"
cd "$dir" || exit 1
PATH=$dir/bin:$PATH
failed=0
fail() {
  echo "FAILED: $1"
  failed=1
}
paste_it() {
  bash -c "$1" >pasted 2>&1 </dev/null && [ -s pasted ] && return
  fail "$1"
  cat pasted
}
# prints WANTED COMMAND…: the answer has a command, it begins with WANTED and works.
prints() {
  local wanted=$1 command printed=0
  shift
  "$@" >answer 2>&1 </dev/null || fail "exit $? of $*"
  while IFS= read -r command; do
    command=${command#"${command%%[! ]*}"}
    printed=1
    [[ $command = "$wanted"* ]] || fail "$* prints $command instead of $wanted"
    paste_it "$command"
  done < <(grep -E '^ *stepscope [a-z]' answer)
  [ $printed = 1 ] || { fail "no command is printed by $*"; cat answer; }
}

ddp=examples/train_tiny/traces/ddp
cp -r $ddp "it's slow"
cp -r $ddp 'my traces'
prints "stepscope whatif $ddp --change" stepscope analyze $ddp
prints "stepscope whatif 'my traces' --change" stepscope analyze 'my traces'
prints "stepscope whatif 'it'\''s slow' --change" stepscope analyze "it's slow"
long=$(printf 'a_long_name_%.0s' {1..15})
cp -r $ddp "$long"
prints "stepscope whatif $long --change" stepscope analyze "$long"
prints "stepscope whatif $ddp --change" stepscope analyze $ddp/*
prints "stepscope whatif $ddp --steps 6:8 --ranks 0,1 --dp 2 --change" \
  stepscope analyze $ddp --steps 6:8 --ranks 0,1 --dp 2
prints "stepscope whatif $ddp --step-annotation 'ProfilerStep#' --change" \
  stepscope analyze $ddp --step-annotation 'ProfilerStep#'
prints "stepscope whatif examples/record_gpu/traces/mixture --change" stepscope analyze examples/record_gpu/traces/mixture

examples=0
while read -r verb; do
  while IFS= read -r command; do
    [[ $command =~ examples/|^stepscope\ (predict|plan|list|help)\  ]] || continue
    examples=$((examples + 1))
    paste_it "$command"
  done < <(stepscope help "$verb" | sed -n '/^Examples\{0,1\}:/,/^$/p' | sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
    sed -n 's/^  *\(stepscope .*\)/\1/p')
done < <(stepscope --help | sed -n 's/^  \([a-z]\{1,\}\)  *[A-Z].*/\1/p')
[ $examples -ge 6 ] || fail "only $examples examples of the help were pasted"
[ $failed -eq 0 ] && echo "$examples examples of the help and all printed commands work"
exit $failed
