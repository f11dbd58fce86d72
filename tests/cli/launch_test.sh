#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: launch_test.sh STEPSCOPE
# Ctrl-C during a launch: the exit code is 130, and no process of the launch's group is left.
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
# wait_for CONDITION…: waits at most 60 s.
wait_for() {
  for ((i = 0; i < 600; ++i)); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}
started() { [ -s child ]; }
gone() { ! kill -0 "$(cat child)" 2>/dev/null; }

# A child of the shell that ignores SIGTERM. It must end with the group too.
cat >stubborn.sh <<'STUBBORN'
trap '' TERM
echo $$ >child.new && mv child.new child
while :; do sleep 1; done
STUBBORN
export TMPDIR=$dir/tmp
mkdir -p "$TMPDIR"
"$stepscope" compare --run 'bash stubborn.sh; true' --run true >out 2>err &
runner=$!
wait_for started || fail "the launch did not start"
kill -INT $runner
wait $runner
code=$?
[ $code -eq 130 ] || fail "exit $code instead of 130"
wait_for gone || fail "a process of the launch is left"
[ -s out ] && fail "an interrupted comparison printed an answer"
[ -z "$(ls "$TMPDIR")" ] || fail "the temporary folder is left"

exit $failed
