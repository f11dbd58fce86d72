# SPDX-License-Identifier: Apache-2.0
"""Trains a model of models.py for some steps, measures them, and records them if asked.

Weights are bf16, their master copies, sums of gradients and AdamW's moments fp32, as Megatron keeps
them. FSDP2 keeps fp32 shards and gathers bf16 weights."""
import contextlib
import gc
import gzip
import os
import re
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from fp8 import Fp8Linear
from models import SHAPES, Model
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"


@dataclass(frozen=True)
class Job:
    """batch: sequences of one pass. parallel: none, ddp or fsdp. graph: one CUDA graph is the step.

    fault: something that costs time, and that a what-if can take away again:
    item       each layer reads a value back to the host
    loss_item  the loss is read back after each micro-batch
    loader     the data loader needs 15 ms a step
    pageable the batch and another 64 MB come from pageable memory, with a synchronous copy
    collector  Python's garbage collector runs each step, over a million objects
    allocator  the caching allocator gives its memory back each step
    sleep      the host sleeps 15 ms between forward and backward
    """

    model: str = "gpt2"
    batch: int = 8
    sequence: int = 1024
    micro_batches: int = 1
    parallel: str = "none"
    fp8: bool = False
    compile: bool = False
    graph: bool = False
    recompute: bool = False
    loop: bool = False
    fault: str = ""


def synchronize():
    if GPU:
        torch.cuda.synchronize()


class MasterWeights:
    """AdamW on fp32 copies of bf16 weights, with fp32 sums of their gradients."""

    def __init__(self, model):
        self.weights = [p for p in model.parameters() if p.requires_grad]
        self.masters = [p.detach().float() for p in self.weights]
        for weight, master in zip(self.weights, self.masters, strict=True):
            master.grad = torch.zeros_like(master)
            weight.register_post_accumulate_grad_hook(self.add_to(master))
        self.optimizer = torch.optim.AdamW(self.masters, lr=1e-4, fused=GPU, capturable=GPU)

    @staticmethod
    def add_to(master):
        def add(weight):
            master.grad.add_(weight.grad)
            weight.grad = None
        return add

    def step(self):
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)
            torch._foreach_zero_([master.grad for master in self.masters])


class PlainAdamW:
    """AdamW on the weights themselves: for DDP, which owns the gradients, and FSDP's shards."""

    def __init__(self, model):
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=GPU)

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def build(job):
    shape = SHAPES[job.model]
    linear = Fp8Linear if job.fp8 else nn.Linear
    torch.manual_seed(1)
    with torch.device(DEVICE):
        model = Model(shape, job.sequence, linear, job.recompute, job.loop, job.fault == "item")
    if job.parallel == "fsdp":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            fully_shard(block, mp_policy=policy)
        model = fully_shard(model, mp_policy=policy)
    else:
        model = model.bfloat16()
    if job.compile:
        model.compile()
    if job.parallel == "ddp":
        model = DistributedDataParallel(model, device_ids=[0] if GPU else None)
    if job.parallel == "none":
        return model, MasterWeights(model)
    return model, PlainAdamW(model)


class Loader:
    """Batches of random tokens in pinned memory, or what `fault` makes of them."""

    def __init__(self, job, vocab):
        shape = (job.batch, job.sequence + 1)
        self.job = job
        self.slow = job.fault == "pageable"
        pin = GPU and not self.slow
        self.batches = [torch.randint(vocab, shape, pin_memory=pin) for _ in range(4)]
        self.beside = torch.zeros(64 << 20, dtype=torch.uint8, pin_memory=pin)
        self.place = torch.empty_like(self.beside, device=DEVICE)
        self.next = 0

    def take(self):
        with record_function("load_batch"):
            if self.job.fault == "loader":
                time.sleep(0.015 / self.job.micro_batches)
            self.next += 1
            batch = self.batches[self.next % 4]
        self.place.copy_(self.beside, non_blocking=not self.slow)
        batch = batch.to(DEVICE, non_blocking=not self.slow)
        return batch[:, :-1].contiguous(), batch[:, 1:].contiguous()


def micro_batch(job, model, tokens, targets):
    with record_function("forward"):
        loss = model(tokens, targets) / job.micro_batches
    if job.fault == "loss_item":
        loss.item()
    if job.fault == "sleep":
        time.sleep(0.015)
    with record_function("backward"):
        loss.backward()


def trainer(job, model, optimizer):
    """A function that does one step."""
    loader = Loader(job, SHAPES[job.model].vocab)
    garbage = [[i] for i in range(1_000_000)] if job.fault == "collector" else None

    def step():
        for index in range(job.micro_batches):
            batch = loader.take()
            last = index + 1 == job.micro_batches
            hold = job.parallel == "ddp" and not last
            with model.no_sync() if hold else contextlib.nullcontext():
                micro_batch(job, model, *batch)
        with record_function("optimizer"):
            optimizer.step()
        if garbage:
            gc.collect()
        if job.fault == "allocator":
            torch.cuda.empty_cache()

    if not job.graph:
        return step
    static = loader.take()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            micro_batch(job, model, *static)
            optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        micro_batch(job, model, *static)
        optimizer.step()

    def replayed():
        for place, batch in zip(static, loader.take(), strict=True):
            place.copy_(batch)
        graph.replay()

    return replayed


def measure(step, steps):
    """Milliseconds of each step: between the ends of steps on the device."""
    if not GPU:
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))
        return times
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in zip(marks, marks[1:], strict=False)]


def write_anonymous(text, path):
    """The trace without the folders of files, the host and the user; else untouched."""
    text = re.sub(r'("traceName"\s*:\s*)"[^"]*"', rf'\1"{path.name.removesuffix(".gz")}"', text)
    text = re.sub(r'("kernel_file"\s*:\s*)"[^"]*/([^"/]*)"', r'\1"\2"', text)
    text = re.sub(r'\s*"(?:host_name|username)"\s*:\s*"[^"]*",', "", text)
    # No name and no time of writing in the gzip header: equal traces are equal files.
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode())


def record(step, steps, path, shapes=True, memory=True, stack=False):
    """Writes a trace of `steps` steps (Chrome's JSON, gzip) and returns milliseconds of a step."""
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * GPU
    extra = torch.profiler._ExperimentalConfig(enable_cuda_sync_events=GPU,
                                               record_python_gc_info=stack)
    schedule = torch.profiler.schedule(wait=0, warmup=2, active=steps, repeat=1)
    with profile(activities=activities, record_shapes=shapes, profile_memory=memory,
                 with_stack=stack, experimental_config=extra, schedule=schedule) as profiler:
        for index in range(steps + 2):
            if index == 2:
                synchronize()
                start = time.perf_counter()
            step()
            if index == steps + 1:
                synchronize()
                spent = time.perf_counter() - start
            profiler.step()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(plain))
        write_anonymous(plain.read_text(), Path(path))
    return 1e3 * spent / steps


def run(job, steps=8, warmup=4, trace="", recorded=3, **switches):
    """Builds and trains; returns figures. trace: path of the trace to record after measuring."""
    if GPU:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    start = time.perf_counter()
    model, optimizer = build(job)
    step = trainer(job, model, optimizer)
    for _ in range(warmup):
        step()
    synchronize()
    ready = time.perf_counter() - start
    times = measure(step, steps)
    figures = dict(step_ms=statistics.median(times), steps_ms=[round(t, 3) for t in times],
                   weights=sum(p.numel() for p in model.parameters()), ready_s=round(ready, 1))
    if GPU:
        figures.update(before=before, peak_allocated=torch.cuda.max_memory_allocated(),
                       peak_reserved=torch.cuda.max_memory_reserved())
    if trace:
        figures["recorded_ms"] = record(step, recorded, trace, **switches)
    return figures


def start_group():
    """The process group of this process alone, or of those that torchrun has started."""
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    os.environ.setdefault("RANK", "0")
    os.environ.setdefault("WORLD_SIZE", "1")
    os.environ["LOCAL_RANK"] = "0"                      # all ranks use the first GPU
    if GPU:
        torch.zeros(1, device="cuda:0")
    dist.init_process_group("nccl" if GPU else "gloo")


def release():
    gc.collect()
    torch._dynamo.reset()
    if GPU:
        torch.cuda.empty_cache()
