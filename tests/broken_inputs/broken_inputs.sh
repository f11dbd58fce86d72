#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_inputs.sh STEPSCOPE: makes each broken input in a directory of its own, runs `stepscope analyze` on it and
# checks the exit code, the lines on standard error, and the remaining analysis. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

# event CAT NAME PID TID TS DUR [ARGS]
event() {
  printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": %s, "tid": %s, "ts": %s, "dur": %s, "args": {%s}},\n' \
    "$1" "$2" "$3" "$4" "$5" "$6" "${7:-}"
}
# step NUMBER: an annotation of 1000 µs; an operator in it launches a kernel that does not wait.
step() {
  local at=$((1000 * $1))
  event user_annotation "ProfilerStep#$1" 10 11 $at 1000
  event cpu_op aten::mm 10 11 $((at + 100)) 200 "\"External id\": $1"
  event cuda_runtime cudaLaunchKernel 10 11 $((at + 150)) 10 "\"correlation\": $1, \"External id\": $1"
  event kernel sgemm 0 7 $((at + 200)) 600 "\"correlation\": $1, \"device\": 0, \"stream\": 7"
}
# head RANK WORLD_SIZE, then events, then tail
head() {
  printf '{"distributedInfo": {"rank": %s, "world_size": %s}, "baseTimeNanoseconds": 1711964646000000000, ' "$1" "$2"
  printf '"traceEvents": [\n'
}
tail() { printf '{"ph": "M", "name": "process_name", "pid": 10, "args": {"name": "python"}}]}\n'; }
# trace RANK WORLD_SIZE STEPS [MORE EVENTS]
trace() {
  head "$1" "$2"
  for ((n = 1; n <= $3; ++n)); do step $n; done
  printf '%s' "${4:-}"
  tail
}

analyze() { "$stepscope" analyze "$@" --json out.json; }

trace 0 2 3 >good0.json
trace 1 2 3 >good1.json

# Two steps overlap, and with them the passes of a stage whose clock nothing confirms.
send() { printf '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "ts": %s, "dur": 5, "args": {"Collective name": "send", "Process Group Ranks": "[2, 6]"}},' "$1"; }
{ head 2 8; send 1100; send 1400
  for at in 1100 1300; do event kernel sgemm 0 7 $at 1000 '"device": 0, "stream": 7'; done
  event user_annotation ProfilerStep#5 10 11 1000 1000; event user_annotation ProfilerStep#7 10 11 1200 1000; tail; } >overlapping.json
expect "steps of a stage that overlap" 0 -- analyze overlapping.json

ranks=2 expect "sound input" 0 -- analyze good0.json good1.json
: >empty.json
expect "empty file" 1 "empty.json.*the file is empty; record" -- analyze empty.json
mkdir -p nothing
echo text >nothing/readme.txt
expect "directory without traces" 1 "nothing: no traces in this directory; " -- analyze nothing
echo 'hello, world' >text.json
expect "not JSON" 1 "text.json: byte 0: .*no JSON.*; give a torch.profiler trace" -- analyze text.json
echo '{"loss": [1, 2, 3]}' >loss.json
expect "JSON that is no trace" 1 "loss.json: .*JSON without traceEvents; " -- analyze loss.json
echo '[1, 2, 3]' >list.json
expect "a JSON array of numbers" 1 "list.json: is no trace; stepscope check list.json reads it" -- analyze list.json
{ head 0 1; printf ']}'; } >noevents.json
expect "a trace without events" 1 "noevents.json: .*no trace events" -- analyze noevents.json
head 0 1 >cutevents.json
expect "cut before the first event" 1 "cutevents.json: .*before its first trace event; .*copy it again" -- analyze cutevents.json
head 0 1 | cut -c1-60 >cuthead.json
expect "cut before the events" 1 "cuthead.json: .*ends before traceEvents; " -- analyze cuthead.json
gzip -c good0.json | dd bs=1 count=15 status=none >cut.json.gz
expect "gzip cut before the events" 1 "cut.json.gz: .*gzip.*before traceEvents" -- analyze cut.json.gz
expect "no such file" 1 "missing.json: no such file" -- analyze missing.json
expect "pattern without match" 1 "no file matches" -- analyze '*.nothing'
mkfifo pipe
expect "a pipe" 1 "pipe: is no regular file; " -- analyze pipe

{ head 0 1; event user_annotation 'ProfilerStep#1' 10 11 1000 1000; event cpu_op aten::mm 10 11 1100 700; tail; } >cpu.json
ranks=1 says='"device":"cpu"' expect "no device events" 0 -- analyze cpu.json
trace 0 1 3 "$(event kernel negative 0 7 1500 -20)
$(event cpu_op negative 10 11 1500 -20)" >negative.json
ranks=1 says='"negative_duration":2' expect "negative durations" 0 -- analyze negative.json
trace 0 1 3 "$(event kernel a 0 7 1200 300)
$(event kernel b 0 7 1350 300)
$(event cpu_op x 10 11 1200 300)
$(event cpu_op y 10 11 1350 300)" >overlap.json
ranks=1 expect "overlapping, not nested" 0 -- analyze overlap.json
trace 0 1 3 "$(event kernel back 0 7 -90000000 5)
$(event cpu_op forward 10 11 86400000000 5)" >jump.json
ranks=1 expect "clock jumps" 0 -- analyze jump.json
trace 0 1 3 "$(event kernel far 0 7 5000000000000000 5)" >far.json
ranks=1 says='"timestamp_out_of_range":1' expect "a time beyond the calendar" 0 -- analyze far.json
trace 2 3 3 >rank2.json
trace 0 3 3 >rank0.json
ranks=2 says='2 ranks of 3' expect "one rank missing" 0 -- analyze rank0.json rank2.json
ranks=1 expect "ranks of two worlds" 1 "rank2.json: belongs to another job than good0.json: its job has 3 ranks, the other's 2" \
  -- analyze good0.json rank2.json
trace 1 2 2 >short1.json
ranks=2 says='missing on some rank' expect "ranks with different step counts" 0 -- analyze good0.json short1.json
trace 0 2 3 >again0.json
ranks=1 expect "two files for one rank" 1 "again0.json: claims rank 0, and so does good0.json" -- analyze good0.json again0.json
size=$(wc -c <good0.json)
dd if=good0.json of=truncated.json bs=1 count=$((size - 400)) status=none
ranks=1 says='truncated.json is cut off at byte [0-9]*: no whole step is left' expect "truncated file" 1 \
  "truncated.json: byte [0-9]*: is cut off, and no whole step is left; copy the file again" -- analyze truncated.json
trace 0 2 6 >six.json
dd if=six.json of=cutsteps.json bs=1 count=$(($(wc -c <six.json) - 400)) status=none
ranks=1 says='cutsteps.json is cut off at byte [0-9]*: steps 4, 5, 6 of rank 0 .*"truncated":true' \
  expect "truncated file with whole steps" 0 -- analyze cutsteps.json
gzip -c good0.json >whole.gz
dd if=whole.gz of=truncated.json.gz bs=1 count=$(($(wc -c <whole.gz) - 20)) status=none
ranks=1 says='"truncated":true' expect "truncated gzip" 0 -- analyze truncated.json.gz
ranks=2 expect "the others are still analysed" 1 "empty.json" "text.json" "missing.json" -- \
  analyze empty.json good0.json text.json good1.json missing.json

"$stepscope" analyze good0.json good1.json --perfetto good.pftrace >whole.txt
ranks=2 expect "sound input, native Perfetto" 0 -- analyze good.pftrace
size=$(wc -c <good.pftrace)
dd if=good.pftrace of=cut.pftrace bs=1 count=$((size - 30)) status=none
ranks=2 says='"truncated":true' expect "truncated Perfetto trace" 0 -- analyze cut.pftrace
{ cat good.pftrace; printf 'and something else'; } >behind.pftrace
ranks=2 says='"not_a_packet":1' expect "text behind the packets" 0 -- analyze behind.pftrace
dd if=good.pftrace of=few.pftrace bs=1 count=40 status=none
expect "Perfetto trace without events" 1 "few.pftrace: byte 40: .*without track events.*; " -- analyze few.pftrace
dd if=/dev/urandom of=random.pftrace bs=1000 count=1 status=none
expect "random bytes called .pftrace" 1 "random.pftrace: " -- analyze random.pftrace
echo xspace >rank0.xplane.pb
expect "no profile of XLA" 1 "rank0.xplane.pb: .*no JSON" -- analyze rank0.xplane.pb
printf '\n\014\022\012/host:meta' >rank0.xplane.pb
expect "a profile of XLA without rows" 1 "rank0.xplane.pb: .*XLA without rows.*1 planes" -- analyze rank0.xplane.pb
echo '{"rocprofiler-sdk-tool": [{"metadata": {}}]}' >results.json
expect "an empty JSON of rocprofv3" 1 "results.json: .*rocprofv3.*without kernels.*; record with rocprofv3" -- analyze results.json
echo '{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1' >results.json
expect "a JSON of rocprofv3 that was cut" 1 "results.json: .*byte" -- analyze results.json

# sysfs reports 4096 bytes and delivers fewer, like a file that shrinks during reading.
shrunk=/sys/devices/system/cpu/online
if [ -f $shrunk ] && [ "$(stat -c %s $shrunk)" -gt "$(wc -c <$shrunk)" ]; then
  expect "a file that shrinks meanwhile" 1 "online: byte .*the file shrank from .*; read it when" -- analyze $shrunk
else
  echo "a file that shrinks meanwhile: skipped, no sysfs here"
fi

cp good0.json secret.json
chmod 000 secret.json
chmod 755 . && chmod 666 stdout stderr
if [ "$(id -u)" != 0 ]; then
  expect "no permission" 1 "secret.json: cannot open: Permission denied; check" -- "$stepscope" analyze secret.json
elif setpriv --reuid=65534 --regid=65534 --clear-groups "$stepscope" --version >/dev/null 2>&1; then
  expect "no permission" 1 "secret.json: cannot open: Permission denied; check" -- \
    setpriv --reuid=65534 --regid=65534 --clear-groups "$stepscope" analyze secret.json
else
  echo "no permission: skipped, root reads everything and no other user can run $stepscope"
fi

expect "full disk: --json" 1 "/dev/full: cannot write.*No space left.*; " -- "$stepscope" analyze good0.json --json /dev/full
expect "full disk: --html" 1 "/dev/full: cannot write.*No space left.*; " -- "$stepscope" analyze good0.json --html /dev/full
expect "full disk: --perfetto" 1 "/dev/full: cannot write.*No space left.*; " -- \
  "$stepscope" analyze good0.json --perfetto /dev/full
ln -sf /dev/full full.pftrace
expect "full disk: --perfetto, native" 1 "full.pftrace: cannot write.*No space left.*; " -- \
  "$stepscope" analyze good0.json --perfetto full.pftrace
rm full.pftrace
expect "full disk: standard output" 1 "cannot write to standard output; " -- \
  bash -c "'$stepscope' analyze good0.json >/dev/full"
expect "full disk: --json -" 1 "cannot write" -- bash -c "'$stepscope' analyze good0.json --json - >/dev/full"
expect "outputs into no directory" 1 "no/such/x.json" -- "$stepscope" analyze good0.json --json no/such/x.json
mkdir -p full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8k none full 2>/dev/null; then
  expect "full disk: a small file system" 1 "full/page.html: cannot write.*No space left.*; " -- \
    "$stepscope" analyze good0.json --html full/page.html
  umount full
else
  echo "full disk: a small file system: skipped, no tmpfs can be mounted here"
fi

expect "no input" 2 "" -- "$stepscope" analyze
expect "an unknown flag" 2 "frobnicate" -- "$stepscope" analyze good0.json --frobnicate
expect "an unknown verb" 2 "" -- "$stepscope" frobnicate
expect "steps that are none" 2 "" -- "$stepscope" analyze good0.json --steps x:y
expect "a span that is none" 2 "filter-time 5/7.*; write FROM:UNTIL" -- "$stepscope" analyze good0.json --filter-time 5/7
expect "a span of a format that is read whole" 1 "good0.json: .*only those are read in part; leave" -- \
  "$stepscope" analyze good0.json --filter-time 0:1s

exit $failed
