#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stepscope.torch costs a training loop: two ranks of DistributedDataParallel on gloo, one
thread each. Blocks of steps with and without it take turns in the same processes (A B B A …).

    PYTHONPATH=python python bench/python_overhead.py monitor    # the monitor
    PYTHONPATH=python python bench/python_overhead.py armed      # the profiler between captures
    PYTHONPATH=python python bench/python_overhead.py answered   # steps after a capture, while it is analysed

Prints per pair of neighbouring blocks the difference of the mean step times, as a share of the step:
median, quartiles, and the interval of the median at 95 %. `monitor` also prints what the hooks cost
in processor time, from a model so small that they show: µs a step, and their share of the step
above. On shared machines the differences of step times are noise; the processor time is not.
"""

import argparse
import os
import random
import statistics
import tempfile
import threading
import time

import stepscope.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def layers(width, count):
    return nn.Sequential(*[m for _ in range(count) for m in (nn.Linear(width, width), nn.ReLU())])


class Loop:
    def __init__(self, args, width, count, batch):
        self.model = DistributedDataParallel(layers(width, count))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=True)
        self.x = torch.randn(batch, width)

    def step(self):
        self.model(self.x).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def block(loop, steps, settle, after=lambda: None):
    """Mean times of a step in ns: wall, and processor time of the training thread."""
    for _ in range(settle):
        loop.step()
        after()
    dist.barrier()
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    for _ in range(steps):
        loop.step()
        after()
    return (time.perf_counter_ns() - wall) / steps, (time.thread_time_ns() - cpu) / steps


def with_monitor(loop, args, steps):
    with stepscope.torch.monitor(loop.model, skip=0):
        return block(loop, steps, settle=5)


def with_armed_profiler(loop, args, steps):
    with stepscope.torch.profile(args.folder, wait=10**9, handler={"analyze": False}) as prof:
        return block(loop, steps, settle=5, after=prof.step)


def with_answer(loop, args, steps):
    """The capture lies in the steps before those that count."""
    quiet = {"on_answer": lambda answer: args.answers.append(answer)}
    with stepscope.torch.profile(args.folder, wait=0, warmup=2, active=3, handler=quiet) as prof:
        return block(loop, steps, settle=5, after=prof.step)


def interval(values, rounds=4000):
    """The middle 95 % of the medians of samples with replacement."""
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def compare(loop, args, observed, steps, pairs):
    """Pairs of blocks, (wall, processor) without and with."""
    out = []
    for pair in range(pairs):
        plain, seen = None, None
        for turn in ((0, 1), (1, 0))[pair % 2]:
            if turn:
                seen = observed(loop, args, steps)
            else:
                plain = block(loop, steps, settle=5)
        out.append((plain, seen))
    return out


def report(name, values, unit, scale):
    low, high = interval(values)
    quartiles = statistics.quantiles(values, n=4)
    print(
        f"{name}: median {scale * statistics.median(values):+.3f} {unit}, quartiles"
        f" {scale * quartiles[0]:+.3f} … {scale * quartiles[2]:+.3f}, median at 95 %"
        f" {scale * low:+.3f} … {scale * high:+.3f} ({len(values)} pairs)"
    )


def rank_main(rank, args):
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(args.port),
        GLOO_SOCKET_IFNAME="lo",
    )
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    args.answers = []
    observed = {"monitor": with_monitor, "armed": with_armed_profiler, "answered": with_answer}
    loop = Loop(args, args.width, args.layers, args.batch)
    block(loop, 20, 0)
    pairs = compare(loop, args, observed[args.what], args.steps, args.pairs)
    usual = statistics.median(plain[0] for plain, _ in pairs)
    if rank == 0:
        print(f"step without: {usual / 1e6:.1f} ms; {args.steps} steps a block")
        report(
            "wall", [(seen[0] - plain[0]) / usual for plain, seen in pairs], "% of the step", 100
        )
        report(
            "processor time of the training thread",
            [(seen[1] - plain[1]) / usual for plain, seen in pairs],
            "% of the step",
            100,
        )
        if args.what == "answered":
            print(f"captures that were answered meanwhile: {len(args.answers)}")
    if args.what == "monitor":
        small = Loop(args, 8, args.layers, 1)
        block(small, 200, 0)
        pairs = compare(small, args, with_monitor, 1000, 40)
        if rank == 0:
            cost = [seen[1] - plain[1] for plain, seen in pairs]
            report("small model, processor time of the training thread", cost, "µs a step", 1e-3)
            print(f"  = {100 * statistics.median(cost) / usual:.4f} % of the step above")
            print(f"threads: {threading.active_count()}")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("monitor", "armed", "answered"))
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20, help="in a block")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--port", type=int, default=29541)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as args.folder:
        mp.spawn(rank_main, (args,), nprocs=2)


if __name__ == "__main__":
    main()
