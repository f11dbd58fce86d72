#!/usr/bin/env python3
"""Model A on two ranks, each a process of one thread: ZeRO-1 of stepscope compared with PyTorch's DDP, and DDP with
ZeroRedundancyOptimizer; ZeRO-3 compared with FSDP (full shard) and FSDP2 (fully_shard), all over gloo, in f32.

    python bench/torch_zero_peer.py [--program build/release/bench/zero] [--rounds 7] [--steps 5]

The model, batch and optimizer (fused AdamW) are those of bench/torch_peer.py. Each peer is measured in turns with
ours, which sleeps meanwhile, and the other way round. Setting up and the first steps of each are not counted.
Prints milliseconds a step (processor time of both ranks, and wall time of the slower) and the ratio of each round:
min, median, max. At the end all of PyTorch's peers must have the same loss at the same step."""

import argparse
import functools
import multiprocessing
import os
import tempfile

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from torch_peer import Block, TorchStep
from turns import Served, print_ratios

RANKS = 2
PEERS = {"DDP": 1, "DDP + ZeroRedundancyOptimizer": 1, "FSDP": 3, "FSDP2": 3}  # the stage of ours to compare with
WARM_UP = 3


def ddp(model):
    return DistributedDataParallel(model, gradient_as_bucket_view=True)


def fsdp(model):
    return FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu"))


def fsdp2(model):
    mesh = init_device_mesh("cpu", (RANKS,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def peer(name, rank):
    if name == "DDP + ZeroRedundancyOptimizer":
        optimizer = functools.partial(ZeroRedundancyOptimizer, optimizer_class=torch.optim.AdamW)
        return TorchStep("A", rank=rank, sharded=ddp, optimizer=optimizer)
    return TorchStep("A", rank=rank, sharded={"DDP": ddp, "FSDP": fsdp, "FSDP2": fsdp2}[name])


def run_rank(rank, meeting, orders):
    """Answers (peer, steps) with (processor ms, wall ms, loss) per step."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    peers = {name: peer(name, rank) for name in PEERS}
    while order := orders.recv():
        name, steps = order
        distributed.barrier()
        orders.send((*peers[name].run(steps), peers[name].loss.item()))
    distributed.destroy_process_group()


class TorchRanks:
    def __init__(self, meeting):
        spawn = multiprocessing.get_context("spawn")
        self.pipes = []
        self.processes = []
        for rank in range(RANKS):
            ours, theirs = spawn.Pipe()
            self.processes.append(spawn.Process(target=run_rank, args=(rank, meeting, theirs), daemon=True))
            self.processes[-1].start()
            theirs.close()
            self.pipes.append(ours)
        self.losses = {name: [] for name in PEERS}

    def run(self, name, steps):
        for pipe in self.pipes:
            pipe.send((name, steps))
        processor, wall, loss = zip(*(pipe.recv() for pipe in self.pipes))
        self.losses[name].append(sum(loss) / RANKS)
        return sum(processor), max(wall)

    def end(self):
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/bench/zero")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        theirs = TorchRanks(f"{folder}/meeting")
        ours = {stage: Served(args.program, "--serve", str(stage)) for stage in (1, 3)}
        for stage in ours:
            ours[stage].run(WARM_UP)
        for name in PEERS:
            theirs.run(name, WARM_UP)
        rows = {name: [] for name in PEERS}
        for _ in range(args.rounds):
            for name, stage in PEERS.items():
                rows[name].append((ours[stage].run(args.steps), theirs.run(name, args.steps)))
        theirs.end()
    print(f"model A f32, {RANKS} ranks of one thread, torch {torch.__version__} over gloo, "
          f"{args.rounds} rounds of {args.steps} steps")
    for name, stage in PEERS.items():
        print(f"ZeRO-{stage} beside {name} (loss {theirs.losses[name][-1]:.5f})")
        print_ratios(name, rows[name])
    apart = max(abs(a - b) for losses in theirs.losses.values() for a, b in zip(losses, theirs.losses["DDP"]))
    if apart > 1e-3:
        raise SystemExit(f"PyTorch's peers do not train the same: their losses are up to {apart:g} apart")


if __name__ == "__main__":
    main()
