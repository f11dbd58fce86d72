#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: completion_test.sh STEPSCOPE
# The completion scripts are ones of their shells, and bash completes with them as a user would see.
# zsh and fish are asked where they are installed.
set -u
stepscope=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
fail() {
  echo "FAILED: $1"
  failed=1
}

for shell in bash zsh fish; do
  "$stepscope" completion $shell >"$dir/script.$shell" || fail "completion $shell"
  if command -v $shell >/dev/null; then
    $shell -n "$dir/script.$shell" || fail "the script for $shell is none"
  else
    echo "no $shell here: its script is not run"
  fi
done
"$stepscope" completion tcsh >out 2>err && fail "a shell without completion"
grep -q "tcsh is none of bash, zsh, fish" err || fail "what is said of tcsh: $(cat err)"

# shellcheck source=/dev/null
source "$dir/script.bash"
# completes EXPECTED WORD…: what bash offers for the last word, sorted, in one line.
completes() {
  local expected=$1
  shift
  COMP_WORDS=(stepscope "$@")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _stepscope
  local got
  got=$(printf '%s\n' "${COMPREPLY[@]-}" | LC_ALL=C sort | paste -sd ' ')
  [ "$got" = "$expected" ] || fail "stepscope $*: $got instead of $expected"
}
mkdir traces
: >trace.json
completes "compare completion" comp
completes "--machine --max --memory-headroom --moments-dtype" plan m --m
completes "--version" --v
completes "--step-annotation --steps" analyze --step
completes "--steps" analyze trace.json --json out --steps
completes "llama-tiny" train --preset llama-t
completes "ms ns s us" check --unit ""
completes "us" check --unit u
completes "us" check --unit = u
completes "h100_pcie_80gb h100_sxm_80gb h100_sxm_96gb" plan --machine h100
completes "trace.json traces" analyze tr
completes "traces" analyze --csv tr
completes "trace.json traces" analyze --json tr
completes "" analyze --steps ""
completes "train" help tra
completes "bandwidth:2 bucket:25MB" whatif --change b
completes "bash" completion b
completes "" bogus ""
complete -p stepscope | grep -q -- "-F _stepscope" || fail "bash does not know the function"

if command -v fish >/dev/null; then
  offered=$(fish -c "source $dir/script.fish; complete -C 'stepscope check --unit '" | sort | tr '\n' ' ')
  [ "$offered" = "ms ns s us " ] || [[ $offered == *ms*ns*s*us* ]] || fail "fish offers $offered"
fi
if command -v zsh >/dev/null; then
  zsh -fc "autoload -U compinit; compinit -D; source $dir/script.zsh; [[ \$_comps[stepscope] == _stepscope ]]" ||
    fail "zsh does not know the function"
fi
[ $failed -eq 0 ] && echo "all as expected"
exit $failed
