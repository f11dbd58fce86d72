# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulation of jobs, without the program: jobs.py --self-test.

They hold what a job did against what must hold in any: begins follow their causes, streams and threads do one thing
at a time, collectives end together, faults cost what the difference says, and files say what was simulated."""
import dataclasses
import gzip
import json
import os
import random
import tempfile

import jobs
import jobs_draw
import jobs_kineto
import jobs_training
from jobs_simulation import Graph

CLOSE = 1e-6  # us, of sums of doubles


def expect(condition, what):
    if not condition:
        raise SystemExit("jobs_test: " + what)


def hand_made_graph():
    """Two ranks of one kernel and one collective, times by hand."""
    g = Graph()
    early, late = g.node(10.0, []), g.node(30.0, [])
    a, b = g.node(0.0, [(early, 2.0)]), g.node(0.0, [(late, 2.0)])
    join = g.node(5.0, [(a, 0.0), (b, 0.0)])
    ends = [g.node(0.0, [(join, 0.25)]), g.node(0.0, [(join, 0.5)])]
    g.run()
    expect([g.end[n] for n in (a, b, join, *ends)] == [12.0, 32.0, 37.0, 37.25, 37.5], "a hand-made graph")
    g.edge(ends[0], a)
    try:
        g.run()
    except RuntimeError:
        return
    expect(False, "a circle of waits is no deadlock")


def causes(graph):
    """Each node begins when the last of its causes allows; along these the times of the job's last node add up."""
    binding = {}
    for p, after in enumerate(graph.after):
        for n, lag in after:
            expect(graph.begin[n] >= graph.end[p] + lag - CLOSE, "a node begins before its cause ended")
            if graph.begin[n] == graph.end[p] + lag:
                binding[n] = (p, lag)
    expect(all(n in binding or graph.begin[n] == 0.0 for n in range(len(graph.took))), "a node begins without a cause")
    n = max(range(len(graph.took)), key=graph.end.__getitem__)
    last, total = graph.end[n], graph.took[n]
    while n in binding:
        n, lag = binding[n]
        total += graph.took[n] + lag
    expect(abs(total - last) < 1e-3, "the critical path sums to %.3f of %.3f us" % (total, last))


def meetings(job, graph, joins):
    """Members of a collective are those of its group, and end together, the transfer after the last arrived."""
    for key, members in joins.members.items():
        expect(len({rank for rank, _, _ in members}) == job.members_of(key), "a collective lacks a member")
        if len(key) == 2:
            expect({rank for rank, _, _ in members} == job.groups[key[0]].members, "a stranger in a collective")
        begin, node = max(graph.end[a] for _, a, _ in members), joins.nodes[key]
        expect(abs(graph.begin[node] - begin) < CLOSE, "a transfer does not begin at the last arrival")
        if len(key) == 2:
            ends = [graph.end[e] for _, _, e in members]
            expect(0.0 < min(ends) - graph.end[node] and max(ends) - graph.end[node] < 4.0,
                   "the ends of a collective differ")


def one_at_a_time(ranks, graph):
    for r in ranks:
        streams = {}
        for row in r.device_rows:
            if row[0] != "cuda_sync":
                begin = graph.begin[row[4]] if row[3] == row[4] else graph.end[row[3]]
                streams.setdefault(row[2], []).append((begin, graph.end[row[4]]))
        for spans in streams.values():
            expect(all(a[1] <= b[0] + CLOSE for a, b in zip(spans, spans[1:])), "kernels of a stream overlap")


def instant(text):
    """Microseconds with three decimals as whole nanoseconds, which a double cannot hold since the epoch."""
    whole, point, rest = text.partition(".")
    return int(whole + rest) if point and len(rest) == 3 and rest.isdigit() else float(text)


def nested(events):
    """Rows of one thread lie inside each other or apart."""
    threads = {}
    for e in events:
        if e["ph"] == "X" and e.get("cat") in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"):
            threads.setdefault(e["tid"], []).append((e["ts"], -e["dur"], e["name"]))
    for rows in threads.values():
        rows.sort()
        stack = []
        for ts, dur, name in rows:
            while stack and stack[-1][0] <= ts:
                stack.pop()
            expect(not stack or ts - dur <= stack[-1][0], "%s ends after %s around it" % (name, stack and stack[-1][1]))
            stack.append((ts - dur, name))


def written(job, ranks, graph, folder):
    """The files: one per rank, each step once, each kernel with its launch before it, on the rank's own clock."""
    jobs_kineto.write_traces(job, ranks, graph, folder)
    files = sorted(os.listdir(folder))
    expect(len(files) == job.world, "not one file per rank")
    ends = {}
    for r in ranks:
        with open(os.path.join(folder, jobs_kineto.file_name(job, r.number)), "rb") as f:
            text = f.read()
        trace = json.loads(gzip.decompress(text) if job.style["gzip"] else text, parse_float=instant)
        events = trace["traceEvents"]
        expect(trace["distributedInfo"]["rank"] == r.number, "another rank's file")
        steps = [e["name"] for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
        first = job.late.get(r.number, 0)
        last = job.steps - (r.number in job.short)
        expect(sorted(steps) == sorted("ProfilerStep#%d" % (job.first_step + n) for n in range(first, last)),
               "the steps of rank %d are %s" % (r.number, steps))
        nested(events)
        calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
        for e in events:
            if e.get("cat") not in ("kernel", "gpu_memcpy"):
                continue
            call = calls.get(e["args"]["correlation"])
            expect(call is not None or first, "a kernel without its launch")
            expect(call is None or call["ts"] < e["ts"], "a kernel begins before its launch")
            if e["args"].get("Collective name") in ("allreduce", "_allgather_base"):
                offset, drift = job.clock[r.number]
                at = ((e["ts"] + e["dur"] - jobs_kineto.origin_of(job)) / 1000 - offset) / (1.0 + drift)
                ends.setdefault((e["args"]["Process Group Name"], e["args"]["Process Group Ranks"]), {}).setdefault(
                    r.number, []).append(at)
    if job.late or job.short:
        return
    for ranks_ends in ends.values():
        for together in zip(*ranks_ends.values()):
            expect(max(together) - min(together) < 5.0, "a collective's ends on the ranks' clocks do not agree")


def repeated(draw, seed):
    """The same seed gives the same job and the same times; the fault alone makes the difference."""
    a, b = draw(random.Random(seed)), draw(random.Random(seed))
    expect(a[1:] == b[1:], "a seed gives two jobs")
    job, fault, step, cost = a
    clean = job.with_fault(None, False)
    clean_step = jobs_training.simulate(clean)[3]
    expect(abs(step - clean_step - cost) < 1e-3, "the cost is not the difference to the job without the fault")
    expect(cost >= jobs_draw.LEAST * step - 1e-6, "%s costs too little" % fault.kind)
    if fault.kind in ("slow_rank", "throttling", "slow_group"):
        nothing = jobs_training.simulate(clean.with_fault(dataclasses.replace(fault, size=1.0), False))[3]
        expect(nothing == clean_step, "%s by a factor of 1 changes the job" % fault.kind)
    return job


def judged():
    """The judge takes the right verdicts, and no other."""
    def truth(kind, **fields):
        return {"kind": kind, "ranks": [], "all_ranks": False, "group": None, "stage": None, "steps": [],
                "shared_name": False, **fields}

    two, tp = truth("slow_rank", ranks=[12]), truth("slow_group", ranks=[4, 5], group="17")
    shared = {**tp, "shared_name": True}
    cases = [  # truth, verdict, named, in the headline
        (two, {"kind": "slow_rank", "ranks": [12], "sentence": "Rank 12 computes longer."}, True, True),
        (two, {"kind": "slow_rank", "ranks": [12], "sentence": "Rank 2 waits for 12 others."}, True, False),
        (two, {"kind": "slow_rank", "ranks": [2], "sentence": "Rank 12 computes longer."}, False, True),
        (two, {"kind": "late_host", "ranks": [12], "sentence": "ranks 3, 7 and 12"}, False, True),
        (two, {"kind": None, "sentence": ""}, False, False),
        (truth("data_loader", ranks=[0, 1], all_ranks=True), {"kind": "sync_calls", "sentence": "loads"}, True, True),
        (truth("data_loader", ranks=[1]), {"kind": "sync_calls", "ranks": [1], "sentence": "loading"}, False, False),
        (truth("throttling", ranks=[3], steps=[7]), {"kind": "throttling", "ranks": [3], "steps": [8, 9],
                                                     "sentence": "rank 3"}, True, True),
        (truth("throttling", ranks=[3], steps=[7]), {"kind": "throttling", "ranks": [3], "sentence": ""}, False, False),
        (tp, {"kind": "slow_group", "group": "17", "ranks": [5, 4], "sentence": "group 17 is slow"}, True, True),
        (tp, {"kind": "slow_group", "group": "17", "ranks": [4, 5], "sentence": "group 170 is slow"}, True, False),
        (shared, {"kind": "slow_group", "group": "17", "ranks": [6, 7], "sentence": "group 17"}, False, False),
        (shared, {"kind": "slow_group", "group": "17", "ranks": [4, 5], "sentence": "ranks 4 and 5"}, True, True),
        (truth("stage_imbalance", stage=0), {"kind": "stage_imbalance", "stage": 0, "sentence": "Stage 0"}, True, True),
        (truth("outlier_step", steps=[9]), {"kind": "outlier_step", "steps": [8], "sentence": "Step 9"}, False, True),
        (truth("pauses"), {"kind": "pauses", "sentence": "Hosts pause."}, True, True),
        (truth("healthy"), {"kind": "compute_bound", "sentence": ""}, True, True),
        (truth("healthy"), {"kind": "slow_rank", "ranks": [1], "sentence": ""}, False, True),
        (truth("healthy"), {"kind": "error", "sentence": ""}, False, True)]
    for fault, verdict, right, headline in cases:
        expect(jobs.named(fault, verdict) == right, "the judge of %s takes %s wrongly" % (fault, verdict))
        expect(jobs.in_headline(fault, verdict) == headline, "the judge of headlines takes %s wrongly" % verdict)


def run():
    hand_made_graph()
    judged()
    draws = 0
    for kind in (*jobs_draw.KINDS, "healthy"):
        for n in range(4 if kind == "healthy" else 1):
            seed = "%s/%d" % (kind, n)
            if kind in jobs_draw.ACCUSED:
                job = repeated(lambda r, k=kind: jobs_draw.faulty_job(r, k, 8), seed)
            elif kind == "healthy":
                job = jobs_draw.healthy_job(random.Random(seed), 8)[0]
            else:
                job = jobs_draw.faulty_job(random.Random(seed), kind, 8)[0]
            job.record = True
            ranks, graph, joins, step = jobs_training.simulate(job)
            expect(step > 0, "a job without time")
            causes(graph)
            meetings(job, graph, joins)
            one_at_a_time(ranks, graph)
            with tempfile.TemporaryDirectory() as folder:
                written(job, ranks, graph, folder)
            draws += 1
    print("%d jobs simulated and written, all as they must be" % draws)
