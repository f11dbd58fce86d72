#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several NCCL ranks on one GPU, with a late rank, a monitor, a capture and a hang.

    torchrun --nproc-per-node 2 ranks.py --out DIR [--hang]

NCCL refuses two ranks on one GPU of one host. Here each rank is a host of its own (NCCL_HOSTID), and
data go over sockets. The ranks take turns on the GPU, so transfers are slow; names, groups, sizes,
orders and waits are NCCL's own. Needs the package stepscope for what it watches.

Written are DIR/monitor.json (step times without and with the monitor, and what it said),
DIR/capture (traces and verdict), DIR/fsdp and DIR/mesh (traces), DIR/flight/nccl_trace_rank_R (the
flight recorder of a job that stands still, with --hang)."""
import argparse
import json
import logging
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("NCCL_HOSTID", f"host{os.environ.get('RANK', '0')}")
os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
os.environ.setdefault("NCCL_NET", "Socket")

import torch
import torch.distributed as dist
from job import GPU, Job, build, measure, record, release, start_group, synchronize, trainer
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

DDP = Job("gpt2", 4, 512, parallel="ddp")


def say(*what):
    if dist.get_rank() == 0:
        print(*what, flush=True)


def watched(arguments, job):
    """Step times without and with the monitor, then a late rank 1 and a capture."""
    import stepscope.torch

    model, optimizer = build(job)
    step = trainer(job, model, optimizer)
    measure(step, 10)
    times = {"without": [], "with": []}
    for _ in range(3):
        times["without"] += measure(step, 15)
        monitor = stepscope.torch.monitor(model, skip=0)

        def monitored(monitor=monitor):
            step()
            monitor.step()

        times["with"] += measure(monitored, 15)
        monitor.close()
    say("step ms", {k: round(statistics.median(v), 3) for k, v in times.items()})

    lines = []
    handler = logging.Handler()
    handler.emit = lambda line: lines.append(line.getMessage())
    logging.getLogger("stepscope").addHandler(handler)
    logging.getLogger("stepscope").setLevel(logging.INFO)
    late = dist.get_rank() == 1
    monitor = stepscope.torch.monitor(model, skip=2, every_s=1.0)
    profiler = stepscope.torch.profile(str(arguments.out / "capture"), wait=25, warmup=2, active=3)
    slow = trainer(Job(**{**job.__dict__, "fault": "sleep" if late else ""}), model, optimizer)
    with profiler:
        for _ in range(60):
            slow()
            monitor.step()
            profiler.step()
    synchronize()
    profiler.on_trace_ready.wait(60) if hasattr(profiler.on_trace_ready, "wait") else time.sleep(8)
    summary = monitor.summary()
    monitor.close()
    for line in lines:
        say("  log:", line)
    if dist.get_rank() == 0:
        (arguments.out / "monitor.json").write_text(json.dumps(
            dict(times=times, log=lines, summary=summary), default=str, indent=1))


def sharded(arguments, job):
    model, optimizer = build(job)
    step = trainer(job, model, optimizer)
    measure(step, 4)
    spent = record(step, 3, str(arguments.out / "fsdp" / f"rank{dist.get_rank()}.json.gz"))
    say("fsdp", round(spent, 2), "ms a step")


class TwoHalves(nn.Module):
    """A feed-forward part whose inner width is split over the ranks of a group."""

    def __init__(self, width, group):
        super().__init__()
        self.group = group
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        y = self.down(torch.nn.functional.gelu(self.up(x)))
        dist.all_reduce(y, group=self.group)
        return y


def meshed(arguments):
    """Tensor parallel pairs within data-parallel pairs, with point-to-point messages around."""
    mesh = init_device_mesh("cuda" if GPU else "cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    device = "cuda" if GPU else "cpu"
    layers = [TwoHalves(1024, mesh.get_group("tp")).to(device) for _ in range(4)]
    x = torch.randn(2048, 1024, device=device)
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def step():
        with torch.no_grad():
            y = x
            for layer in layers:
                y = y + layer(y)
            for layer in layers:
                dist.all_reduce(layer.up.weight.data, group=mesh.get_group("dp"))
            parts = torch.empty(ranks, *y.shape, device=device)
            dist.all_gather_into_tensor(parts, y)
            dist.reduce_scatter_tensor(torch.empty_like(y), parts)
            dist.all_to_all_single(torch.empty_like(y), y)
            dist.broadcast(y, src=0)
            ahead = [dist.P2POp(dist.isend, y, (rank + 1) % ranks),
                     dist.P2POp(dist.irecv, torch.empty_like(y), (rank - 1) % ranks)]
            for work in dist.batch_isend_irecv(ahead):
                work.wait()

    measure(step, 3)
    spent = record(step, 3, str(arguments.out / "mesh" / f"rank{rank}.json.gz"))
    say("mesh", round(spent, 2), "ms a step")


def hanging(arguments):
    """Rank 0 waits for an all-reduce that rank 1 never joins; both write what they know."""
    x = torch.ones(1 << 20, device="cuda" if GPU else "cpu")
    dist.all_reduce(x)
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    time.sleep(3)
    folder = arguments.out / "flight"
    folder.mkdir(exist_ok=True)
    dump = torch._C._distributed_c10d._dump_nccl_trace(True, True, False)
    (folder / f"nccl_trace_rank_{dist.get_rank()}").write_bytes(dump)
    print("rank", dist.get_rank(), "has written its flight recorder", flush=True)
    time.sleep(1)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hang", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="sizes of a test, also on a CPU")
    arguments = parser.parse_args()
    arguments.out = arguments.out.absolute()
    arguments.out.mkdir(parents=True, exist_ok=True)
    start_group()
    job = Job("tiny-gpt2", 4, 64, parallel="ddp") if arguments.tiny else DDP
    if dist.get_world_size() == 4:
        meshed(arguments)
    else:
        watched(arguments, job)
        release()
        sharded(arguments, Job(**{**job.__dict__, "parallel": "fsdp"}))
    if arguments.hang:
        hanging(arguments)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
