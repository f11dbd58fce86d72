# SPDX-License-Identifier: Apache-2.0
"""Jobs of one process group: DDP in its variants, ZeRO-1."""

import contextlib
import copy
import io
import os
import threading

import torch
import torch.distributed as dist
from job_kind import ddp_model, kind, optimizer_of, plain_step


@kind("ddp2", "DDP", 2)
@kind("ddp4", "DDP", 4)
@kind("ddp8", "DDP", 8)
def build_ddp(rank):
    model = ddp_model(rank)
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


@kind("ddp2_real", "DDP", 2, options={"real": True, "style": "custom"})
def build_ddp_real(rank):
    return build_ddp(rank)


@kind("ddp2_workers", "DDP", 2, options={"loader": "workers"})
def build_ddp_workers(rank):
    return build_ddp(rank)


@kind("ddp2_accumulation", "DDP", 2, micro=3, layers=3)
@kind("ddp4_accumulation", "DDP", 4, micro=2, layers=3)
def build_accumulation(rank):
    model = ddp_model(rank)
    return plain_step(
        rank,
        model,
        optimizer_of(rank, model.parameters()),
        rank.kind.micro,
        lambda last: contextlib.nullcontext() if last else model.no_sync(),
    )


@kind("ddp2_checkpointing", "DDP", 2)
def build_checkpointing(rank):
    model = ddp_model(rank, checkpointing=True)
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


# One bucket: torch 2.14 fails an assertion where it splits a graph at smaller ones.
@kind(
    "ddp2_compile",
    "DDP",
    2,
    styles=("custom",),
    evaluates=False,
    layers=3,
    options={"bucket_mb": 25},
)
def build_compile(rank):
    import torch._inductor.config as inductor

    inductor.compile_threads = 1
    model = torch.compile(ddp_model(rank))
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


def halved(_, bucket):
    """A hook of a user: gradients travel as bfloat16."""
    half = bucket.buffer().to(torch.bfloat16).div_(dist.get_world_size())
    future = dist.all_reduce(half, async_op=True).get_future()
    return future.then(lambda f: bucket.buffer().copy_(f.value()[0]))


@kind("ddp2_fp16_hook", "DDP", 2)
@kind("ddp4_bf16_hook", "DDP", 4)
def build_hook(rank):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = ddp_model(rank)
    hook = default_hooks.fp16_compress_hook if "fp16" in rank.kind.name else halved
    model.register_comm_hook(None, hook)
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


@kind("ddp2_async_checkpoint", "DDP", 2)
def build_async_checkpoint(rank):
    """Each step a thread writes a copy of the state, as asynchronous checkpoints do."""
    model = ddp_model(rank)
    optimizer = optimizer_of(rank, model.parameters())
    step, evaluate = plain_step(rank, model, optimizer)
    writers = []

    def write(state):
        torch.save(state, io.BytesIO())

    def with_checkpoint():
        step()
        if writers:
            writers.pop().join()
        writers.append(
            threading.Thread(target=write, args=(copy.deepcopy(model.module.state_dict()),))
        )
        writers[0].start()

    return with_checkpoint, evaluate


@kind("ddp2_dcp_async", "DDP", 2, layers=3)
def build_dcp(rank):
    """Every step begins an asynchronous save of torch.distributed.checkpoint, which has a process group of its own."""
    import torch.distributed.checkpoint as dcp

    group = dist.new_group(backend="gloo")
    model = ddp_model(rank)
    step, evaluate = plain_step(rank, model, optimizer_of(rank, model.parameters()))
    pending = []

    def with_checkpoint():
        step()
        if pending:
            pending.pop().result()
        where = os.path.join(rank.scratch, "checkpoint")
        pending.append(dcp.async_save(model.state_dict(), checkpoint_id=where, process_group=group))

    return with_checkpoint, evaluate


@kind("zero1", "ZeRO-1", 4)
@kind("zero1_2", "ZeRO-1", 2)
def build_zero(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = ddp_model(rank)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.Adam, lr=1e-4, foreach=False
    )
    rank.slow_optimizer(optimizer)
    return plain_step(rank, model, optimizer)
