#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_gpu_logs.sh STEPSCOPE: broken logs of GPUs with a sound trace; checks that the trace is analysed, and what is
# said of the log. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

trace() {
  printf '{"distributedInfo": {"rank": 0, "world_size": 1}, "baseTimeNanoseconds": 1700000000000000000,\n'
  printf '"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": [\n'
  for n in 1 2 3; do
    local at=$((100000 * n))
    printf '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%s","pid":10,"tid":11,"ts":%s,"dur":100000},\n' $n $at
    printf '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":%s,"dur":10,' $((at + 100))
    printf '"args":{"correlation":%s}},\n' $n
    printf '{"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":%s,"dur":90000,' $((at + 200))
    printf '"args":{"correlation":%s,"device":0,"stream":7}},\n' $n
  done
  printf '{"ph":"M","name":"process_name","pid":10,"args":{"name":"python"}}]}\n'
}
names="timestamp, index, clocks.sm [MHz], power.draw [W]"
# rows: 50 ms apart, from before the first step to after the last
rows() { for ms in $(seq -w 0 50 950); do echo "2023/11/14 22:13:20.$ms, 0, 1980 MHz, 500.00 W"; done; }
log() { echo "$names"; rows; }
analyze() { "$stepscope" analyze rank0.json "$@" --json out.json; }

trace >rank0.json
log >smi.csv
ranks=1 says='"matched_by":"index"' expect "sound log" 0 -- analyze smi.csv
gzip -k smi.csv
ranks=1 says='"matched_by":"index"' expect "compressed" 0 -- analyze smi.csv.gz
mkdir folder && cp rank0.json smi.csv folder
says='"matched_by":"index"' expect "in a directory" 0 -- "$stepscope" analyze folder --json out.json
says="UTC, the only zone that fits" expect "its text" 0 -- "$stepscope" analyze -v folder
dd if=smi.csv.gz of=cut.csv.gz bs=1 count=150 2>/dev/null
ranks=1 says="damaged_compression" expect "cut while compressed" 0 -- analyze cut.csv.gz
rows >bare.csv
ranks=1 says="record without noheader" expect "no line of names" 0 -- analyze bare.csv
log | cut -d, -f1,3- >one.csv
ranks=1 says="do not tell which GPU" expect "no index and no uuid" 0 -- analyze one.csv
log | cut -d, -f2- >never.csv
ranks=1 says="without their times" expect "no times" 0 -- analyze never.csv
echo "$names" >empty.csv
ranks=1 says="without a reading" expect "names alone" 0 -- analyze empty.csv
log | sed 's/1980 MHz/[N\/A]/; s/500.00 W/[Not Supported]/' >absent.csv
ranks=1 says="20 no_reading" expect "no value in any row" 0 -- analyze absent.csv
log | sed '5s/^[^,]*,/yesterday,/; 7s/, [^,]*$//; 9s/, 0,/, x,/' >holes.csv
ranks=1 says='"no_gpu":1,"no_time":1,"wrong_cell_count":1' expect "rows that cannot be used" 0 -- analyze holes.csv
log | sed 's/2023/2024/' >year.csv
ranks=1 says="no zone of the world joins them" expect "another year" 0 -- analyze year.csv
ranks=1 says="no reading lies in the captures" expect "another zone" 0 -- analyze smi.csv --gpu-log-zone +05:00
expect "a zone that is none" 2 "write UTC, or the distance from it" -- analyze smi.csv --gpu-log-zone CET
printf '#Entity   SMCLK\nID\nGPU 0     1980\n' >dcgmi.txt
ranks=1 says="which dcgmi does not write" expect "dcgmi without times" 0 -- analyze dcgmi.txt
printf '# gpu    pwr   pclk\n# Idx      W    MHz\n    0    612   1980\n' >dmon.txt
ranks=1 says="dmon -o DT" expect "dmon without times" 0 -- analyze dmon.txt
printf 'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a"} 1980\n' >dcgm.prom
ranks=1 says="dump-openmetrics" expect "metrics without times" 0 -- analyze dcgm.prom
head -c 3000000 /dev/zero | tr '\0' 'x' >long
{ echo "$names"; cat long; echo; rows; } >long.csv
ranks=1 says='"readings":20' expect "a line of 3 MB" 0 -- analyze long.csv
expect "a log alone" 1 "smi.csv: a log of GPUs, which tells nothing without the traces" -- \
  "$stepscope" analyze smi.csv --json out.json
exit $failed
