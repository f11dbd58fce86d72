#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: process_test.sh STEPSCOPE TRACES
# Runs the program as a user does and checks exit codes and the contents of each stream.
set -u
stepscope=$1
traces=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The examples of a help in $dir/out, one a line.
examples() {
  sed -n '/^Examples*:$/,/^$/p' "$dir/out" | sed -e ':a' -e '/\\$/{N;s/ *\\\n */ /;ba' -e '}' | sed -n 's/^  stepscope //p'
}
fail() {
  echo "FAILED: $1"
  sed 's/^/  stderr: /' "$dir/err" | head -5
  failed=1
}
# run CODE NAME ARGUMENT…: puts standard output and error into $dir/out and $dir/err.
run() {
  local code=$1 name=$2
  shift 2
  "$stepscope" "$@" >"$dir/out" 2>"$dir/err"
  local got=$?
  [ $got -eq "$code" ] || fail "$name: exit $got instead of $code"
}
out_has() { grep -qe "$1" "$dir/out" || fail "standard output lacks: $1"; }
err_has() { grep -qe "$1" "$dir/err" || fail "standard error lacks: $1"; }
out_empty() { [ ! -s "$dir/out" ] || fail "$1: standard output is not empty"; }
err_empty() { [ ! -s "$dir/err" ] || fail "$1: standard error is not empty"; }

run 0 "an analysis" analyze "$traces"
out_has "Where it goes"
err_empty "without a terminal there is no progress"
if grep -q $'\033' "$dir/out"; then fail "colours without a terminal"; fi

run 0 "help" --help
out_has "^  analyze  *Account for"
out_has "^  stepscope analyze traces/"
cp "$dir/out" "$dir/help"
for arguments in -h help "help help"; do
  # shellcheck disable=SC2086
  run 0 "help by $arguments" $arguments
  [ "$arguments" = "help help" ] || cmp -s "$dir/help" "$dir/out" || fail "$arguments is another help"
done
run 0 "help of the verb" analyze --help
out_has "^  stepscope analyze examples/train_tiny"
cp "$dir/out" "$dir/help"
for arguments in "analyze -h" "help analyze"; do
  # shellcheck disable=SC2086
  run 0 "help by $arguments" $arguments
  cmp -s "$dir/help" "$dir/out" || fail "$arguments is another help"
done
run 0 "version" --version
cp "$dir/out" "$dir/version"
run 0 "version by -V" -V
cmp -s "$dir/version" "$dir/out" || fail "-V is not --version"

pages="plan, calibrate and train"
if "$stepscope" help train | grep -q "has no engine"; then pages="plan and calibrate"; fi
# ARGUMENTS|all that standard error says
while IFS='|' read -r arguments says; do
  # shellcheck disable=SC2086
  run 2 "wrong usage: $arguments" $arguments
  out_empty "$arguments"
  [ "$(cat "$dir/err")" = "stepscope: $says" ] || fail "$arguments: $(cat "$dir/err")"
done <<EOF
|a verb is missing; stepscope --help lists verbs
analyse x|there is no verb analyse; did you mean analyze?
help analyse|there is no verb analyse; did you mean analyze?
bogus|there is no verb bogus; stepscope --help lists them
--json x analyze y|stepscope has no flag --json; flags stand behind the verb
analyze x --step 3|analyze has no flag --step; did you mean --steps?
analyze x --gpus 8|analyze has no flag --gpus; it is a flag of check, predict, project and plan
analyze --gpus 8|analyze has no flag --gpus; it is a flag of check, predict, project and plan
whatif|INPUT is missing; write stepscope whatif INPUT... [flags]
whatif x --change bandwidth|bandwidth is no scenario; write bandwidth[:COLLECTIVE]:FACTOR[@RANK], as bandwidth:2
whatif x --html page.html|whatif has no flag --html; it is a flag of analyze, check, memory, stacks, hang, compare, sweep, predict, $pages
calibrate x.json --html x.json|FILE and --html name one file: x.json; give each output a file of its own
predict m --bucket-mb 25|predict has no flag --bucket-mb; did you mean --bucket?
hang x --frobnicate|hang has no flag --frobnicate; stepscope help hang lists the flags
compare a b --max-regression two|--max-regression: two is no share; write 0% to 1000000%; stepscope help compare lists the flags
compare a b --timeout 3h|--timeout: 3h is no time; write 0s to 604800s, as 20ms or 3s; stepscope help compare lists the flags
check x --unit h|--unit: h is none of ns, us, ms, s; stepscope help check lists the flags
EOF

run 0 "JSON on standard output" analyze "$traces" --json -
[ "$(head -c 1 "$dir/out")" = "{" ] || fail "JSON does not begin the output"
[ "$(tail -c 2 "$dir/out" | tr -d '\n')" = "}" ] || fail "something follows the JSON"
if grep -q "^Where it goes" "$dir/out"
then fail "text among the JSON"; fi
"$stepscope" analyze "$traces" --json "$dir/a.json" >/dev/null 2>"$dir/err" || fail "JSON to a file"
[ "$(head -c 1 "$dir/a.json")" = "{" ] || fail "the JSON file does not begin as JSON"

# Several outputs together share intermediate results; each must equal the output made alone.
run 0 "all outputs at once" analyze "$traces" --json "$dir/b.json" --html "$dir/b.html" --csv "$dir/b"
cmp -s "$dir/a.json" "$dir/b.json" || fail "a page beside it changes the JSON"
grep -q '"timeline":{"origin_ns"' "$dir/b.html" || fail "the page has no timeline"
grep -q '"timeline":{"origin_ns"' "$dir/b.json" && fail "the JSON has a timeline without --timeline"
run 0 "a page alone" analyze "$traces" --html "$dir/c.html"
cmp -s "$dir/b.html" "$dir/c.html" || fail "JSON beside it changes the page"
run 0 "CSV alone" analyze "$traces" --csv "$dir/c"
diff -r "$dir/b" "$dir/c" >/dev/null || fail "other outputs change the tables"
run 0 "JSON with its timeline" analyze "$traces" --json "$dir/t.json" --timeline
grep -q '"timeline":{"origin_ns"' "$dir/t.json" || fail "--timeline adds none"

for arguments in "" "analyze" "bogus" "analyze x --steps y" "analyze x --steps 5:3" \
  "analyze x --ranks 3-1" "analyze x --ranks a" "analyze x --peak-tflops -1" \
  "analyze x --peak-dtype int3" "analyze x --no-such-flag"; do
  # shellcheck disable=SC2086
  run 2 "wrong usage: $arguments" $arguments
  out_empty "wrong usage: $arguments"
  [ -s "$dir/err" ] || fail "wrong usage without a reason: $arguments"
done

# shellcheck disable=SC2086  # the flags are words
gpt3="predict gpt3-175b --machine a100_sxm_80gb --gpus 1024 --tp 8 --pp 16 --global-batch 1536"
run 0 "a prediction" $gpt3
out_has "A step takes"
out_has "matrix products"
err_empty "a prediction"
run 0 "its help" predict --help
out_has "^  stepscope predict gpt3-175b"
# What the help shows works.
while read -r example; do
  # shellcheck disable=SC2086
  run 0 "example of the help: $example" $example
  err_empty "$example"
done < <(examples)
run 0 "its JSON alone on standard output" $gpt3 --json -
[ "$(head -c 24 "$dir/out")" = '{"schema":"stepscope.pre' ] || fail "JSON does not begin the output"
run 0 "all its outputs" $gpt3 --vary zero=0,1 --json "$dir/p.json" --html "$dir/p.html" --csv "$dir/p" --layers
out_has "qkv_proj"
for file in p.json p.html p/terms.csv p/memory.csv p/layers.csv p/layer_sums.csv p/comparison.csv; do
  [ -s "$dir/$file" ] || fail "$file is not written"
done
plan_in() { sed -n 's/^.*"plan":\({.*}\),"step_time_ns":[0-9.]*,"step_interval_ns".*$/\1/p' "$1"; }
plan_in "$dir/p.json" >"$dir/plan.json"
run 0 "read back" predict gpt3-175b --machine a100_sxm_80gb --plan "$dir/plan.json" --json "$dir/q.json"
grep -o '"step_time_ns":[0-9.]*' "$dir/p.json" | head -1 >"$dir/step_of_p"
grep -o '"step_time_ns":[0-9.]*' "$dir/q.json" | head -1 >"$dir/step_of_q"
cmp -s "$dir/step_of_p" "$dir/step_of_q" || fail "a plan read back takes another time"
run 0 "a formula" $gpt3 --explain bubble --explain activations
[ "$(wc -l <"$dir/out")" = 3 ] || fail "a line for each formula, and one of equal stages behind the bubble"
out_has "^activations = .* = .* GB; on pipeline device"
run 0 "an operation's formulas" $gpt3 --explain fc1
out_has "^fc1 forward = .* = .* ms; of layer, 96 layers"
run 0 "all formulas" $gpt3 --explain all
out_has "^lm_head backward = "

# A DeepSpeed config as plan: batch, accumulation and ZeRO come from the file, degrees from the flags.
cat >"$dir/ds.json" <<EOF
{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 2,
 "bf16": {"enabled": true},
 "zero_optimization": {"stage": 3, "reduce_bucket_size": 100000000, "overlap_comm": true,
                       "offload_optimizer": {"device": "cpu"}}}
EOF
of_deepspeed="predict llama-3-8b --machine a100_sxm_80gb --gpus 64 --seq 2048"
run 0 "a DeepSpeed config as the plan" $of_deepspeed --ds-config "$dir/ds.json" --json "$dir/ds_out.json"
out_has "DP 64, ZeRO-3 · 4 micro-batches of 2 × 2048"
for part in '"zero":3' '"dp":64' '"global_batch":512' '"micro_batch":2' '"optimizer_at":"host"' '"gradients_at":"host"' '"sequence":2048'; do
  grep -q "$part" "$dir/ds_out.json" || fail "the plan of a DeepSpeed config lacks $part"
done
step_of() { grep -o '"step_time_ns":[0-9.]*' "$1" | head -1; }
plan_in "$dir/ds_out.json" >"$dir/ds_plan.json"
run 0 "the plan that it is" $of_deepspeed --plan "$dir/ds_plan.json" --json "$dir/ds_again.json"
[ "$(step_of "$dir/ds_out.json")" = "$(step_of "$dir/ds_again.json")" ] ||
  fail "a DeepSpeed config takes another time than the plan that it is"
run 0 "with degrees beside it" $of_deepspeed --ds-config "$dir/ds.json" --tp 4 --json "$dir/ds_tp.json"
grep -q '"dp":16' "$dir/ds_tp.json" || fail "--tp beside a DeepSpeed config leaves dp"
printf '{\n  "tp": 8,\n  "tq": 1\n}\n' >"$dir/bad.json"
# ARGUMENTS|text on standard error
while IFS='|' read -r arguments says; do
  # shellcheck disable=SC2086
  run 2 "wrong usage: $arguments" $arguments
  out_empty "$arguments"
  err_has "$says"
  [ "$(wc -l <"$dir/err")" = 1 ] || fail "more than a line for: $arguments"
done <<EOF
predict|the model, the machine, the number of GPUs, the batch (in sequences) and the length of the sequences are missing; give MODEL --machine NAME --gpus N --global-batch N --seq N
predict gpt3-175b|the machine, the number of GPUs and the batch (in sequences) are missing
predict gpt3-175 --machine a100_sxm_80gb --gpus 8 --global-batch 8|did you mean gpt3-175b
predict gpt3-175b --machine a100_sxm --gpus 8 --global-batch 8|did you mean a100_sxm_40gb
predict gpt3-175b --machine a100_sxm_80gb --global-batch 8|give --gpus N
predict gpt3-175b --machine a100_sxm_80gb --gpus 8|give --global-batch N
$gpt3 --dp 3|dp must be 8
$gpt3 --tp 7|must divide 1024
$gpt3 --tp 64 --pp 1 --dp 16|heads
$gpt3 --pp 5|must divide 1024
$gpt3 --zero 9|write 0, 1, 2 or 3
$gpt3 --seq 0|no positive whole number
$gpt3 --seq nan|no positive whole number
$gpt3 --seq 99999999999999999999|no positive whole number
$gpt3 --micro-batch -1|no positive whole number
$gpt3 --vary zerro=1|did you mean zero
predict no-such-owner/Llama-9-70B --machine a100_sxm_80gb --gpus 8 --global-batch 8|llama-3-70b
predict gpt2 --machine h100sxm --gpus 8 --global-batch 8|did you mean h100_sxm_80gb
whatif x --change bandwith:2|did you mean bandwidth
list machine|machines
$gpt3 --explain buble|did you mean bubble
predict --collective all_reduce --machine h100_sxm_80gb|give --group N
predict --collective allreduce --group 8 --machine h100_sxm_80gb|did you mean all_reduce
predict --collective all_reduce --group 8 --bytes 2GB:1KB --machine h100_sxm_80gb|write 1KB:1GB
predict --collective all_reduce --group 8|the machine is missing
EOF

# A bad file is not wrong usage.
while IFS='|' read -r arguments says; do
  # shellcheck disable=SC2086
  run 1 "a bad file: $arguments" $arguments
  out_empty "$arguments"
  err_has "$says"
  [ "$(wc -l <"$dir/err")" = 1 ] || fail "more than a line for: $arguments"
done <<EOF
analyze x --groups $dir/none|none
predict $dir/none.json --machine a100_sxm_80gb --gpus 8 --global-batch 8|none.json
predict gpt3-175b --machine $dir/none.json --gpus 8 --global-batch 8|none.json
plan $dir/bad.json --machine a100_sxm_80gb --gpus 8 --global-batch 8|bad.json
$gpt3 --plan $dir/none.json|none.json
$gpt3 --plan $dir/bad.json|line 3
EOF

run 1 "a plan that does not fit" predict gpt3-175b --machine a100_sxm_80gb --gpus 8 --tp 8 --global-batch 8
out_has "does not fit"
out_has "would be\|by another plan"
err_has "the plan does not fit: each device lacks .*; stepscope plan"
run 0 "help of plan" plan --help
example=$(examples)
# shellcheck disable=SC2086
run 0 "example of the help: $example" $example
out_has "The fastest plan takes"
out_has "Why it wins"
out_has "plans that fit are faster"
printf '{"tp": 8, "pp": 8, "dp": 1, "sequence": 2048, "global_batch": 64}' >"$dir/own.json"
run 0 "all outputs of plan" plan gpt3-175b --machine a100_sxm_80gb --gpus 64 --global-batch 64 --fix tp=8 \
  --against tp=8,pp=8 --against "$dir/own.json" --json "$dir/s.json" --html "$dir/s.html" --csv "$dir/s" --flags megatron
out_has "tensor-model-parallel-size 8"
for file in s.json s.html s/plans.csv s/pareto.csv s/against.csv s/rejected.csv s/sensitivity.csv; do
  [ -s "$dir/$file" ] || fail "$file is not written"
done
run 1 "a model that fits nowhere" plan gpt3-175b --machine a100_sxm_80gb --gpus 2 --global-batch 8
out_has "devices would be enough"
err_has "no plan can run on the devices of --gpus; give --gpus .*, where one fits"
for arguments in "plan" "plan gpt3-175b --machine a100_sxm_80gb --gpus 0 --global-batch 8" \
  "plan gpt3-175b --machine a100_sxm_80gb --gpus 8:4 --global-batch 8" \
  "plan gpt3-175b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --fix tq=8" \
  "plan gpt3-175b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --max pp" \
  "plan gpt3-175b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --against tq=8" \
  "plan gpt3-175b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --against tp=8,global-batch=9" \
  "plan gpt3-175b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --flags horovod"; do
  # shellcheck disable=SC2086
  run 2 "wrong usage: $arguments" $arguments
  out_empty "wrong usage: $arguments"
  [ -s "$dir/err" ] || fail "wrong usage without a reason: $arguments"
done

run 1 "an input that does not exist" analyze "$dir/none.json"
err_has "none.json"
run 1 "one input of two does not exist" analyze "$traces" "$dir/none.json"
out_has "Where it goes"
err_has "none.json"
run 1 "ranks that are not there" analyze "$traces" --ranks 7
err_has "no rank of --ranks 7"
run 1 "steps that are not there" analyze "$traces" --steps 1000:
err_has "no step of --steps 1000:"

mkdir "$dir/jobs" || exit 1
for i in 1 2 3 4 5 6; do
  printf '{"baseTimeNanoseconds":1700000000000000000,"distributedInfo":{"rank":0},"traceEvents":[
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":%d,"tid":1,"ts":%d000000000,"dur":100},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":%d,"tid":1,"ts":%d000000010,"dur":50}]}' $i $i $i $i \
    >"$dir/jobs/$i.json"
done
run 1 "traces of six jobs" analyze "$dir/jobs"
out_has "1 of 6 files: 1.json"
err_has "5 traces of other jobs are left out, as 2.json"
[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "traces of six jobs: $(wc -l <"$dir/err") lines of errors"

head -c 100000 <(gzip -dc "$traces/rank0.json.gz") >"$dir/cut.json"
run 1 "a truncated input" analyze "$dir/cut.json"
out_has "is cut off at byte"
out_has "device not known"
out_has "Copy the file again."
err_has "copy the file again"
grep -q '^note:' "$dir/out" && fail "a truncated input has notes on what it would hold"
head -c 30000 "$traces/rank0.json.gz" >"$dir/cut.json.gz"
run 1 "a truncated packed input" analyze "$dir/cut.json.gz"
out_has "cut.json.gz is cut off after 30000 bytes (byte "
err_has "is cut off after 30000 bytes, and no whole step is left"

run 0 "all changes" whatif "$traces"
out_has "rank_as_peers@1"
grep -q '…' "$dir/out" && fail "all changes: a change is cut"

run 0 "one rank of two" analyze "$traces" --ranks 0 -v
out_has "only 1 of 2 ranks are asked for"
out_has "leave --ranks out"
grep -q "every rank's" "$dir/out" && fail "one rank of two: asks for traces that are given"

run 0 "a quiet run" analyze "$traces" -q --html "$dir/quiet.html"
out_empty "a quiet run"
[ -s "$dir/quiet.html" ] || fail "a quiet run writes no page"
run 0 "a quiet run with JSON" analyze "$traces" --quiet --json -
out_has '"schema":"stepscope.analyze'
run 1 "a quiet run that fails" analyze "$dir/none.json" -q
err_has "none.json"

run 1 "a page that cannot be written" analyze "$traces" --html "$dir/none/page.html"
out_has "Where it goes"
err_has "page.html"
: >"$dir/file"
run 1 "a CSV directory that cannot be made" analyze "$traces" --csv "$dir/file/csv"
[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "one line for one failure"
if [ -w /dev/full ]; then
  "$stepscope" analyze "$traces" >/dev/full 2>"$dir/err" && fail "a full disk is success"
  err_has "standard output"
  "$stepscope" analyze "$traces" --json - >/dev/full 2>"$dir/err" && fail "a full disk is success"
  err_has "standard output"
  for arguments in --version --help "analyze --help" "help analyze" "list machines"; do
    # shellcheck disable=SC2086
    "$stepscope" $arguments >/dev/full 2>"$dir/err"
    [ $? -eq 1 ] || fail "$arguments on a full disk: not exit 1"
    err_has "standard output"
  done
fi

# A full disk during each output. A file size limit stands in for a full disk; standard output is a pipe there, which
# has no limit.
for flag in --json --html --perfetto; do
  if [ -w /dev/full ]; then
    run 1 "$flag on a full disk" analyze "$traces" "$flag" /dev/full
    err_has "/dev/full: cannot write"
    [ "$(wc -l <"$dir/err")" -eq 1 ] || fail "$flag on a full disk: one line for one failure"
  fi
  mkdir "$dir/small"
  for file in "$dir/small/out" "$dir/small/out.gz"; do
    [ -e "$file" ] && fail "$file is there before it is written"
    (ulimit -f 1 && "$stepscope" analyze "$traces" "$flag" "$file" 2>&1 1>&3 3>&- | cat >"$dir/err"
      exit "${PIPESTATUS[0]}") 3>&1 | cat >"$dir/out"
    code=${PIPESTATUS[0]}
    [ "$code" -eq 1 ] || fail "$flag beyond the size limit: exit $code instead of 1"
    err_has "$file: cannot write"
    out_has "Where it goes"
  done
  [ -z "$(ls -A "$dir/small")" ] || fail "$flag beyond the size limit leaves: $(ls "$dir/small")"
  rmdir "$dir/small" || exit 1
done
echo kept >"$dir/kept.json"
(ulimit -f 1 && exec "$stepscope" analyze "$traces" --json "$dir/kept.json" 2>&1) | cat >"$dir/err"
[ "$(cat "$dir/kept.json")" = kept ] || fail "a failure spoils the file that was there"

# The input is large enough for a signal during the work. Timing depends on the machine, so shorter and shorter delays
# are tried. A script's background process ignores SIGINT unless it installs a handler, so the 130 can only be the
# program's own.
awk 'BEGIN {
  print "{\"traceEvents\":[";
  for (i = 0; i < 400000; i++)
    printf "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5},\n", i % 50, i * 10;
  print "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"last\",\"pid\":1,\"tid\":1,\"ts\":9000000,\"dur\":1}]}";
}' >"$dir/large.json"
interrupted=no
for delay in 0.2 0.1 0.05 0.02; do
  "$stepscope" analyze "$dir/large.json" --threads 1 --html "$dir/large.html" \
    --perfetto "$dir/large.json.gz" >"$dir/out" 2>"$dir/err" &
  child=$!
  sleep "$delay"
  kill -INT "$child" 2>/dev/null
  wait "$child"
  if [ $? -eq 130 ]; then
    interrupted=yes
    break
  fi
done
[ $interrupted = yes ] || fail "Ctrl-C does not end with 130"

run 2 "a name too long for a file" "$(printf 'x%.0s' {1..300})"

# Ctrl-C during writing. The temporary file shows that writing has begun; exit code 0 means that it finished before the
# signal.
met=no
for _ in 1 2 3 4 5; do
  rm -f "$dir/merged.json"
  "$stepscope" analyze "$dir/large.json" --perfetto "$dir/merged.json" >"$dir/out" 2>"$dir/err" &
  child=$!
  while kill -0 "$child" 2>/dev/null; do
    compgen -G "$dir/merged.json.tmp*" >/dev/null && break
    sleep 0.005
  done
  kill -INT "$child" 2>/dev/null
  wait "$child"
  code=$?
  [ $code -eq 0 ] && continue
  met=yes
  [ $code -eq 130 ] || fail "Ctrl-C while a trace is written: exit $code instead of 130"
  err_empty "Ctrl-C while a trace is written"
  [ -e "$dir/merged.json" ] && fail "Ctrl-C leaves a part of a trace"
  break
done
[ $met = yes ] || fail "Ctrl-C never met the program while it wrote"
leftovers=$(find "$dir" -name '*.tmp*')
[ -z "$leftovers" ] || fail "temporary files are left: $leftovers"

[ $failed -eq 0 ] && echo "all as expected"
exit $failed
