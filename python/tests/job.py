# SPDX-License-Identifier: Apache-2.0
"""One rank of a small job on gloo that the tests start; RANK and WORLD_SIZE are in the environment.

Prints "loss SUM" at the end. --late PHASE: rank 1 sleeps --ms in it, in each step."""

import argparse
import atexit
import json
import os
import sys
import time

import stepscope.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--store", help="file of the process group's store; without it no group")
parser.add_argument("--mode", default="ddp", choices=("ddp", "fsdp", "manual", "norm"))
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--late", default="", help="phase")
parser.add_argument("--late-rank", type=int, default=1)
parser.add_argument("--late-from", type=int, default=0, help="the first step in which it is late")
parser.add_argument("--live", help="folder of the ranks' steps, for stepscope live")
parser.add_argument("--ms", type=float, default=60)
parser.add_argument("--monitor", action="store_true")
parser.add_argument("--silent-s", type=float, default=60)
parser.add_argument("--folder", help="of captures and, without a store, of records")
parser.add_argument("--wait", type=int, default=2)
parser.add_argument("--timeout-s", type=float, default=20)
parser.add_argument("--flags", default="{}", help="of the analysis, JSON")
parser.add_argument("--die-at", type=int, default=-1, help="rank 1 ends at this step")
parser.add_argument("--stand-at", type=int, default=-1, help="rank 1 sleeps for 6 s at this step")
args = parser.parse_args()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


step = 0


def sleep(phase):
    if args.late == phase and rank == args.late_rank and step >= args.late_from:
        time.sleep(args.ms / 1e3)


class Data(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        sleep("data")
        return torch.full((64,), float(index % 7))


class Slow(torch.autograd.Function):
    """Sleeps in backward, as a slow kernel would."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        sleep("backward")
        return gradient


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.norm = nn.BatchNorm1d(64) if args.mode == "norm" else nn.Identity()
        self.middle = nn.Linear(64, 64)
        self.last = nn.Linear(64, 64)

    def forward(self, x):
        x = Slow.apply(self.norm(self.first(x)))
        sleep("forward")
        return self.last(torch.relu(self.middle(x)))


torch.set_num_threads(1)
torch.manual_seed(0)
model = Net()
if args.store:
    store = dist.FileStore(args.store, world) if args.mode == "manual" else None
    if store:
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    else:
        dist.init_process_group("gloo")  # MASTER_ADDR, MASTER_PORT
    if args.mode == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for layer in (model.first, model.middle, model.last):
            fully_shard(layer)
        fully_shard(model)
    elif args.mode != "manual":
        model = DistributedDataParallel(model, broadcast_buffers=args.mode == "norm")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
batches = iter(DataLoader(Data(), 8))
if args.monitor:
    monitor = stepscope.torch.monitor(
        model, every_s=0.5, skip=3, silent_s=args.silent_s, folder=args.folder, live=args.live
    )
profiler = None
if args.folder and not (args.monitor and not args.store):
    profiler = stepscope.torch.profile(
        args.folder,
        wait=args.wait,
        warmup=1,
        active=3,
        handler={"timeout_s": args.timeout_s, **json.loads(args.flags)},
    )
    profiler.start()
total = 0.0
for step in range(args.steps):
    if rank == 1 and step == args.die_at:
        os._exit(3)
    if rank == 1 and step == args.stand_at:
        time.sleep(6)
    try:
        for _ in range(args.accumulate):
            loss = model(next(batches)).square().mean()
            sleep("loss")
            loss.backward()
        if args.mode == "manual" and args.store:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        sleep("after_backward")
        optimizer.step()
        optimizer.zero_grad()
        sleep("other")
        total += loss.item()
    except RuntimeError as error:  # the peer is gone: this rank goes on alone
        if args.die_at < 0:
            raise
        print(f"step {step} failed: {str(error).splitlines()[0][:60]}", flush=True)
        model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if profiler:
        profiler.step()
if profiler:
    profiler.stop()
print(f"loss {total:.6f}", flush=True)
if args.monitor:
    if args.store and args.die_at < 0:
        dist.barrier()
    time.sleep(1.2)  # the last records arrive
    print("summary", monitor.summary(), flush=True)
    monitor.close()
if args.store and args.die_at < 0:
    dist.destroy_process_group()
# What a program does at its end, without unloading torch: 2.13 now and then aborts in that, in programs without
# stepscope too.
sys.stdout.flush()
atexit._run_exitfuncs()
sys.stderr.flush()
os._exit(0)
