#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_stacks.sh STEPSCOPE: makes each broken profile in a directory of its own, runs `stepscope stacks` on it and
# checks the exit code, the lines on standard error, and the remaining answer. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

stacks() { "$stepscope" stacks "$@" --json out.json; }

printf 'MainThread;forward (m.py:1);item 5\npt_autograd_0;f (a.py:2) 3\n' >good.txt
says='"weight":8' expect "sound input" 0 -- stacks good.txt
: >empty.txt
expect "empty file" 1 "empty.txt: the file is empty; record" -- stacks empty.txt
expect "no such file" 1 "missing.txt: cannot open: No such file" -- stacks missing.txt
says='"weight":8' expect "the others are still answered" 1 "empty.txt" "missing.txt" -- stacks empty.txt good.txt missing.txt
echo 'hello, world' >prose.txt
expect "prose" 1 "prose.txt: is no profile that is known; give" -- stacks prose.txt
head -c 5000 "$stepscope" >binary
expect "a program" 1 "binary: is binary, and no pprof profile; give" -- stacks binary
echo '{"traceEvents": [{"ph": "B", "name": "f"}]}' >trace.json
expect "a Chrome trace" 1 "trace.json: is a trace; stepscope analyze trace.json" -- stacks trace.json
printf '0x12 (x.so);[unknown] (y.so) 4\n' >unknown.txt
says='without symbols' expect "stacks without symbols" 0 -- stacks unknown.txt
printf 'a;b 1\r\nno count\r\na;c 2\r\n' >crlf.txt
says='"lines_without_a_count":1' expect "CR LF and a line that is none" 0 -- stacks crlf.txt
printf '\xff\xfea\0;\0b\0 \0002\0' >utf16.txt
says='"weight":2' expect "UTF-16" 0 -- stacks utf16.txt
gzip -c good.txt >whole.gz
head -c 40 whole.gz >cut.gz
expect "gzip cut off" 1 "cut.gz: .*" -- stacks cut.gz
for ((i = 0; i < 20000; ++i)); do echo "MainThread;f$i 1"; done | gzip -c >large.gz
head -c $(($(wc -c <large.gz) / 2)) large.gz >half.txt.gz
says='"truncated":true' expect "gzip cut off after stacks" 0 -- stacks half.txt.gz
printf 'prog 9 1.5: 1 cycles: \n\t 12 f (/a)\n\nprog 9 1.6: 1 cycles: \n\n\t 13 g (/a)\nprog 9 1.7: 1 cyc' >perf.txt
says='"samples_without_a_stack":[12]' expect "perf script cut off" 0 -- stacks perf.txt
schema='"$schema":"https://www.speedscope.app/file-format-schema.json"'
printf '{%s,"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","unit":"none","endValue":9,"events":[{"type":"O","at":0,"frame":0},{"type":"C","at":1,"frame":7},{"type":"O","at":5,"frame":0}]}]}' "$schema" >evented.json
says='"frames_closed_that_were_not_open":1' expect "unbalanced events" 0 -- stacks evented.json
printf '{%s,"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","samples":[[0],[0]],"weights":[1,' "$schema" >cut.json
says='"truncated":true' expect "speedscope cut off" 0 -- stacks cut.json
printf '{%s,"profiles":[],"shared":{"frames":[]}}' "$schema" >none.json
expect "speedscope without profiles" 1 "none.json: speedscope's JSON without profiles; " -- stacks none.json
expect "other units" 1 "evented.json: counts other, and the profile before it samples; " -- stacks good.txt evented.json
echo '{"phases": [{"name": "x", "stacks": ["*"]}]}' >rules.json
expect "a rule that matches all" 1 "rules.json: .*no pattern of a frame" -- stacks good.txt --rules rules.json
echo 'not a row' >table.tsv
expect "a table that is none" 1 "table.tsv: byte 0: line 1 is no row of instructions; " -- stacks good.txt --lasti table.tsv
says='"weight":8' expect "nothing to compare with" 1 "missing.txt: cannot open: No such file" -- stacks good.txt --against missing.txt
x='"ph":"X","pid":9,"tid":9'
printf '{"traceEvents":[{%s,"cat":"user_annotation","name":"ProfilerStep#3","ts":100,"dur":1000},{%s,"cat":"cpu_op","name":"aten::mm","ts":200,"dur":300}]}' "$x" "$x" >beside.json
says='"not_joined":"profiles of the format collapsed' expect "--trace: a profile without instants" 0 -- stacks good.txt --trace beside.json
printf 'prog 9 1.5: 1 cycles: \n\t 12 f (/a)\n' >timed.txt
says='"not_joined":"neither the profile nor the trace' expect "--trace: no common clock" 0 -- stacks timed.txt --trace beside.json
says='"not_joined":"the profile begins 1.50 s after the last step' expect "--trace: another time" 0 -- stacks timed.txt --trace beside.json --offset 0s
says='"outside":0' expect "--trace: a clock that was told" 0 -- stacks timed.txt --trace beside.json --offset -1.4998s
says='"weight":8' expect "--trace: one that is missing" 1 "missing.json: no such file" -- stacks good.txt --trace missing.json
cp beside.json rank0.json
sed 's/"ts":2/"ts":3/' beside.json >rank1.json
says='"weight":8' expect "--trace: nobody's profile" 1 "good.txt: the traces have 2 ranks.*; say --rank N" -- stacks good.txt --trace rank0.json rank1.json
says='"rank":1' expect "--trace: --rank" 0 -- stacks good.txt --trace rank0.json rank1.json --rank 1
expect "--offset without a trace" 2 -- stacks good.txt --offset 1s
expect "--offset that is none" 2 "--offset soon is no time; " -- stacks good.txt --trace beside.json --offset soon
expect "an unknown format" 2 -- stacks good.txt --format nothing
expect "full disk: --html" 1 "/dev/full: cannot write.*No space left.*; " -- "$stepscope" stacks good.txt --html /dev/full
expect "full disk: standard output" 1 "cannot write to standard output; " -- bash -c "'$stepscope' stacks good.txt >/dev/full"
exit $failed
