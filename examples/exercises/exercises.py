#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The six exercises of the profiling chapter with real PyTorch on two CPU cores: what the chapter's own formula gives by
hand, what stepscope answers for the same run, and what its training engine measures on this machine.

    exercises.py OUT [--stepscope PROGRAM]

OUT holds the traces and the files that stepscope read. Takes about four minutes. Written against torch 2.13.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "train_tiny"))
import record  # noqa: E402

RANKS, WARM_UP, STEPS = 2, 3, 12
SHAPE = record.Shape()
ENGINE = (
    "train --preset llama-tiny --micro-batch 1 --seq 32 --zero 1 --ranks 2 --quiet --data".split()
    + [str(Path(__file__).resolve())]
)


# ---- the runs, each in two processes of one thread -------------------------------------------


def batch_of(step):
    random = torch.Generator().manual_seed(step)
    tokens = torch.randint(SHAPE.vocab, (SHAPE.batch, SHAPE.sequence + 1), generator=random)
    return tokens[:, :-1], tokens[:, 1:]


class Job:
    """A GPT with DDP in this process."""

    def __init__(self, bucket_mb=2.0):
        torch.manual_seed(0)
        self.model = DistributedDataParallel(record.Gpt(SHAPE, False), bucket_cap_mb=bucket_mb)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, fused=True)

    def step(self, number, sleep_s=0.0):
        with record_function("load_batch"):
            tokens, targets = batch_of(number)
            time.sleep(sleep_s)
        with record_function("forward"):
            loss = record.loss_of(self.model(tokens), targets)
        with record_function("backward"):
            loss.backward()
        with record_function("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad()

    def timed(self, number, local=False, sleep_s=0.0):
        """Seconds of a step; `local`: gradients stay where they are."""
        dist.barrier()
        begin = time.perf_counter()
        with self.model.no_sync() if local else contextlib.nullcontext():
            self.step(number, sleep_s)
        return time.perf_counter() - begin

    def times(self, local=False, sleep_s=0.0):
        """Seconds of the steps after the warm-up."""
        return [self.timed(n, local, sleep_s) for n in range(WARM_UP + STEPS)][WARM_UP:]

    def record(self, folder, sleep_s=0.0):
        Path(folder).mkdir(parents=True, exist_ok=True)
        path = Path(folder) / f"rank{dist.get_rank()}.json"
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1),
            record_shapes=True,
            profile_memory=True,
            on_trace_ready=lambda p: p.export_chrome_trace(str(path)),
        ) as prof:
            for n in range(WARM_UP + STEPS):
                self.step(n, sleep_s)
                prof.step()


def mean(values):
    return statistics.mean(values)


def all_ranks(value):
    values = [None] * RANKS
    dist.all_gather_object(values, value)
    return values


def mfu(rank, out):
    job = Job()
    times = job.times()
    job.record(out / "ddp")
    with FlopCounterMode(display=False) as counter:
        job.step(0)
    if rank == 0:
        (out / "times.csv").write_text("".join(f"{t * 1e3}\n" for t in times))
    return {
        "step_s": statistics.median(times),
        "flops": counter.get_total_flops() * RANKS,
        "peak": min(all_ranks(record.measured_peak_flops())),
    }


def alpha_beta(rank, out):
    rows = []
    for size in [1 << n for n in range(10, 23)]:
        data = torch.ones(size // 4)
        for _ in range(5):
            dist.all_reduce(data)
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(20):
            dist.all_reduce(data)
        rows.append((size, (time.perf_counter() - begin) / 20))
    return rows


def overlap(rank, out):
    """Steps with and without communication and communication alone take turns, so other load meets all three."""
    job = Job()
    gradients = [torch.ones(size) for size in bucket_sizes()]
    together, alone, transfers = [], [], []
    for n in range(WARM_UP + STEPS):
        together.append(job.timed(n))
        alone.append(job.timed(n, local=True))
        dist.barrier()
        begin = time.perf_counter()
        for gradient in gradients:
            dist.all_reduce(gradient)
        transfers.append(time.perf_counter() - begin)
    hidden = [a + t - b for b, a, t in list(zip(together, alone, transfers))[WARM_UP:]]
    noise = 2 * statistics.stdev(hidden) / len(hidden) ** 0.5
    medians = [statistics.median(t[WARM_UP:]) for t in (together, alone, transfers)]
    return [mean(all_ranks(m)) for m in (*medians, noise)]


def bucket_sizes():
    """Elements of each gradient message of a step, in the order in which DDP sends them."""
    sizes = []

    def hook(state, bucket):
        sizes.append(bucket.buffer().numel())
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda f: f.value()[0])

    probe = Job()
    probe.model.register_comm_hook(None, hook)
    for n in range(2):  # DDP makes its final buckets in the second step
        sizes.clear()
        probe.step(n)
    return list(sizes)


def straggler(rank, out):
    job = Job()
    sleep_s = 0.05 if rank == 1 else 0.0
    job.record(out / "slow", sleep_s)
    # The chapter's: local times without communication, gathered; a rank above 1.1 of the mean is late.
    local = all_ranks(mean(job.times(local=True, sleep_s=sleep_s)))
    return local


def bucket(rank, out):
    return {size: all_ranks(statistics.median(Job(size).times()))[0] for size in (0.25, 2.0, 25.0)}


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def memory(rank, out):
    """The profiler starts before the model is made, so the trace has every allocation."""
    saved = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    folder = out / "memory"
    folder.mkdir(exist_ok=True)
    path = folder / f"rank{rank}.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch advises a warm-up, which would miss allocations
        profiler = profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=0, active=4, repeat=1),
            record_shapes=True,
            profile_memory=True,
            on_trace_ready=lambda p: p.export_chrome_trace(str(path)),
        )
    with profiler as prof:
        model = record.Gpt(SHAPE, False)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
        parameters = {p.untyped_storage().data_ptr() for p in model.parameters()}
        for n in range(4):
            tokens, targets = batch_of(n)
            saved.clear()
            with record_function("forward"), torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
                loss = record.loss_of(model(tokens), targets)
            activations = sum(size for at, size in saved.items() if at not in parameters)
            with record_function("backward"):
                loss.backward()
            gradients = bytes_of(p.grad for p in model.parameters())
            with record_function("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
            prof.step()
    moments = bytes_of(t for s in optimizer.state.values() for t in s.values() if t.dim() > 0)
    return {
        "parameters": bytes_of(model.parameters()),
        "gradients": gradients,
        "optimizer": moments,
        "activations": activations,
    }


EXERCISES = (mfu, alpha_beta, overlap, straggler, bucket, memory)


def run_rank(rank, store, out, answers):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    for exercise in EXERCISES:
        answer = exercise(rank, Path(out))
        if rank == 0:
            answers[exercise.__name__] = answer
    dist.barrier()
    dist.destroy_process_group()


# ---- what stepscope says ---------------------------------------------------------------------


class Program:
    """stepscope, whose verbs answer in JSON."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *words):
        words = [self.path, *map(str, words), "--json", "-"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def train(self, *words):
        return self(*ENGINE, *words)


def row(what, by_hand, answer, engine=""):
    print(f"  {what:<28} {by_hand:>18} {answer:>24} {engine:>24}")


def title(number, text):
    print(f"\n{number}. {text}")
    row("", "by hand", "stepscope", "its engine")


def show_mfu(stepscope, out, a):
    peak = ["--peak-tflops", a["peak"] / 1e12, "--model-flops-per-step", a["flops"]]
    checked = stepscope("check", out / "times.csv", "--gpus", RANKS, *peak)
    traced = stepscope("analyze", out / "ddp", *peak)["mfu"]["mfu"]
    trained = stepscope.train("--steps", 40)
    found = next(c["value"] for c in checked["checks"] if c["name"] == "mfu")
    title(1, "What MFU does the run reach? FLOPs by torch's counter; the engine has a model of its own")
    row("MFU, of the step times", f"{a['flops'] / (a['step_s'] * RANKS * a['peak']):.1%}", f"{found:.1%}")
    row("MFU, while recorded", "", f"{traced:.1%}")
    row("MFU, of the engine's model", "", "", f"{trained['mfu']:.1%}")


def nccl_tests_table(rows):
    """The times as all_reduce_perf prints them."""
    lines = [
        "# Collective test starting: all_reduce_perf",
        *(f"#  Rank  {r} Group  0 Pid {r + 1} on here device  {r} [0000:0{r}:00] cpu" for r in range(RANKS)),
        "#       size         count      type   redop    root     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)",
    ]
    for size, seconds in rows:
        rate = size / seconds / 1e9
        lines.append(
            f"{size:>12} {size // 4:>12}  float  sum  -1  {seconds * 1e6:.2f}  {rate:.2f}  {rate * 2 * (RANKS - 1) / RANKS:.2f}  0"
        )
    return "\n".join(lines) + "\n"


def show_alpha_beta(stepscope, out, rows):
    sizes, times = np.array(rows).T
    alpha, beta = np.linalg.lstsq(np.stack([np.ones_like(sizes), sizes], 1), times, rcond=None)[0]
    (out / "all_reduce_perf.txt").write_text(nccl_tests_table(rows))
    own = stepscope("calibrate", out / "engine.json", "--ranks", RANKS, "--quick")
    from_table = ("--from", out / "all_reduce_perf.txt", "--machine", out / "engine.json")
    fitted = stepscope("calibrate", out / "gloo.json", *from_table)
    title(2, "How well does α + β·n fit? By hand one line for all sizes, in stepscope the pieces that the sizes need")
    row("α, 1/β of one line", f"{alpha * 1e6:.1f} µs {1e-9 / beta:.2f} GB/s", "")
    pieces = [next(f for f in x["link_fits"] if f["name"] == "all_reduce")["pieces"] for x in (fitted, own)]
    for n in range(max(map(len, pieces))):
        row(f"piece {n + 1}", "", *(piece_text(p[n]) if n < len(p) else "" for p in pieces))
    predicted = [alpha + beta * size for size in sizes]
    error = mean(abs(p - t) / t for p, t in zip(predicted, times))
    row("mean error", f"{error:.0%}", *(f"{100 * fit_of(x)['mean_error']:.0f}%" for x in (fitted, own)))


def fit_of(calibration):
    return next(f for f in calibration["link_fits"] if f["name"] == "all_reduce")


def piece_text(piece):
    rate = f"{piece['gb_per_s']:.2f} GB/s" if piece["gb_per_s"] else "flat"
    return f"{piece['start_ns'] / 1e3:.0f} µs {rate}"


def show_overlap(stepscope, out, times):
    together, compute, transfer, noise = times
    isolated = stepscope.train("--steps", 24, "--isolate")["isolation"]
    alone = [isolated[k]["mean_ns"] for k in ("compute", "communication")]
    found = mean(r["overlap"]["efficiency"] for r in stepscope("analyze", out / "ddp")["ranks"])
    title(3, "How much of the communication is hidden? By hand from runs without it; in a trace from what runs at once")
    row("compute, communication", f"{compute * 1e3:.0f}, {transfer * 1e3:.0f} ms", "", f"{alone[0] / 1e6:.1f}, {alone[1] / 1e6:.1f} ms")
    row("together", f"{together * 1e3:.0f} ms", "", f"{isolated['both']['mean_ns'] / 1e6:.1f} ms")
    hidden = compute + transfer - together
    by_hand = hidden / min(compute, transfer) if abs(hidden) > noise else None
    row("overlap efficiency", share_text(by_hand), f"{found:.0%}", share_text(isolated["overlap_efficiency"]))


def share_text(share):
    return "too noisy" if share is None else f"{share:.0%}"


def show_straggler(stepscope, out, local):
    title(4, "Who is the straggler? Rank 1 sleeps 50 ms a step")
    slowest = max(range(RANKS), key=lambda r: local[r])
    ratio = local[slowest] / mean(local)
    late = f"rank {slowest}, {ratio:.0%} of mean" if ratio > 1.1 else "none"
    stepscope.train("--steps", 40, "--inject", "sleep:1:50ms", "--trace", out / "engine_slow")
    row("the chapter's check", late, "")
    for name, folder in (("PyTorch", "slow"), ("engine", "engine_slow")):
        print(f"  {name}: {stepscope('analyze', out / folder)['answer']['sentence']}")


def show_bucket(stepscope, out, medians):
    title(5, "Which bucket size is best? By hand and in the engine each is run; whatif replays the trace of 2 MB")
    sizes = list(medians)
    changes = [w for size in sizes for w in ("--change", f"bucket:{size:g}MB")]
    replayed = stepscope("whatif", out / "ddp", *changes)["scenarios"]
    for size, change in zip(sizes, replayed):
        trained = stepscope.train("--steps", 40, "--bucket", f"{size:g}MB")
        bounds = f"{(change['shortest_step_ns'] or change['step_ns']) / 1e6:.0f} to {change['step_ns'] / 1e6:.0f} ms"
        row(f"{size:g} MB", f"{medians[size] * 1e3:.0f} ms", bounds, f"{trained['step_time_ns'] / 1e6:.1f} ms")


def show_memory(stepscope, out, held):
    device = stepscope("analyze", out / "memory")["ranks"][0]["memory"]["devices"][0]
    planned = {m["name"]: m for m in stepscope.train("--steps", 3)["memory"]}
    planned["optimizer"] = planned["moments"]
    title(6, "What fills the memory? In stepscope at the peak; in the engine measured, and planned before step 1")
    for use, size in held.items():
        own = planned[use]
        engine = f"{own['measured_bytes'] / 1e6:.2f} ({own['planned_bytes'] / 1e6:.2f}) MB"
        row(use, f"{size / 1e6:.2f} MB", f"{device['composition_bytes'][use] / 1e6:.2f} MB", engine)
    # Kept, made before the first backward and not of a weight's size.
    row("of unknown use", "", f"{device['composition_bytes']['unknown'] / 1e6:.2f} MB")
    print(f"  the peak is in {device['phase_at_peak']}, in {device['running_at_peak']}")


SHOWN = (show_mfu, show_alpha_beta, show_overlap, show_straggler, show_bucket, show_memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--stepscope", default="stepscope", help="the program")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with mp.Manager() as manager, tempfile.TemporaryDirectory() as folder:
        answers = manager.dict()
        mp.spawn(run_rank, (f"{folder}/store", str(args.out), answers), nprocs=RANKS)
        for exercise, show in zip(EXERCISES, SHOWN):
            show(Program(args.stepscope), args.out, answers[exercise.__name__])


if __name__ == "__main__":
    main()
