#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the traces of one simulated job with thousands of ranks: TP 8, PP 8, ZeRO-1 over the rest.
The kernels of rank N / 3 take 1.3 times as long as their peers'. The simulation is that of tests/explain/jobs.py.
A simulation of many steps takes much memory, so TIMES writes the simulated steps several times, one after the other.

usage: make_large_job.py RANKS FOLDER [STEPS [TIMES]]      (3 steps, once)
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "explain"))
import jobs_draw  # noqa: E402
import jobs_kineto  # noqa: E402
import jobs_training  # noqa: E402

TP, PP, SLOWER = 8, 8, 1.3
# Numbers that differ in each repetition, and by how much.
NUMBERS = re.compile(r'("correlation": |"External id": |"wait_on_cuda_event_record_corr_id": |"Seq": |"ts":|'
                     r'ProfilerStep#)(\d+)')
FAR = 1_000_000


def large_shape(world):
    def shape(_r, job, _kind, _most):
        job.world, job.tp, job.pp, job.cp, job.ep, job.dp = world, TP, PP, 1, 1, world // (TP * PP)
        job.layout = "tp-cp-dp-pp"
        job.stages = [0] * world
        for pp, dp, cp, tp in jobs_draw.places(job):
            job.stages[job.rank_at(pp, dp, cp, tp)] = pp
        job.mode, job.shards = "zero1", job.dp
    return shape


def repeat_steps(job, ranks, graph, times):
    """Makes the writer of traces write its rows `times` times, each after the one before."""
    last = max(graph.end[rank.steps[-1][1]] for rank in ranks)
    last = max(last, max(graph.end[row[4]] for rank in ranks for row in rank.device_rows[-1:]))
    period = int(last - min(graph.end[rank.steps[0][0]] for rank in ranks)) + 50  # us
    frame = jobs_kineto.Writer.frame

    def frame_of_all(writer, begin, end):
        rows = list(writer.out)
        for n in range(1, times):
            more = {"ts": n * period, "ProfilerStep#": n * job.steps}

            def later(found, n=n, more=more):
                key = found[1].strip('": ')
                return found[1] + str(int(found[2]) + more.get(key, n * FAR))
            writer.out.extend(NUMBERS.sub(later, row) for row in rows)
        frame(writer, begin, end + (times - 1) * period)

    jobs_kineto.Writer.frame = frame_of_all


def main():
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    world, folder = int(sys.argv[1]), sys.argv[2]
    steps, times = (int(a) for a in (sys.argv[3:] + ["3", "1"][len(sys.argv) - 3:]))
    if world < 2 * TP * PP or world % (TP * PP):
        sys.exit("RANKS is a multiple of %d, and at least two" % (TP * PP))
    draw_sizes = jobs_draw.draw_sizes

    def sizes(r, job, kind):
        draw_sizes(r, job, kind)
        job.steps = steps

    jobs_draw.draw_shape, jobs_draw.draw_sizes = large_shape(world), sizes
    job = jobs_draw.draw_job(random.Random(3), "slow_rank", world)
    job = job.with_fault(jobs_draw.Fault("slow_rank", SLOWER, (world // 3,), style=""))
    job.record = True
    ranks, graph, _, step = jobs_training.simulate(job)
    if times > 1:
        repeat_steps(job, ranks, graph, times)
    jobs_kineto.write_traces(job, ranks, graph, os.path.join(folder, "traces"))
    print("%d ranks, %d steps of %.1f ms" % (world, job.steps * times, step / 1e3))


if __name__ == "__main__":
    main()
