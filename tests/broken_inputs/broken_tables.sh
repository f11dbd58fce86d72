#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# broken_tables.sh STEPSCOPE: broken tables of a job's operations; checks the exit code, standard error, and the
# remaining answer. Prints the table.
# shellcheck source=tests/broken_inputs/expect.sh
. "$(dirname "$0")/expect.sh"

# table STEPS: two DP ranks of one stage; a step is forward, backward, reduce-scatter and optimizer; DP rank 1 is slow.
table() {
  echo "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc"
  for ((step = 0; step < $1; ++step)); do
    for dp in 0 1; do
      local at=$((10 * step)) forward=$((1 + 2 * dp))
      echo "$dp,0,$dp,$step,forward-compute,$at,$forward,0,0,0,0"
      echo "$dp,0,$dp,$step,backward-compute,$((at + forward)),2,0,0,0,0"
      echo "$dp,0,$dp,$step,grads-reduce-scatter,$((at + forward + 2)),$((4 - forward)),0,0,-1,-1"
      echo "$dp,0,$dp,$step,optimizer,$((at + 6)),1,0,-1,-1,-1"
    done
  done
}
meta() { printf 'trial_name: T\ndp_size: %s\npp_size: 1\ntp_size: 1\nworld_size: %s\n' "$1" "$2"; }
job() { "$stepscope" analyze "$@" --json out.json; }

table 3 >trace-T.csv
meta 2 2 >meta-T.yaml
# 3 + 2 + 1 + 1 s. The ideal (1 + 3) / 2 + 2 + 2 (the median of transfers 1, 1 …) is in the sentence.
says='"m_w":1' expect "sound table" 0 -- job trace-T.csv
says="rank 1" expect "its text" 0 -- "$stepscope" analyze trace-T.csv
mkdir -p folder && cp trace-T.csv meta-T.yaml folder
says='"straggler_job":{' expect "a directory" 0 -- job folder

says="no meta file (meta-U.yaml)" expect "no meta file" 0 -- bash -c "cp trace-T.csv trace-U.csv; '$stepscope' analyze trace-U.csv"
table 3 >trace-W.csv
meta 2 3 >meta-W.yaml
says='"straggler_job":{' expect "a wrong world size" 1 "meta-W.yaml: byte 0: world_size 3 is not dp_size x" -- job trace-W.csv
printf 'dp_size: [2]\n' >meta-W.yaml
says='"straggler_job":{' expect "a meta file of other YAML" 1 "meta-W.yaml: byte 0: a flow list of the key dp_size" -- \
  job trace-W.csv
rm meta-W.yaml

meta 2 2 >meta-X.yaml
table 1 >trace-X.csv
says="one step only" expect "one step" 0 -- job trace-X.csv
table 3 | sed '3s/,2,0/,two,0/' >trace-X.csv
says="1 rows are not used (not_a_number), the first at byte 105" expect "a cell that is no number" 0 -- job trace-X.csv
table 3 | sed '/^1,0,1,1,backward/d' >trace-X.csv
says="step 1 is left out: its DP rank 1 lacks backward-compute 0 of stage 0" expect "a missing member" 0 -- job trace-X.csv
table 3 | sed '/^1,0,1,[012],opt/d' >trace-X.csv
says="DP rank 1 is left out" expect "ranks of different operations" 0 -- job trace-X.csv
table 3 | sed 's/,nap,/,gc,/; s/optimizer/nap/' >trace-X.csv
says="unknown_optype" expect "an unknown operation" 0 -- job trace-X.csv
table 2 | sed 's/,forward-compute,\([0-9]*\),/,forward-compute,9\1,/' >trace-X.csv
says="operations that start before what they wait for" expect "a broken clock" 0 -- job trace-X.csv
table 3 | head -1 >trace-X.csv
expect "a header alone" 1 "trace-X.csv: the table has no operations" -- job trace-X.csv
table 3 | cut -d, -f1-10 >trace-X.csv
expect "a missing column" 1 "trace-X.csv: byte 0: the table lacks the column gmc" -- job trace-X.csv
table 40 | gzip | head -c 200 >trace-X.csv.gz
expect "a cut table" 1 "trace-X.csv.gz: gzip" -- job trace-X.csv.gz
printf 'PAR1\0\0\0\0nothing' >trace-X.parquet
expect "a cut Parquet file" 1 "trace-X.parquet: byte 15: Parquet: the file does not end in PAR1" -- job trace-X.parquet
rm trace-X.csv.gz trace-X.parquet

cp trace-T.csv folder/trace-V.csv
expect "two jobs" 1 "trace-T.csv: 2 tables of operations, folder/trace-V.csv among them; " -- job folder
echo '{"traceEvents": []}' >rank0.json
expect "a table and a trace" 1 "trace-T.csv: a job's table of operations is analysed alone; " -- job trace-T.csv rank0.json
expect "a flag for traces" 2 "\-\-csv is for traces" -- job trace-T.csv --csv out

exit $failed
