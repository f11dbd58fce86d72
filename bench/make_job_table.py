#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_job_table.py DP PP BATCHES STEPS >trace-NAME.csv: a job's table of operations for bench/replay: a
one-forward-one-backward pipeline with noise in every duration, as its own rules make it run."""
import csv
import random
import sys

DP, PP, BATCHES, STEPS = map(int, sys.argv[1:5])
USUAL = {"forward-compute": 0.05, "backward-compute": 0.1, "optimizer": 0.02, "gc": 0.0, "params-all-gather": 0.02,
         "grads-reduce-scatter": 0.03, "optimizer-clip-main-grad": 0.001, "embedding-grads-all-reduce": 0.002,
         "layernorm-grads-all-reduce": 0.0001}
draw = random.Random(1)


def lasts(op):
    return USUAL.get(op, 0.0004) * draw.uniform(0.9, 1.3)


def order(stage):
    ahead = min(PP - stage - 1, BATCHES)
    ops = [("forward-compute", i) for i in range(ahead)]
    for i in range(BATCHES):
        if i + ahead < BATCHES:
            ops.append(("forward-compute", i + ahead))
        ops.append(("backward-compute", i))
    return ops


def pipeline(begin, row):
    """Runs the computes of all stages of one DP rank. Returns the stages' end times."""
    free = [begin] * PP          # of each stage's compute
    ready = {}                   # (op, batch, stage): when its input is ready
    todo = [order(s) for s in range(PP)]
    stream = {}                  # last end of each stage's send and receive streams
    while any(todo):
        moved = False
        for s in range(PP):
            if not todo[s]:
                continue
            op, i = todo[s][0]
            forward = op == "forward-compute"
            outer = s == 0 if forward else s == PP - 1
            if not outer and (op, i, s) not in ready:
                continue
            todo[s].pop(0)
            moved = True
            start = free[s] if outer else max(free[s], ready[op, i, s])
            free[s] = end = start + lasts(op)
            row(s, op, start, end, i, i, s)
            to = s + 1 if forward else s - 1
            if not 0 <= to < PP:
                continue
            kind = op.split("-")[0]
            sent = max(end, stream.get((kind, s), 0))
            got = max(stream.get((kind + "r", to), 0), begin)
            both = max(sent, got) + lasts("p2p")
            row(s, kind + "-send", sent, both, i)
            row(to, kind + "-recv", got, both, i)
            stream[kind, s] = stream[kind + "r", to] = both
            ready[op, i, to] = both
        assert moved
    return free


out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow("dp_rank stage rank step optype start_ts duration seq_id mc mb_id gmc".split())
at = 10.0
for step in range(STEPS):
    def row_of(dp):
        def row(s, op, start, end, seq, mb=-1, gmc=-1):
            mc = 0 if mb >= 0 or "params" in op or "scatter" in op else -1
            out.writerow([dp, s, s * DP + dp, step, op, repr(start), repr(end - start), seq, mc, mb, gmc])
        return row

    gathered = at + lasts("params-all-gather")
    done = {}
    for dp in range(DP):
        for s in range(PP):
            row_of(dp)(s, "params-all-gather", at, gathered, 0)
        for s, t in enumerate(pipeline(gathered, row_of(dp))):
            for op in ("gc", "layernorm-grads-all-reduce"):
                end = t + lasts(op)
                row_of(dp)(s, op, t, end, 0)
                t = end
            done[dp, s] = t
    for dp in range(DP):
        ends = {s: done[dp, s] for s in {0, PP - 1}}
        both = max(ends.values()) + lasts("embedding-grads-all-reduce")
        for s, t in ends.items():
            row_of(dp)(s, "embedding-grads-all-reduce", t, both, 0)
            done[dp, s] = both
    for s in range(PP):
        both = max(done[dp, s] for dp in range(DP)) + lasts("grads-reduce-scatter")
        for dp in range(DP):
            row_of(dp)(s, "grads-reduce-scatter", done[dp, s], both, 0)
            done[dp, s] = both
    clipped = max(done.values()) + lasts("optimizer-clip-main-grad")
    for (dp, s), t in done.items():
        row_of(dp)(s, "optimizer-clip-main-grad", t, clipped, 0)
        end = clipped + lasts("optimizer")
        row_of(dp)(s, "optimizer", clipped, end, 0)
        at = max(at, end)
    at += 0.01
