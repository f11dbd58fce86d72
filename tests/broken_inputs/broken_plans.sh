#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_plans.sh STEPSCOPE: errors of `stepscope predict` and `stepscope plan` for impossible models, machines, plans
# and numbers. Each is one line on standard error; the exit code is 1 for a bad file or plan, 2 for wrong usage. Prints
# the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"
one_line=yes
longest=190

gpt3() { "$stepscope" predict gpt3-175b --machine a100_sxm_80gb --gpus 1024 --global-batch 1536 --json out.json "$@"; }
mixtral() { "$stepscope" predict mixtral-8x7b --machine h100_sxm_80gb --gpus 64 --global-batch 256 --seq 4096 "$@"; }
plan() { "$stepscope" plan "$@"; }

says='"schema":"stepscope.predict/1"' expect "sound" 0 -- gpt3 --tp 8 --pp 16

echo "Degrees:"
expect "tp does not divide the GPUs" 2 "--tp \* --cp \* --pp must divide 1024, and 7 does not" -- gpt3 --tp 7
expect "product above the GPUs" 2 "--tp \* --cp \* --pp.*1024" -- gpt3 --tp 64 --pp 32
expect "dp contradicts the rest" 2 "dp must be 8" -- gpt3 --tp 8 --pp 16 --dp 3
expect "heads over tp" 2 "heads" -- gpt3 --tp 64 --pp 16
expect "layers over stages" 2 "layers" -- gpt3 --tp 8 --pp 64
expect "layers over virtual stages" 2 "layers" -- gpt3 --tp 8 --pp 16 --schedule interleaved --virtual-stages 4
expect "stage layers of another number" 2 "stage" -- gpt3 --tp 8 --pp 4 --stage-layers 24,24,24
expect "stage layers of another sum" 2 "96" -- gpt3 --tp 8 --pp 4 --stage-layers 24,24,24,25
expect "chunks without interleaving" 2 "interleaved" -- gpt3 --tp 8 --pp 16 --virtual-stages 2
expect "micro-batches over stages" 2 "micro-batches" -- gpt3 --tp 8 --pp 32 --schedule interleaved --virtual-stages 3 --dp 4 --global-batch 36
expect "a batch that does not divide" 2 "global" -- gpt3 --tp 8 --pp 16 --global-batch 1001
expect "a micro-batch that does not divide" 2 "micro" -- gpt3 --tp 8 --pp 16 --micro-batch 5
expect "a 2d grid that is no square" 2 "2d" -- gpt3 --tp 8 --tensor-layout 2d
expect "2.5d deeper than wide" 2 "2.5d" -- gpt3 --tp 16 --tensor-layout 2.5d --tp-depth 4
expect "sides that do not multiply to tp" 2 "--tp-rows" -- gpt3 --tp 8 --tensor-layout 2d --tp-rows 2 --tp-columns 2
expect "a side that does not divide the heads" 2 "--tp-columns" -- gpt3 --tp 128 --tensor-layout 3d --tp-rows 2 --tp-columns 64
expect "a side of 1d" 2 "--tp-rows" -- gpt3 --tp 8 --tp-rows 2
expect "a sequence degree that splits nothing" 2 "--sequence-degree" -- gpt3 --tp 8 --sequence-degree 4
expect "a sequence degree that does not divide" 2 "--sequence-degree" -- gpt3 --tp 8 --sequence-parallel --sequence-degree 5
expect "sequence over cp" 2 "--seq" -- gpt3 --tp 8 --cp 64 --seq 1000
expect "sequence parallel over tp" 2 "--seq" -- gpt3 --tp 8 --sequence-parallel --seq 1001
expect "experts over ep" 2 "ep" -- mixtral --ep 3
expect "ep of a model without experts" 2 "expert" -- gpt3 --ep 2
expect "ep beyond cp * dp" 2 "ep" -- mixtral --tp 16 --pp 2 --ep 8
expect "a shard group that does not divide" 2 "shard" -- gpt3 --tp 8 --pp 16 --zero 2 --shard-group 3
expect "ZeRO-3 of an unknown stage" 2 "write 0, 1, 2 or 3" -- gpt3 --zero 4
expect "longer than the positions" 2 "2048" -- gpt3 --tp 8 --pp 16 --seq 4096

echo "Numbers:"
# each NAME PATTERN VALUES -- COMMAND...: tries each value as `$flag=value` at the end; prints the first row.
each() {
  local flag=$1 pattern=$2 values=() value rows=
  shift 2
  while [ "$1" != -- ]; do values+=("$1"); shift; done
  shift
  for value in "${values[@]}"; do
    expect "$flag $value" 2 "$pattern" -- "$@" "$flag=$value" >row
    if grep -q FAILED row || [ -z "$rows" ]; then cat row; fi
    grep -q FAILED row && failed=1
    rows=yes
  done
  echo "  and so ${values[*]:1}"
}
for flag in tp cp ep pp virtual-stages dp seq micro-batch global-batch vocabulary-multiple tp-depth; do
  each --$flag "--$flag.*no positive whole number" 0 -1 nan inf 1e400 1.5 99999999999999999999 x -- gpt3
done
each --recompute "every:K\|no positive whole number" every every: every:0 every:x every_k -- gpt3
each --bucket "write 25MB" 0 -1 nan inf 1XB 1e400 x -- gpt3
each --shard-group "no whole number" -1 nan 1.5 x -- gpt3
each --prefetch "no whole number" -1 nan 1.5 x -- gpt3
each --gpus "no whole number from 1" 0 -1 nan inf 1e400 1.5 1e8 x -- \
  "$stepscope" predict gpt3-175b --machine a100_sxm_80gb --global-batch 8
each --price "no positive number" 0 -1 nan inf x -- gpt3 --tp 8 --pp 16
each --memory-headroom "headroom" -1% 150% nan x 1 -- plan llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 2048
expect "an absurd tp" 2 "tp" -- gpt3 --tp 9000000000000000000
expect "an absurd micro-batch" 2 "micro" -- gpt3 --micro-batch 9000000000000000000
expect "an absurd sequence" 2 "--seq\|positions" -- "$stepscope" predict llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 9000000000000000000
expect "an absurd product" 2 "tp" -- gpt3 --tp 4000000000 --pp 4000000000 --cp 4000000000
expect "a range backwards" 2 "no number of devices" -- plan llama-3-8b --machine a100_sxm_80gb --gpus 64:8 --global-batch 8 --seq 2048
expect "--fix of no field" 2 "the search does not vary \"tpp\"; did you mean " -- plan llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 2048 --fix tpp=2
expect "--fix of no number" 2 "tp" -- plan llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 2048 --fix tp=x
expect "--max of a word" 2 "schedule" -- plan llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 2048 --max schedule=2
expect "bytes of no unit" 2 "write 1KB:1GB" -- "$stepscope" predict --collective all_reduce --group 8 --machine h100_sxm_80gb --bytes 1KX:1GB

echo "Names:"
expect "an unknown model" 2 "did you mean gpt3-175b" -- "$stepscope" predict gpt-175b --machine a100_sxm_80gb --gpus 8 --global-batch 8
expect "an unknown machine" 2 "did you mean" -- "$stepscope" predict gpt3-175b --machine a100 --gpus 8 --global-batch 8
expect "an unknown term" 2 "did you mean bubble" -- gpt3 --tp 8 --pp 16 --explain bubbles
expect "an unknown collective" 2 "did you mean all_reduce" -- "$stepscope" predict --collective allreduce --group 8 --machine h100_sxm_80gb
expect "a format that the machine lacks" 2 "peak_tflops.fp8" -- gpt3 --tp 8 --pp 16 --dtype fp8
expect "no model" 2 "the model, the machine, " -- "$stepscope" predict
expect "no sequence" 2 "give --seq" -- "$stepscope" predict llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8

echo "Files:"
model='{"name": "m", "source": "s", "layers": 4, "hidden": 512, "heads": 8, "feed_forward": 2048, "vocabulary": 1000, "max_positions": 512'
on() { "$stepscope" predict "$1" --machine a100_sxm_80gb --gpus 1 --global-batch 1; }
try() { printf '%s' "$3" >"$1.json"; expect "$2" 1 "$1.json: .*$4" -- on "$1.json"; }
printf '%s}' "$model" >sound.json
expect "a sound model" 0 -- on sound.json
expect "no such file" 1 "none.json: cannot open: No such file or directory; check the path" -- on none.json
mkdir folder.json
expect "a directory" 1 "folder.json" -- on folder.json
try empty "an empty file" '' "the file is empty"
try cut "a cut file" "${model%,*}" "line 1"
try words "no JSON" "hello" "line 1, column 1"
try list "a list" "[1]" "object"
try unknown "an unknown key" "$model,
 \"layer\": 4}" "line 2, column 2: field \"layer\" is not a field of a model file"
try twice "a key twice" "$model, \"layers\": 5}" "twice"
try text "a number as text" "${model/4,/\"4\",}}" "line 1, column .*layers"
try zero "no layers" "${model/: 4,/: 0,}}" "layers = 0 is out of range"
try negative "negative layers" "${model/: 4,/: -4,}}" "line 1, column .*layers"
try fraction "half a layer" "${model/: 4,/: 4.5,}}" "line 1, column .*layers"
try absurd "absurd layers" "${model/: 4,/: 4000000000000000000000,}}" "line 1, column .*layers"
try nan "NaN" "${model/: 4,/: NaN,}}" "line 1, column"
try heads "heads that do not divide" "${model/\"heads\": 8/\"heads\": 7}}" "head"
try kv "key-value heads that do not divide" "$model, \"kv_heads\": 3}" "kv_heads"
try count "another number of parameters" "$model, \"parameters\": 5}" "parameters"
try norm "an unknown norm" "$model, \"norm\": \"batch\"}" "norm"
try hf "an unknown architecture" '{"model_type": "rwkv", "hidden_size": 8}' "rwkv"

printf '{\n  "tp": 8,\n  "tq": 1\n}' >plan.json
expect "a plan's unknown key" 1 "plan.json: line 3, column 3.*tq" -- gpt3 --plan plan.json
printf '{"tp": "8"}' >plan.json
expect "a plan's number as text" 1 "plan.json: line 1.*tp" -- gpt3 --plan plan.json
printf '{"tp": -8}' >plan.json
expect "a plan's negative number" 1 "plan.json: line 1.*tp" -- gpt3 --plan plan.json
printf '{"schedule": "zb-v"}' >plan.json
expect "a plan's unknown schedule" 1 "plan.json: line 1.*schedule" -- gpt3 --plan plan.json
printf '{"train_batch_size": 1536, "zero_optimisation": {"stage": 1}}' >ds.json
expect "a DeepSpeed key misspelt" 1 "ds.json: line 1.*zero_optimi" -- gpt3 --tp 8 --pp 16 --ds-config ds.json
printf '{"train_batch_size": 1537}' >ds.json
expect "a DeepSpeed batch that does not divide" 1 "ds.json.*1537" -- gpt3 --tp 8 --pp 16 --ds-config ds.json
printf '{"train_batch_size": 1536, "zero_optimization": {"stage": 7}}' >ds.json
expect "a DeepSpeed stage that is none" 1 "ds.json: line 1.*stage" -- gpt3 --tp 8 --pp 16 --ds-config ds.json

machine() { "$stepscope" predict llama-3-8b --machine "$1" --gpus 1 --global-batch 1 --seq 512; }
mach() { printf '%s' "$3" >"$1.json"; expect "$2" "${@:4}" -- machine "$1.json"; }
m='{"name": "x", "sources": ["s"], "peak_tflops": {"bf16": 300}, "memory_gb": 400, "memory_gb_per_s": 2000'
mach m0 "a sound machine" "$m}" 0
mach m1 "a machine's unknown key" "$m,
 \"memory_gbs\": 5}" 1 "m1.json: line 2, column .*memory_gbs"
mach m2 "a machine's unknown unit" "$m, \"host\": {\"gbit_per_s\": 5}}" 1 "m2.json: line 1, column .*gbit_per_s"
mach m3 "a negative rate" "${m/2000/-2000}}" 1 "m3.json: line 1, column .*memory_gb_per_s"
mach m4 "a rate of NaN" "${m/2000/NaN}}" 1 "m4.json: line 1, column"
mach m5 "no sources" '{"name": "x", "peak_tflops": {"bf16": 300}, "memory_gb_per_s": 2000}' 1 "m5.json: .*sources"
mach m6 "no memory rate" "${m/, \"memory_gb_per_s\": 2000/}}" 2 "lacks memory_gb_per_s"

echo "Memory:"
says='"fits":false' expect "a plan that does not fit" 1 "the plan does not fit: each device lacks" -- \
  "$stepscope" predict gpt3-175b --machine a100_sxm_80gb --gpus 8 --tp 8 --global-batch 8 --json out.json
says="TOO MUCH" expect "host memory that does not suffice" 1 "of host memory" -- \
  "$stepscope" predict gpt3-175b --machine a100_sxm_80gb --gpus 8 --tp 8 --global-batch 8 --offload optimizer=host,gradients=host,parameters=host
expect "offload without a host link" 2 "lacks host.gb_per_s_per_direction" -- \
  "$stepscope" predict llama-3-8b --machine gb200 --gpus 4 --gpus-per-node 4 --global-batch 4 --seq 512 --offload optimizer=host
expect "drives without rates" 2 "lacks nvme.read_gb_per_s" -- \
  "$stepscope" predict llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 512 --offload optimizer=nvme
says='"smallest_devices":[0-9]' expect "a model that fits nowhere" 1 "no plan can run on the devices of --gpus; give --gpus [0-9]*, where one fits" -- \
  plan gpt3-175b --machine a100_sxm_80gb --gpus 2 --global-batch 8 --json out.json
expect "a degree that nothing allows" 1 "no plan can run on the devices of --gpus; " -- \
  plan gpt3-175b --machine a100_sxm_80gb --gpus 8 --global-batch 7 --fix dp=8

exit $failed
