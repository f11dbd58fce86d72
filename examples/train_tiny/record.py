#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT on the CPU (gloo) and records one torch.profiler trace per rank.

    record.py ddp  OUT [--slow-rank 1 --sleep-ms 20]     all-reduce of gradient buckets
    record.py fsdp OUT [--checkpoint]                    all-gather and reduce-scatter of shards
    record.py tp   OUT                                   all-reduce of activations
    record.py pp   OUT [--micro 4]                       1F1B: activations and their gradients to the next rank

OUT/rank0.json.gz, OUT/rank1.json.gz, … hold the recorded steps. Written against torch 2.13.
"""
import argparse
import contextlib
import gzip
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, DistributedSampler


@dataclass(frozen=True)
class Shape:
    """Batch is per rank; the other figures are those of the model."""

    layers: int = 2
    width: int = 256
    heads: int = 4
    vocab: int = 1024
    sequence: int = 128
    batch: int = 8


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x):
        batch, sequence, width = x.shape
        # All heads, or those of this rank.
        qkv = self.qkv(x).view(batch, sequence, -1, 3, width // self.heads)
        q, k, v = qkv.permute(3, 0, 2, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, sequence, -1))


class Block(nn.Module):
    def __init__(self, shape, index):
        super().__init__()
        self.index = index
        self.norm1 = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.norm2 = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width, bias=False)
        self.down = nn.Linear(4 * shape.width, shape.width, bias=False)

    def forward(self, x):
        with record_function(f"block{self.index}.attention"):
            x = x + self.attention(self.norm1(x))
        with record_function(f"block{self.index}.mlp"):
            return x + self.down(F.gelu(self.up(self.norm2(x))))


def recomputed(block, x):
    """A checkpointed block whose recomputation is a range of its own in the trace."""
    ranges = lambda: (contextlib.nullcontext(), record_function("recompute"))
    return checkpoint(block, x, use_reentrant=False, context_fn=ranges)


class Gpt(nn.Module):
    def __init__(self, shape, recompute):
        super().__init__()
        self.recompute = recompute
        self.token = nn.Embedding(shape.vocab, shape.width)
        self.position = nn.Embedding(shape.sequence, shape.width)
        self.blocks = nn.ModuleList(Block(shape, i) for i in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocab, bias=False)

    def forward(self, tokens):
        with record_function("embedding"):
            x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = recomputed(block, x) if self.recompute else block(x)
        with record_function("head"):
            return self.head(self.norm(x))


class Stage(nn.Module):
    """The layers of one rank of a pipeline: the first has the embeddings, the last the head."""

    def __init__(self, gpt, rank, ranks):
        super().__init__()
        count = len(gpt.blocks)
        self.gpt = gpt
        self.first, self.last = rank == 0, rank == ranks - 1
        gpt.blocks = gpt.blocks[rank * count // ranks : (rank + 1) * count // ranks]
        if not self.first:
            gpt.token = gpt.position = None
        if not self.last:
            gpt.norm = gpt.head = None

    def forward(self, x):
        if self.first:
            x = self.gpt.token(x) + self.gpt.position.weight
        for block in self.gpt.blocks:
            x = block(x)
        return self.gpt.head(self.gpt.norm(x)) if self.last else x


class CountingText(Dataset):
    """Sequences that count upwards from a random start: learnable, and no download."""

    def __init__(self, shape, size, delay_s):
        self.shape, self.size, self.delay_s = shape, size, delay_s

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if self.delay_s:
            time.sleep(self.delay_s / self.shape.batch)
        random = torch.Generator().manual_seed(index)
        start = torch.randint(self.shape.vocab, (1,), generator=random)
        return (start + torch.arange(self.shape.sequence + 1)) % self.shape.vocab


def replicas(args):
    """Ranks that train with a batch of their own: those of tp and pp share one."""
    return 1 if args.mode in ("tp", "pp") else args.ranks


def model_flops_per_step(shape, batches):
    """Forward and backward (3 x forward) of the global batch's matrix products, causal half."""
    weights = shape.layers * 12 * shape.width**2 + shape.vocab * shape.width
    core = shape.layers * 2 * shape.sequence * shape.width
    return 3 * batches * shape.batch * shape.sequence * (2 * weights + core)


def measured_peak_flops():
    """The best rate of a square fp32 product on one thread: this core's attainable peak."""
    n, best = 1024, float("inf")
    a, b = torch.randn(n, n), torch.randn(n, n)
    for _ in range(10):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best


def parallelise(model, mode, ranks):
    if mode == "ddp":
        return DistributedDataParallel(model, bucket_cap_mb=2)
    if mode == "pp":
        return Stage(model, dist.get_rank(), ranks)
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=(mode,))
    if mode == "tp":
        columns, rows = ColwiseParallel, RowwiseParallel
        for block in model.blocks:
            parallelize_module(
                block,
                mesh,
                {"attention.qkv": columns(), "attention.out": rows(), "up": columns(), "down": rows()},
            )
        return model
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def loss_of(logits, targets):
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def pipeline_of(model, ranks, micro):
    stage = PipelineStage(model, dist.get_rank(), ranks, torch.device("cpu"))
    return Schedule1F1B(stage, n_microbatches=micro, loss_fn=loss_of)


def run_pipeline(pipeline, model, tokens, targets):
    """Forward and backward of all micro-batches. The loss is known to the last rank."""
    losses = []
    given = (tokens,) if model.first else ()
    pipeline.step(*given, target=targets if model.last else None, losses=losses)
    return torch.stack(losses).mean() if model.last else torch.tensor(0.0)


def train_step(model, optimizer, batches, pipeline):
    with record_function("load_batch"):
        batch = next(batches)
        tokens, targets = batch[:, :-1], batch[:, 1:]
    if pipeline:
        with record_function("pipeline"):
            loss = run_pipeline(pipeline, model, tokens, targets)
    else:
        with record_function("forward"):
            loss = loss_of(model(tokens), targets)
        with record_function("backward"):
            loss.backward()
    with record_function("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def write_anonymous(text, path):
    """The trace without the path of the temporary file, the host and the user; else untouched."""
    text = re.sub(r'("traceName"\s*:\s*)"[^"]*"', rf'\1"{path.name.removesuffix(".gz")}"', text)
    text = re.sub(r'\s*"(?:host_name|username)"\s*:\s*"[^"]*",', "", text)
    # No name and no time of writing in the gzip header: equal traces are equal files.
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode())


def run_rank(rank, args, shape, store):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=args.ranks
    )
    steps = args.wait + args.warmup + args.active
    delay_s = args.sleep_ms / 1e3 if rank == args.slow_rank else 0.0
    data = CountingText(shape, steps * shape.batch * args.ranks, delay_s)
    shared = replicas(args) == 1
    sampler = DistributedSampler(data, replicas(args), 0 if shared else rank)
    batches = iter(DataLoader(data, shape.batch, sampler=sampler, num_workers=args.workers))
    model = Gpt(shape, args.checkpoint)
    parameters = sum(p.numel() for p in model.parameters())
    peak = measured_peak_flops()
    model = parallelise(model, args.mode, args.ranks)
    pipeline = pipeline_of(model, args.ranks, args.micro) if args.mode == "pp" else None
    # The fused and the foreach kernels refuse the mix of DTensor and Tensor that tp has.
    kernels = {"foreach": False} if args.mode == "tp" else {"fused": True}
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, **kernels)

    def save(prof):
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "trace.json"
            prof.export_chrome_trace(str(plain))
            write_anonymous(plain.read_text(), Path(args.out) / f"rank{rank}.json.gz")

    losses = []
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=args.wait, warmup=args.warmup, active=args.active, repeat=1),
        record_shapes=True,
        profile_memory=True,
        with_stack=args.with_stack,
        on_trace_ready=save,
    ) as prof:
        for _ in range(steps):
            losses.append(train_step(model, optimizer, batches, pipeline))
            prof.step()
    if rank == args.ranks - 1:
        print(f"{args.mode}: {parameters} parameters, loss {losses[0]:.3f} -> {losses[-1]:.3f}")
        print(f"--model-flops-per-step {model_flops_per_step(shape, replicas(args))}")
        print(f"--peak-tflops {peak / 1e12:.3f}   (fp32 product of one thread, measured)")
    dist.destroy_process_group()


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=("ddp", "fsdp", "tp", "pp"))
    parser.add_argument("out", help="folder for rank<r>.json.gz")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--micro", type=int, default=4, help="micro-batches of pp")
    parser.add_argument("--workers", type=int, default=0, help="data loader processes a rank")
    parser.add_argument("--wait", type=int, default=3, help="steps before the profiler starts")
    parser.add_argument("--warmup", type=int, default=2, help="profiled steps thrown away")
    parser.add_argument("--active", type=int, default=5, help="steps in the trace")
    parser.add_argument("--checkpoint", action="store_true", help="recompute blocks in backward")
    parser.add_argument("--slow-rank", type=int, default=-1, help="this rank's data loader sleeps")
    parser.add_argument("--sleep-ms", type=float, default=20, help="how long, per batch")
    parser.add_argument("--with-stack", action="store_true", help="Python frames; 4 x larger")
    return parser.parse_args()


def main():
    args = parse_args()
    Path(args.out).mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    # In such a short step the page faults of fresh activations would be the largest cost. Large blocks therefore come
    # from mmap each time (a threshold that does not adapt), in huge pages.
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(128 * 1024))
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, (args, Shape(), f"{folder}/store"), nprocs=args.ranks)


if __name__ == "__main__":
    main()
