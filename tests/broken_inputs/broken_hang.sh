#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_hang.sh STEPSCOPE: broken dumps and logs, and the remaining answers. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

hang() { "$stepscope" hang "$@" --json out.json; }

# dump RANK N: prints a JSON dump of N calls.
dump() {
  local entries="" i
  for i in $(seq "$2"); do
    entries+="${entries:+,}{\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":$i,\"profiling_name\":\"nccl:all_reduce\",\"input_sizes\":[[4]],\"output_sizes\":[[4]],\"state\":\"started\"}"
  done
  echo "{\"version\":\"2.5\",\"pg_config\":{\"0\":{\"desc\":\"default_pg\",\"ranks\":\"[0, 1]\"}},\"entries\":[$entries]}"
}
dump 0 3 >rank0.json
dump 1 2 >rank1.json
says='Rank 1 is missing in all_reduce 3 of default_pg' expect "two dumps" 0 -- hang rank0.json rank1.json
gzip -k rank0.json
says='Rank 1 is missing' expect "a compressed dump" 0 -- hang rank0.json.gz rank1.json
mkdir -p both && cp rank0.json rank1.json both && echo hello >both/notes.txt
says='Rank 1 is missing' expect "a directory with other files" 0 -- hang both
says='of rank 1 nothing is recorded' expect "one dump of two" 0 -- hang rank0.json
: >empty
expect "an empty file" 1 "empty: the file is empty; dump or log again" -- hang empty
says='Rank 1 is missing' expect "the others are still answered" 1 "empty: the file is empty" -- hang rank0.json rank1.json empty
expect "no such file" 1 "missing: cannot open: No such file" -- hang missing
echo "step 1 loss 2" >text.log
expect "a log of other things" 1 \
  "text.log: has no lines of NCCL, no messages of a watchdog and no error that ends a process; give the output of .*NCCL_DEBUG=INFO" \
  -- hang text.log
printf '\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.' >rank_2
expect "a pickle that runs a program" 1 "rank_2: byte 2: holds more than plain data: opcode GLOBAL (0x63) of os.system; nothing of it was run" -- hang rank_2
printf '\x80\x02}(X\x07\x00\x00\x00ver' >rank_3
expect "a pickle cut short" 1 "rank_3: byte [0-9]*: ends in the middle of a value" -- hang rank_3
printf '\x80\x02]q\x00h\x00a.' >rank_4
expect "a pickle of itself" 1 "rank_4: byte .*a value that contains itself" -- hang rank_4
printf '\x80\x02}.' >rank_5
expect "a pickle of something else" 1 "rank_5: is plain data, and no dump of a flight recorder" -- hang rank_5
echo '{"segments":[],"device_traces":[]}' >rank6.json
expect "a memory snapshot" 1 "rank6.json: is a memory snapshot, and no dump" -- hang rank6.json
echo '{"version":"9.1","entries":[]}' >rank7.json
expect "a dump of the future" 1 "rank7.json: is a flight recorder's dump of version 9.1" -- hang rank7.json
echo '{"version":"2.5","entries":[' >rank8.json
expect "a cut JSON dump" 1 "rank8.json: byte [0-9]*: ends in the middle of a value" -- hang rank8.json
expect "no dump of a rank twice" 1 "is another dump of rank 0; give one dump a rank" -- hang rank0.json both
at='h:1:1 [0] NCCL INFO'
printf '%s comm 0xa rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n' "$at" >nccl.log
says='the logs have no calls' expect "a log without calls" 0 -- hang nccl.log
printf '%s AllReduce: opCount 0 sendbuff 0x1 recvb' "$at" >>nccl.log
says='other_lines_of_nccl\|calls_cut' expect "a log cut short" 0 -- hang nccl.log
head -c 20 rank0.json.gz >rank9.json.gz
expect "a compressed dump cut short" 1 "rank9.json.gz: " -- hang rank9.json.gz
expect "nothing named" 2 "FILES" -- hang

exit $failed
