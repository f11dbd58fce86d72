#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Named pipes without a writer, and decompression bombs, for each verb that reads files. A verb that waited for a writer
# would be ended by the timeout with 124.
# broken_pipes.sh STEPSCOPE
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

mkfifo pipe pipe.json
printf 'a;b 5\n' >stacks.txt
seq 1 3000 >text.txt
head -c 200000000 /dev/zero | tr '\0' '1' | gzip -1 >bomb.gz
cp bomb.gz bomb.json.gz

no_file="is no regular file; write it to a file first"
within() { timeout 20 "$stepscope" "$@"; }
for verb in analyze check hang memory stacks whatif; do
  expect "$verb of a pipe" 1 "pipe: $no_file" -- within $verb pipe
done
expect "compare of pipes" 1 "pipe: $no_file" "pipe: $no_file" -- within compare pipe pipe
expect "calibrate from a pipe" 1 "pipe: $no_file" -- within calibrate --from pipe out.json
expect "a model in a pipe" 1 "pipe: $no_file" -- within predict ./pipe --machine h100_sxm_80gb --gpus 8
expect "a machine in a pipe" 1 "pipe.json: $no_file" -- within predict gpt2 --machine pipe.json --gpus 8
expect "rules in a pipe" 1 "pipe: $no_file" -- within stacks stacks.txt --rules pipe
if "$stepscope" help train | grep -q "has no engine"; then
  no_engine="train: this build of stepscope has no engine; build it with -DSTEPSCOPE_ENGINE=ON"
  expect "training without an engine" 2 "$no_engine" -- within train --steps 1
  expect "measuring without an engine" 2 "calibrate without --from measures this machine: this build has no engine.*" -- within calibrate out.json
else
  expect "training data in a pipe" 1 "pipe: .*$no_file" -- within train --data pipe --steps 1 --ranks 1
  expect "weights in a pipe" 1 "pipe: .*$no_file" -- within train --data text.txt --init-from pipe --steps 1 --ranks 1
fi

bomb="byte [0-9]*: inflates to more than 100 times its size, as a decompression bomb does; decompress it"
for verb in check hang; do expect "$verb of a bomb" 1 "$bomb" -- within $verb bomb.gz; done
{ printf '['; head -c 200000000 /dev/zero | tr '\0' '1'; } | gzip -1 >list.json.gz
expect "memory of a bomb" 1 "is no memory snapshot: it has no segments" -- within memory list.json.gz
expect "memory of a bomb that is no snapshot" 1 "bomb.gz: byte 0: is no memory snapshot" -- within memory bomb.gz
expect "stacks of a bomb" 1 "is no profile that is known" -- within stacks bomb.gz
expect "analyze of a bomb" 1 "byte 0: this is no JSON object" -- within analyze bomb.json.gz

exit $failed
