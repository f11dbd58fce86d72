#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the traces of one simulated job with thousands of ranks: TP 8, PP 8, ZeRO-1 over the rest, three steps.
The kernels of rank N / 3 take 1.3 times as long as their peers'. The simulation is that of tests/explain/jobs.py.

usage: make_large_job.py RANKS FOLDER
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "explain"))
import jobs_draw  # noqa: E402
import jobs_kineto  # noqa: E402
import jobs_training  # noqa: E402

TP, PP, STEPS, SLOWER = 8, 8, 3, 1.3


def large_shape(world):
    def shape(_r, job, _kind, _most):
        job.world, job.tp, job.pp, job.cp, job.ep, job.dp = world, TP, PP, 1, 1, world // (TP * PP)
        job.layout = "tp-cp-dp-pp"
        job.stages = [0] * world
        for pp, dp, cp, tp in jobs_draw.places(job):
            job.stages[job.rank_at(pp, dp, cp, tp)] = pp
        job.mode, job.shards = "zero1", job.dp
    return shape


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    world, folder = int(sys.argv[1]), sys.argv[2]
    if world < 2 * TP * PP or world % (TP * PP):
        sys.exit("RANKS is a multiple of %d, and at least two" % (TP * PP))
    draw_sizes = jobs_draw.draw_sizes

    def sizes(r, job, kind):
        draw_sizes(r, job, kind)
        job.steps = STEPS

    jobs_draw.draw_shape, jobs_draw.draw_sizes = large_shape(world), sizes
    job = jobs_draw.draw_job(random.Random(3), "slow_rank", world)
    job = job.with_fault(jobs_draw.Fault("slow_rank", SLOWER, (world // 3,), style=""))
    job.record = True
    ranks, graph, _, step = jobs_training.simulate(job)
    jobs_kineto.write_traces(job, ranks, graph, os.path.join(folder, "traces"))
    print("%d ranks, %d steps of %.1f ms" % (world, job.steps, step / 1e3))


if __name__ == "__main__":
    main()
