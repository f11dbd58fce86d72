#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_memory.sh STEPSCOPE: broken memory snapshots, and the remaining answers. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

memory() { "$stepscope" memory "$@" --json out.json; }

block='{"size":1048576,"requested_size":1000000,"state":"active_allocated","frames":[{"name":"f","filename":"a.py","line":3}]}'
free='{"size":1048576,"requested_size":0,"state":"inactive","frames":[]}'
segment="{\"device\":0,\"address\":4096,\"total_size\":2097152,\"stream\":0,\"segment_type\":\"small\",\"blocks\":[$block,$free]}"
echo "{\"segments\":[$segment],\"device_traces\":[[]]}" >now.json
says='At the snapshot device 0 holds 1.05 MB' expect "a snapshot without history" 0 -- memory now.json
gzip -k now.json
says='holds 1.05 MB' expect "a compressed one" 0 -- memory now.json.gz
mkdir -p all && cp now.json all && echo hello >all/notes.txt
says='holds 1.05 MB' expect "a directory with other files" 0 -- memory all
echo "[$segment]" >segments.json
says='holds 1.05 MB' expect "segments alone" 0 -- memory segments.json
echo "{\"segments\":[$segment],\"device_traces\":[[{\"action\":\"free_completed\",\"addr\":1052672,\"size\":9,\"stream\":0}]]}" >middle.json
says='the history begins in the middle' expect "a history that begins in the middle" 0 -- memory middle.json
sed 's/,"frames":\[{[^]]*\]/,"frames":[]/' now.json >bare.json
says='no stacks are recorded' expect "a snapshot without stacks" 0 -- memory bare.json
echo "{\"segments\":[$segment],\"device_traces\":[[{\"action\":\"alloc\",\"addr\":4096,\"size\":9,\"stream\":0},{\"action\":\"waltz\"},{\"action\":\"alloc\",\"size\":-1}]]}" >odd.json
says='events of unknown action: 1' expect "events that are not understood" 0 -- memory odd.json
echo '{"segments":[],"device_traces":[]}' >nothing.json
says='nothing is allocated' expect "nothing allocated" 0 -- memory nothing.json
: >empty
expect "an empty file" 1 "empty: byte 0: the file is empty; record one with torch.cuda.memory._dump_snapshot" -- memory empty
says='holds 1.05 MB' expect "the others are still answered" 1 "empty: byte 0: the file is empty" -- memory now.json empty
expect "no such file" 1 "missing: cannot open: No such file" -- memory missing
head -c 100 now.json >cut.json
expect "cut JSON" 1 "cut.json: byte [0-9]*: ends in the middle of a" -- memory cut.json
head -c 40 now.json.gz >cut.json.gz
expect "a compressed one cut short" 1 "cut.json.gz: " -- memory cut.json.gz
printf '\x80\x02}X\x08\x00\x00\x00segmentscos\nsystem\nX\x02\x00\x00\x00id\x85Rs.' >run.pickle
expect "a pickle that runs a program" 1 "run.pickle: byte 16: holds more than plain data: opcode GLOBAL (0x63) of os.system; nothing of it was run" -- memory run.pickle
printf '\x80\x02}X\x08\x00\x00\x00segm' >cut.pickle
expect "a pickle cut short" 1 "cut.pickle: byte [0-9]*: ends in the middle of a value" -- memory cut.pickle
echo '{"version":"2.5","entries":[]}' >dump.json
expect "a flight recorder's dump" 1 "dump.json: is no memory snapshot: it has no segments" -- memory dump.json
echo '<!DOCTYPE html><p>hello' >page.html
expect "a page of something else" 1 "page.html: is a page without a snapshot in it" -- memory page.html
printf '<!DOCTYPE html><script>[{"name": "s", "base64": "%s"}]' "$(base64 -w0 run.pickle)" >run.html
expect "a page that hides a program" 1 "run.html: byte 16: holds more than plain data" -- memory run.html
printf '<!DOCTYPE html><script>[{"name": "s", "base64": "%s"}]' "$(base64 -w0 now.json)" >now.html
says='holds 1.05 MB' expect "a page" 0 -- memory now.html
expect "nothing named" 2 "SNAPSHOT" -- memory

exit $failed
