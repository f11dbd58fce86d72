#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures and records training on one GPU.

    record.py GROUP... --out DIR [--only NAME,...] [--seconds 300] [--steps 8]

GROUP     what it does
steps     times and peak memory of 24 configurations, no profiler: truth for `stepscope predict`
traces    traces of eager, compiled and graphed jobs, DDP, FSDP2, fp8, mixtures: DIR/traces/NAME
faults    jobs with one thing wrong and without it, recorded: truth for `stepscope whatif`
memory    a snapshot of the allocator when memory runs out

Times of single kernels: python -m stepscope.torch.kernels.

DIR/GROUP.jsonl has a line of figures for each job. A job that fails is a line with `error`; no new
job begins after --seconds. On a machine without a GPU only --tiny runs.
"""
import argparse
import json
import time
import traceback
from dataclasses import asdict, replace
from pathlib import Path

import torch
import torch.distributed as dist
from job import GPU, Job, release, run, start_group
from models import SHAPES, config

STEPS = {
    "gpt2": Job("gpt2", 16),
    "gpt2-small-batch": Job("gpt2", 4),
    "gpt2-long": Job("gpt2", 2, 8192),
    "gpt2-accumulated": Job("gpt2", 8, micro_batches=4),
    "gpt2-recomputed": Job("gpt2", 16, recompute=True),
    "gpt2-compiled": Job("gpt2", 16, compile=True),
    "gpt2-graph": Job("gpt2", 4, graph=True),
    "gpt2-medium": Job("gpt2-medium", 8),
    "gpt2-medium-recomputed": Job("gpt2-medium", 16, recompute=True),
    "llama-1b": Job("llama-1b", 2, 2048),
    "llama-1b-short": Job("llama-1b", 1, 512),
    "llama-1b-long": Job("llama-1b", 1, 8192),
    "llama-1b-compiled": Job("llama-1b", 2, 2048, compile=True),
    "llama-1b-recomputed": Job("llama-1b", 4, 2048, recompute=True),
    "llama-1b-fp8": Job("llama-1b", 2, 2048, fp8=True),
    "llama-1b-fp8-compiled": Job("llama-1b", 2, 2048, fp8=True, compile=True),
    "llama-8b-4-layers": Job("llama-8b-4-layers", 1, 4096),
    "llama-8b-4-layers-compiled": Job("llama-8b-4-layers", 1, 4096, compile=True),
    "llama-wide": Job("llama-wide", 4, 2048),
    "llama-narrow": Job("llama-narrow", 8, 1024),
    "llama-narrow-accumulated": Job("llama-narrow", 2, 1024, micro_batches=8),
    "mixture": Job("mixture", 2, 2048),
    "mixture-small-batch": Job("mixture", 1, 512),
    "mixture-loop": Job("mixture", 2, 2048, loop=True),
}

TRACES = {
    "gpt2_eager": Job("gpt2", 8),
    "gpt2_ddp": Job("gpt2", 8, parallel="ddp", micro_batches=2),
    "gpt2_fsdp": Job("gpt2", 8, parallel="fsdp"),
    "gpt2_recomputed": Job("gpt2", 8, recompute=True),
    "gpt2_graph": Job("gpt2", 8, graph=True),
    "llama_1b_eager": Job("llama-1b", 2, 2048),
    "llama_1b_fp8": Job("llama-1b", 2, 2048, fp8=True),
    "mixture_grouped": Job("mixture", 2, 2048),
    "mixture_loop": Job("mixture", 1, 1024, loop=True),
    "gpt2_stack": Job("gpt2", 8),
    "gpt2_compiled": Job("gpt2", 8, compile=True),
    "llama_1b_compiled": Job("llama-1b", 2, 2048, compile=True),
}

# A fault, a job, and the what-if that takes the fault away. The batch decides what binds the job.
FAULTS = {
    "item": ("item", Job("gpt2", 8), "sync_free"),
    "item_small_batch": ("item", Job("gpt2", 1), "sync_free"),
    "loss_item": ("loss_item", Job("gpt2", 4, micro_batches=4), "sync_free"),
    "loader": ("loader", Job("gpt2", 4), "data_free"),
    "loader_large_batch": ("loader", Job("gpt2", 16), "data_free"),
    "pageable": ("pageable", Job("gpt2", 8), "copies_free"),
    "collector": ("collector", Job("gpt2", 4), "unseen_free"),
    "collector_stack": ("collector", Job("gpt2", 4), "collector_free"),
    "allocator": ("allocator", Job("gpt2", 8), "allocator_free"),
    "sleep": ("sleep", Job("gpt2", 4), "unseen_free"),
}


def tiny(job):
    name = "tiny-mixture" if job.model == "mixture" else "tiny"
    return replace(job, model="tiny-gpt2" if "gpt2" in job.model else name, batch=2, sequence=128,
                   graph=job.graph and GPU)


def steps_of(arguments):
    for name, job in STEPS.items():
        yield name, lambda job=job: dict(
            job=asdict(job), config=config(SHAPES[job.model], job.sequence),
            **run(arguments.size(job), steps=arguments.steps))


def traces_of(arguments):
    for name, job in TRACES.items():
        path = str(arguments.out / "traces" / name / "rank0.json.gz")
        switches = dict(stack=name == "gpt2_stack", recorded=1 if name == "gpt2_stack" else 2)
        yield name, lambda job=job, path=path, switches=switches: dict(
            job=asdict(job), **run(arguments.size(job), trace=path, **switches))


def faults_of(arguments):
    light = dict(steps=16, recorded=6, shapes=False, memory=False)
    for name, (fault, good, change) in FAULTS.items():
        switches = dict(light, stack=True, recorded=3) if name == "collector_stack" else light
        for which, job in (("with", replace(good, fault=fault)), ("without", good)):
            path = str(arguments.out / "faults" / name / which / "rank0.json.gz")
            yield f"{name}.{which}", lambda job=job, path=path, switches=switches, change=change: (
                dict(job=asdict(job), change=change,
                     **run(arguments.size(job), trace=path, **switches)))
    for name in ("gpt2_graphed", "gpt2_small_graphed"):
        batch = 1 if "small" in name else 4
        for which in ("with", "without"):
            job = Job("gpt2", batch, graph=which == "without")
            path = str(arguments.out / "faults" / name / which / "rank0.json.gz")
            yield f"{name}.{which}", lambda job=job, path=path: dict(
                job=asdict(job), change="host_free",
                **run(arguments.size(job), trace=path, **light))


def memory_of(arguments):
    def snapshot():
        torch.cuda.memory._record_memory_history(max_entries=20_000)
        failure = ""
        try:
            run(Job("gpt2", 8))
            run(Job("llama-8b-4-layers", 64, 4096), steps=1, warmup=1)
        except torch.OutOfMemoryError as error:
            failure = str(error)
            torch.cuda.memory._dump_snapshot(str(arguments.out / "out_of_memory.pickle"))
        torch.cuda.memory._record_memory_history(enabled=None)
        return dict(error_text=failure)
    if GPU:
        yield "out_of_memory", snapshot


GROUPS = dict(steps=steps_of, traces=traces_of, faults=faults_of, memory=memory_of)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", choices=GROUPS, metavar="GROUP")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--tiny", action="store_true", help="sizes of a test, also on a CPU")
    arguments = parser.parse_args()
    if not GPU and not arguments.tiny:
        parser.error("no GPU is found; --tiny runs without one")
    arguments.size = tiny if arguments.tiny else lambda job: job
    arguments.out = arguments.out.absolute()
    arguments.out.mkdir(parents=True, exist_ok=True)
    only = set(filter(None, arguments.only.split(",")))
    began = time.monotonic()
    start_group()
    name = torch.cuda.get_device_name() if GPU else "CPU"
    for group in arguments.groups:
        with open(arguments.out / f"{group}.jsonl", "a") as lines:
            for job, work in GROUPS[group](arguments):
                if only and job.split(".")[0] not in only:
                    continue
                if time.monotonic() - began > arguments.seconds:
                    print(f"{group} {job}: no time left", flush=True)
                    continue
                start = time.monotonic()
                try:
                    figures = work()
                except Exception as error:              # the next job may work
                    figures = dict(error=f"{type(error).__name__}: {error}",
                                   where=traceback.format_exc()[-1500:])
                figures = dict(name=job, device=name, torch=torch.__version__, **figures,
                               took_s=round(time.monotonic() - start, 2))
                lines.write(json.dumps(figures) + "\n")
                lines.flush()
                brief = {k: figures[k] for k in ("error", "step_ms", "recorded_ms", "took_s")
                         if k in figures}
                print(group, job, str(brief)[:400], flush=True)
                release()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
