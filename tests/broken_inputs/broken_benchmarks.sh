#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_benchmarks.sh STEPSCOPE: benchmark outputs that calibrate --from cannot use fully. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

calibrate() { rm -f out.json; "$stepscope" calibrate out.json "$@"; }

# ranks N HOSTS: prints the rank lines of nccl-tests.
ranks() { for i in $(seq 0 $(($1 - 1))); do echo "#  Rank  $i Group  0 Pid 1$i on host$((i % $2)) device  0 [0x07] NVIDIA H100 80GB HBM3"; done; }
title='#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong'
# rows FACTOR: prints times of 20 us + S / 200 GB/s, with busbw = FACTOR algbw.
rows() { for k in $(seq 14 28); do awk -v s=$((1 << k)) -v f="$1" 'BEGIN { t = 20 + s / 200e3; a = s / t / 1e3; printf "%d %d float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f N/A\n", s, s / 4, t, a, a * f, t * 1.01, a / 1.01, a * f / 1.01 }'; done; }

{ echo '# Collective test starting: all_reduce_perf'; ranks 8 1; echo "$title"; rows 1.75; } >all_reduce.txt
says='8 ranks on 1 host, 30 times' expect "nccl-tests" 0 -- calibrate --from all_reduce.txt
says='"switch_reduction"\|"timing"' expect "and its machine file" 0 -- calibrate --from all_reduce.txt
{ ranks 8 1; echo "$title"; rows 1.75; } >unnamed.txt
says='all_reduce of nccl-tests, 8 ranks' expect "a test without its name" 0 -- calibrate --from unnamed.txt
sed 's/ 0 \([0-9.]* [0-9.]* [0-9.]* N.A\)/ 7 \1/' all_reduce.txt >wrong.txt
says='rows with wrong results: 15' expect "wrong results" 0 -- calibrate --from wrong.txt
{ echo all_reduce_perf; ranks 6 4; echo "$title"; rows 1.67; } >uneven.txt
expect "ranks unevenly on hosts" 1 "uneven.txt: has ranks unevenly on its hosts" -- calibrate --from uneven.txt
{ echo all_reduce_perf; ranks 1 1; echo "$title"; rows 0; } >alone.txt
expect "one rank" 1 "alone.txt: is of one rank" -- calibrate --from alone.txt
sed 's/NVIDIA H100 80GB HBM3/GeForce 256/' all_reduce.txt >device.txt
expect "a device that nobody knows" 1 "device.txt: is of a GeForce 256" -- calibrate --from device.txt
says='8 ranks' expect "and a machine for it" 0 -- calibrate --from device.txt --machine h100_sxm_80gb
{ echo '# OSU MPI-CUDA Allreduce Latency Test v7.4'; echo '# Size       Avg Latency(us)'; for k in $(seq 3 20); do echo "$((1 << k)) $((20 + (1 << k) / 20000))"; done; } >osu.txt
expect "OSU without a machine" 2 "no file says on which machine" -- calibrate --from osu.txt
expect "OSU without ranks" 1 "osu.txt: does not say how many ranks it had; give --ranks N" -- calibrate --from osu.txt --machine h100_sxm_80gb
says='4 ranks on 2 hosts' expect "OSU with them" 0 -- calibrate --from osu.txt --machine h100_sxm_80gb --ranks 4 --nodes 2
head -c 700 all_reduce.txt >cut.txt
expect "no row" 1 "cut.txt: has no measured row" -- calibrate --from cut.txt
expect "one file of two" 1 "missing.txt: cannot open: No such file" -- calibrate --from all_reduce.txt missing.txt
expect "a machine without benchmarks" 2 "are of benchmarks" -- calibrate --machine h100_sxm_80gb
exit $failed
