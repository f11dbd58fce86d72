#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What project says of larger jobs, compared with their simulation: projection.py STEPSCOPE [--draws N] [--seed S].

Each draw is a job of 4 to 16 ranks (jobs.py), simulated and written as torch.profiler writes it, and the same job
with more data-parallel ranks or another number of micro-batches, simulated too. `project` reads the traces of the
first and says what a step of the second takes. The second has the layers, the kernels and the sizes of the first;
its further ranks have speeds and jitter of their own. Transfers over more ranks take as long as rings and trees
say: the latency grows with the messages that follow each other, the rest with the share of the bytes that leaves
a rank."""
import argparse
import concurrent.futures
import copy
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import jobs_draw
import jobs_kineto
import jobs_training

LATENCY = 6.0  # us of a transfer, as jobs_layer.elements has it
TREES = ("all_reduce", "broadcast")
DEMANDED = {"median": 0.03, "worst": 0.15, "coverage": 0.6}


def shaped(job, tp, pp, dp):
    """The degrees and places of a job; its groups are drawn alike."""
    job.tp, job.pp, job.cp, job.ep, job.dp, job.world = tp, pp, 1, 1, dp, tp * pp * dp
    job.layout, job.shards = "tp-cp-dp-pp", dp
    job.stages = [0] * job.world
    for p, d, c, t in jobs_draw.places(job):
        job.stages[job.rank_at(p, d, c, t)] = p


def rounds(kind, n):
    return math.log2(n) if kind in TREES else n - 1


class Grown:
    """transfer() of a job whose data-parallel groups have more members than those that the times are of."""

    def __init__(self, job, before):
        self.job, self.before, self.plain = job, before, job.transfer

    def __call__(self, group, us, n):
        now = len(group.ranks)
        if group.dim not in ("dp",) or now == self.before:
            return self.plain(group, us, n)
        kind = self.job.gradient_kind
        latency = min(LATENCY, us)
        us = latency * rounds(kind, now) / rounds(kind, self.before) + (us - latency) * (
            (now - 1) / now) / ((self.before - 1) / self.before)
        return self.plain(group, us, n)


def drawn(seed, most):
    """A small job, the same job asked about, and the flags of the question."""
    r = random.Random("projection/%s" % seed)
    tp, pp, dp = r.choice(((1, 1, 4), (1, 1, 8), (2, 1, 4), (2, 2, 2), (1, 2, 4), (4, 1, 2), (2, 2, 4), (1, 4, 2)))
    mode = r.choice(("ddp", "zero1", "fsdp") if pp == 1 else ("ddp", "zero1"))
    factors = [f for f in (2, 4, 8, 16, 32) if tp * pp * dp * f <= most]
    factor = r.choice(factors[1:] or factors)

    def shape(_r, job, _kind, _most):
        shaped(job, tp, pp, dp)
        job.mode = mode

    plain = jobs_draw.draw_shape
    jobs_draw.draw_shape = shape
    try:
        job = jobs_draw.draw_job(r, r.choice(("compute_bound", "mixed")), tp * pp * dp)
    finally:
        jobs_draw.draw_shape = plain
    job.gradient_kind = "all_reduce" if mode == "ddp" else "reduce_scatter"
    large = copy.copy(job)
    passes = r.random() < 0.25
    if passes:
        large.batches = job.batches * r.choice((2, 3))
        flags = ["--recorded", "tp=%d,pp=%d,global-batch=%d" % (tp, pp, job.batches * dp),
                 "--global-batch", str(large.batches * dp)]
        return job, large, flags, "%d to %d micro-batches" % (job.batches, large.batches)
    shaped(large, tp, pp, dp * factor)
    large.speed = [1.0 + (r.choice(job.speed) - 1.0) * r.uniform(0.8, 1.2) for _ in range(large.world)]
    large.host_speed = [r.choice(job.host_speed) for _ in range(large.world)]
    large.speed[:job.world], large.host_speed[:job.world] = job.speed, job.host_speed
    large.clock = job.clock * factor
    jobs_draw.draw_groups(random.Random(1), large)
    large.transfer = Grown(large, dp)
    flags = ["--recorded", "tp=%d,pp=%d" % (tp, pp), "--gpus", str(large.world)]
    return job, large, flags, "%d to %d ranks" % (job.world, large.world)


def one_draw(words, number):
    folder = tempfile.mkdtemp(prefix="projection")
    try:
        job, large, flags, what = drawn("%s/%s" % (words.seed, number), words.max_ranks)
        job.record, large.record = True, False
        ranks, graph, _, step = jobs_training.simulate(job)
        jobs_kineto.write_traces(job, ranks, graph, os.path.join(folder, "traces"))
        truth = jobs_training.simulate(large)[3]
        run = subprocess.run([words.stepscope, "project", os.path.join(folder, "traces"), "--json", "-", *flags],
                             capture_output=True, text=True)
        row = {"number": number, "what": what, "shape": "tp %d pp %d %s" % (job.tp, job.pp, job.mode),
               "recorded_us": step, "truth_us": truth}
        if run.returncode:
            return dict(row, failed=run.stderr.strip())
        said = json.loads(run.stdout)
        at = said["step"]
        return dict(row, said_us=at["ns"] / 1e3, error=at["ns"] / 1e3 / truth - 1, replayed=said["recorded_step_ns"] / 1e3,
                    inside=at["low_ns"] / 1e3 <= truth <= at["high_ns"] / 1e3,
                    width=(at["high_ns"] - at["low_ns"]) / at["ns"])
    except RuntimeError:  # such a program would hang
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stepscope")
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--max-ranks", type=int, default=256)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--demand", action="store_true", help="fail below what is demanded")
    words = parser.parse_args()
    with concurrent.futures.ProcessPoolExecutor(words.jobs) as pool:
        rows = [r for r in pool.map(one_draw, [words] * words.draws, range(words.draws)) if r]
    for r in rows:
        if "failed" in r:
            print("%3d  %-22s %-16s %s" % (r["number"], r["what"], r["shape"], r["failed"][:160]))
            continue
        print("%3d  %-22s %-16s recorded %9.0f  truth %9.0f us  said %9.0f  %+6.2f %%  without %+6.2f %%  %s ± %4.1f %%" % (
            r["number"], r["what"], r["shape"], r["recorded_us"], r["truth_us"], r["said_us"], 100 * r["error"],
            100 * (r["recorded_us"] / r["truth_us"] - 1), "inside " if r["inside"] else "outside", 50 * r["width"]))
    errors = [abs(r["error"]) for r in rows if "error" in r]
    if not errors:
        sys.exit("no draw was answered")
    got = {"median": statistics.median(errors), "worst": max(errors),
           "coverage": sum(r["inside"] for r in rows if "error" in r) / len(errors)}
    print("%d of %d answered; error: median %.2f %%, worst %.2f %%; in the 80 %% interval: %.0f %%" % (
        len(errors), len(rows), 100 * got["median"], 100 * got["worst"], 100 * got["coverage"]))
    if words.demand and (got["median"] > DEMANDED["median"] or got["worst"] > DEMANDED["worst"] or
                         got["coverage"] < DEMANDED["coverage"]):
        sys.exit("demanded: %s" % DEMANDED)


if __name__ == "__main__":
    main()
