#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_steps.sh STEPSCOPE: broken inputs and wrong usage of compare, sweep and check. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

compare() { "$stepscope" compare "$@" --json out.json; }
check() { "$stepscope" check "$@" --json out.json; }

# steps N LEVEL: prints a list with a little reproducible noise.
steps() { awk -v n="$1" -v level="$2" 'BEGIN { srand(7); for (i = 0; i < n; ++i) print level * (1 + 0.02 * (rand() - 0.5)) }'; }

steps 100 10 >a.txt
steps 100 11 >b.txt
says='"verdict":"slower"' expect "two lists" 0 -- compare a.txt b.txt
says='"verdict":"same"' expect "the same list twice" 0 -- compare a.txt a.txt
says='"regression":true' expect "a regression" 3 -- compare a.txt b.txt --max-regression 5%
says='"regression":false' expect "within the limit" 0 -- compare a.txt b.txt --max-regression 20%
says='"regression":false' expect "faster is no regression" 0 -- compare b.txt a.txt --max-regression 0%
steps 5 10 >few.txt
says='"verdict":"not_enough_data"' expect "five steps beside those of the same program" 4 -- compare few.txt a.txt --max-regression 1%
says='"regression":null' expect "too few, allowed" 0 -- compare few.txt a.txt --max-regression 1% --inconclusive ok
steps 5 20 >double.txt
says='"regression":true' expect "five steps and a clear change" 3 -- compare few.txt double.txt --max-regression 1%
echo 10 >one.txt
says='"interval":null' expect "one step only" 0 -- compare one.txt b.txt
says='Not enough data' expect "one step each" 0 -- compare one.txt one.txt
yes 10 | head -50 >equal.txt
yes 10.5 | head -50 >equal2.txt
says='"verdict":"same"' expect "equal step times" 0 -- compare equal.txt equal.txt
says='"verdict":"slower"' expect "equal step times, others" 0 -- compare equal.txt equal2.txt
printf 'step_time_s\n0.01\n0.011\nnan\n-4\nbroken\n0.01\n' >rows.csv
says='3 rows without a positive number' expect "rows that are no step" 0 -- compare rows.csv a.txt
gzip -c a.txt >a.txt.gz
says='"verdict":"same"' expect "a compressed list" 0 -- compare a.txt a.txt.gz
: >empty.txt
expect "empty list" 1 "empty.txt: is empty; give one number a line" -- compare a.txt empty.txt
echo hello >text.txt
expect "a text without times" 1 "text.txt: names no step time; " -- compare text.txt a.txt
printf '1,2\n3,4\n' >unnamed.csv
expect "a table without names" 1 "unnamed.csv: line 1: a table without names; .*" -- compare unnamed.csv a.txt
printf 'step_time_ms\n0\n' >zero.csv
expect "no positive time" 1 "zero.csv: has no positive step time" -- compare zero.csv a.txt
head -c 60 a.txt.gz >cut.txt.gz
expect "a compressed list cut short" 1 "cut.txt.gz: .*gzip" -- compare cut.txt.gz a.txt
echo '{"schema":"stepscope.train/1","steps":[' >cut.json
expect "a cut JSON of train" 1 "cut.json: line" -- compare cut.json a.txt
echo '{"schema":"stepscope.train/1","steps":[]}' >none.json
expect "a JSON of train without steps" 1 "none.json: has no positive step time" -- compare none.json a.txt
expect "no such file" 1 "missing.csv: no such file" -- compare missing.csv a.txt
expect "one launch of three missing" 1 "missing.csv: no such file" -- compare --a a.txt missing.csv a.txt --b b.txt b.txt
mkdir -p nothing
expect "directory without traces" 1 "nothing: no traces in this directory" -- compare nothing a.txt
printf 'step_time_ms\n%s\n' "$(steps 60 10)" >launch1.csv
printf 'step_time_ms\n%s\n' "$(steps 60 10.1)" >launch2.csv
says='"p_launches":0' expect "several launches" 0 -- compare --a launch1.csv launch2.csv --b launch1.csv launch2.csv launch2.csv --order ABBAB

# record STEP MS: prints a line of Megatron-LM.
record() { printf ' iteration %8d/ 1000 | elapsed time per iteration (ms): %s | lm loss: 2.5E+00 |\n' "$1" "$2"; }
for i in $(seq 1 60); do record "$i" "50$((i % 5)).0"; done >run.log
says='"kind":"log"' expect "a log of Megatron-LM" 0 -- check run.log
says='"verdict":"same"' expect "a log compared with itself" 0 -- compare run.log run.log
sed 's/\.0 | lm/.0[rank3]: W | lm/' run.log | head -30 | cat - run.log >cut.log
says='are cut by other output' expect "a log whose numbers are cut" 0 -- check cut.log
cat run.log run.log >again.log
says='iteration numbers go back 1 time' expect "a log of two launches" 0 -- compare again.log run.log
for i in $(seq 1 900); do record "$i" "$((i * 7919 % 1009 + 500)).$((i % 7))"; done | gzip | head -c 2000 >short.log.gz
says='"truncated":true' expect "a compressed log cut short" 0 -- check short.log.gz
printf '\033[31m[rank0]:[titan] 2025-03-06 15:42:40,808 - root - INFO - step: 10  loss:  9.8  tps: 2,793\033[0m\n' >one.log
says='358 µs for a token of a device' expect "a log with one line of torchtitan" 0 -- check one.log
sed 's/  tps: 2,793//' one.log >untimed.log
expect "a log of torchtitan without rates" 1 "untimed.log: names no step time; " -- check untimed.log
printf 'comm op: all_reduce | time (ms): 1.2 | msg size: 1.0 MB | algbw (Gbps): 1.0 | busbw (Gbps): 1.0\n' >comm.log
expect "a log of the comms logger alone" 1 "comm.log: has no positive step time" -- compare comm.log run.log
expect "the same, checked" 1 "comm.log: reports on a job and tells no step time; " -- check comm.log
printf 'hello\nworld\n' >hello.log
expect "a log of something else" 1 "hello.log: names no step time; " -- check hello.log

expect "one input" 2 "two inputs are compared" -- compare a.txt
expect "three inputs" 2 "two inputs are compared, not 3" -- compare a.txt a.txt a.txt
expect "an order of other launches" 2 "order ABB names 1 launches of A and 2 of B; there are 1 and 1" -- compare a.txt b.txt --order ABB
expect "an order of other letters" 2 "order AC is no order" -- compare a.txt b.txt --order AC
expect "one command" 2 "run stands twice" -- compare --run 'echo step_time_ms=1'
expect "an unknown unit" 2 "unit" -- compare a.txt b.txt --unit hours

says='"order":"ABBAAB"' expect "commands that print times" 0 -- compare --run 'sed s/^/step_time_ms=/ a.txt' --run 'sed s/^/step_time_ms=/ b.txt'
says='"verdict":"slower"' expect "commands that write lists" 0 -- compare --run 'cp a.txt {out}.csv' --run 'cp b.txt {out}.csv' --launches 2
expect "a command that fails" 1 "launch B 1 ended with exit code 7: oh; run the command by itself" -- compare --run 'cp a.txt {out}' --run 'echo oh; exit 7'
expect "a command that says nothing" 1 "launch A 1 names no step times; let it write" -- compare --run true --run true
expect "a command that writes nothing" 1 "launch A 1 wrote nothing to {out}" -- compare --run ': {out}' --run ': {out}'
expect "a command killed" 1 "launch A 1 ended with exit code 137" -- compare --run 'kill -9 $$' --run true
expect "a command that takes too long" 1 "took longer than 0.2 s; give it more time" -- compare --run 'sleep 60' --run true --timeout 0.2s

sweep() { "$stepscope" sweep --json out.json "$@"; }
says='"best":"1","ties":\["1.0"\]' expect "a sweep with a tie" 0 -- \
  sweep --vary f=3,1,1.0 -- awk -v f={f} '{ print "step_time_ms=" $1 * f }' a.txt
expect "a sweep without its key" 2 "{f} is not in the command" -- sweep --vary f=1,2 -- cat a.txt
expect "a sweep without values" 2 "names no values" -- sweep --vary f -- cat {f}
expect "a value twice" 2 "names a value twice" -- sweep --vary f=1,1 -- cat {f}
expect "a sweep without a command" 2 "the command is missing" -- sweep --vary f=1,2
expect "a program that is not there" 1 "cannot be started" -- sweep --vary f=1,2 -- ./no-such-program {f}

says='"kind":"list"' expect "check a list" 0 -- check a.txt
says='more steps: about' expect "check five steps" 0 -- check few.txt
expect "check nothing" 1 "empty.txt: is empty" -- check empty.txt
expect "check a missing file" 1 "missing.json: no such file" -- check missing.json

exit $failed
