# SPDX-License-Identifier: Apache-2.0
"""A torch.profiler whose captures are answered in the training log.

    with stepscope.torch.profile("traces") as prof:
        for batch in loader:
            train_step(batch)
            prof.step()

The training thread of each rank writes its trace as plain text into the host's temporary folder.
All else runs in parallel: a process packs the trace, a thread meets the other ranks, and on rank 0 a process analyses
the traces of all ranks. No call here raises into training."""

from __future__ import annotations

import atexit
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import torch
from torch.profiler import ProfilerAction, ProfilerActivity, schedule

import stepscope
from stepscope.loop import answer, gather, pack, words
from stepscope.loop.priority import idle_command
from stepscope.torch.job import place_of_job, ranks_of_job, this_rank

_handlers = 0  # made in this process: all ranks make theirs in the same order


class TraceHandler:
    """Call it as `on_trace_ready`. See trace_handler()."""

    def __init__(
        self, folder: str, *, analyze: bool, timeout_s: float, exit_s: float, on_answer, flags: dict
    ):
        global _handlers
        self.folder = os.path.abspath(folder)
        self.answer: dict | None = None  # of the latest capture, on rank 0: answer.answer_of()
        self._analyze = analyze
        self._timeout_s = timeout_s
        self._exit_s = exit_s
        self._on_answer = on_answer
        self._flags = flags
        self._index = _handlers
        self._captures = 0
        self._threads: list[threading.Thread] = []
        _handlers += 1
        atexit.register(self.wait, exit_s)
        try:
            os.makedirs(self.folder, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            self._warn_of_folder(this_rank(), error)

    def __call__(self, prof) -> None:
        number = self._captures
        self._captures += 1
        try:
            self._save(prof, number)
        except Exception as error:  # training goes on, whatever happens here
            words.warn(f"the capture failed, training goes on: {type(error).__name__}: {error}")

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits until the answers of all captures so far are there, at most `timeout_s` seconds."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        self._threads = [thread for thread in self._threads if thread.is_alive()]

    def summary(self) -> dict:
        """Flat numbers and strings of the latest answer, for W&B, MLflow and TensorBoard; empty
        before the first and on other ranks than 0."""
        return dict(self.answer["summary"]) if self.answer else {}

    def _warn_of_folder(self, rank: int, error: OSError) -> None:
        words.warn(
            f"rank {rank} cannot write its trace into {self.folder}: {error.strerror or error};"
            " give a folder that can be written. Training goes on"
        )

    def _save(self, prof, number: int) -> None:
        """In the training thread: the plain trace, then a thread for the rest."""
        rank, world = this_rank(), ranks_of_job()
        record = {"rank": rank, "path": None, "bytes": 0, "tail": "", "steps": None, "error": None}
        plain = ""
        try:
            handle, plain = tempfile.mkstemp(prefix=f"stepscope-rank{rank}-", suffix=".json")
            os.close(handle)
            prof.export_chrome_trace(plain)
            if os.path.getsize(plain) == 0:
                raise OSError(f"torch.profiler wrote nothing into {plain}")
        except Exception as error:
            record["error"] = f"its trace could not be written: {error}"
            words.warn(f"rank {rank}: {record['error']}. Training goes on")
        # Found here: the process group may be gone when the thread needs its store.
        place = place_of_job(f"stepscope/capture{self._index}.{number}/", self.folder)
        thread = threading.Thread(
            target=self._finish,
            args=(place, record, plain, number, world, time.monotonic()),
            name="stepscope",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def _finish(self, place, record, plain, number, world, since) -> None:
        try:
            folder = os.path.join(self.folder, f"capture_{number}")
            if record["error"] is None:
                self._pack(record, plain, folder)
            if not self._analyze:
                return
            if record["rank"] != 0:
                gather.offer(place(), record, time.monotonic() + self._timeout_s)
                return
            found = gather.gather(place(), record, world, folder, self._timeout_s)
            for line in self._answer(found, world, folder, since):
                words.say(line)
        except Exception as error:
            words.warn(
                f"rank {record['rank']}: no answer for capture {number}:"
                f" {type(error).__name__}: {error}. Training goes on"
            )

    def _pack(self, record: dict, plain: str, folder: str) -> None:
        rank = record["rank"]
        packed = os.path.join(folder, f"rank{rank}.json.gz")
        try:
            os.makedirs(folder, exist_ok=True)
            command = idle_command(
                sys.executable, "-I", "-S", os.path.abspath(pack.__file__), plain, packed
            )
            done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
            if done.returncode != 0:
                raise OSError(done.stderr.strip() or f"packing ended with {done.returncode}")
            record.update(json.loads(done.stdout), path=packed)
        except OSError as error:
            record["error"] = f"it cannot write into {folder}: {error.strerror or error}"
            self._warn_of_folder(rank, error)
            if os.path.exists(plain):
                os.remove(plain)

    def _answer(self, found: gather.Gathered, world: int, folder: str, since: float):
        """Yields the lines of the log."""
        for rank, why in found.failed.items():
            yield f"rank {rank} has no trace in this capture: {why}"
        if found.lost:
            yield (
                f"{words.ranks(found.lost)} sent no trace within {self._timeout_s:g} s after rank 0"
                " had its own: a process has died or hangs, or its capture ends later"
            )
        if found.sent:
            yield (
                f"{words.ranks(found.sent)} share no folder with rank 0: their traces came through"
                f" the job's store into {folder}"
            )
        if not found.files:
            yield "no rank has a trace in this capture, so there is no answer"
            return
        flags = dict(self._flags)
        common = gather.common_steps(found.steps)
        if common is not None:
            told = ", ".join(f"rank {r}: {s[0]}-{s[1]}" for r, s in list(found.steps.items())[:8])
            if not common:
                yield (
                    f"the ranks recorded different steps ({told}), none in common, so there is no"
                    " answer; give all ranks the same schedule"
                )
                return
            flags.setdefault("steps", f"{common[0]}:{common[1]}")
            yield (
                f"the ranks recorded different steps ({told}); the answer is of"
                f" {words.steps(*common)}, which all recorded"
            )
        told = answer.analyze_apart(found.files, flags, timeout_s=600)
        self.answer = told
        yield from answer.lines_of(told)
        if len(found.ranks) < world:
            yield f"the answer is of {words.ranks(found.ranks)} of {world} ranks"
        yield f"{time.monotonic() - since:.1f} s after the capture; traces: {folder}"
        if self._on_answer:
            self._on_answer(told)


def trace_handler(
    folder: str,
    *,
    analyze: bool = True,
    timeout_s: float = 60.0,
    exit_s: float = 30.0,
    on_answer=None,
    **flags,
) -> TraceHandler:
    """For `on_trace_ready` of torch.profiler.profile, on every rank. Writes this rank's trace to
    FOLDER/capture_N/rank<r>.json.gz. Then rank 0 logs the verdict, the budget and the first finding
    of all ranks, seconds later and during training.

    analyze    False: only write the traces.
    timeout_s  Rank 0 waits so long for the traces of the others.
    exit_s     At the end of the program an answer that is under way is waited for so long.
    on_answer  Called on rank 0, in a thread of its own, with the answer {brief, summary, problems}:
               Analysis.brief(), Analysis.summary(), and lines about inputs that failed.
    flags      Parameters of stepscope.analyze: model="llama-3-8b", plan=stepscope.Plan(tp=2). They
               go to another process. A wrong name raises TypeError here."""
    inspect.signature(stepscope.analyze).bind([], **flags)
    return TraceHandler(
        folder,
        analyze=analyze,
        timeout_s=timeout_s,
        exit_s=exit_s,
        on_answer=on_answer,
        flags=flags,
    )


def _experimental_config(with_stack: bool):
    """Synchronisation rows on CUDA; garbage collection with stacks; no event objects in Python,
    which take longer than the capture. Switches that this torch lacks are left out."""
    from torch.profiler import _ExperimentalConfig

    wanted = {"trace_only": True}
    if torch.cuda.is_available():
        wanted["enable_cuda_sync_events"] = True
    if with_stack:
        wanted["record_python_gc_info"] = True
    known = _ExperimentalConfig.__init__.__doc__ or ""
    return _ExperimentalConfig(**{k: v for k, v in wanted.items() if f" {k}:" in known})


class _Profiler(torch.profiler.profile):
    """Also measures the steps while it waits: recording makes the host slower."""

    def __init__(self, **options):
        super().__init__(**options)
        self._began = None  # of the step, if it is one of those
        self._waiting = []  # seconds of such steps

    def step(self) -> None:
        now = time.perf_counter()
        if self._began is not None:
            self._waiting.append(now - self._began)
        super().step()
        waits = self.current_action == ProfilerAction.NONE
        self._began = now if waits else None
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            # The first ones compile, fill caches, and may follow a capture.
            later = sorted(self._waiting[len(self._waiting) // 2 :])
            self._waiting = []
            if len(later) >= 3:
                middle = str(round(1e9 * later[len(later) // 2]))
                self.add_metadata_json("stepscope_unrecorded_step_ns", middle)


def profile(
    folder: str,
    *,
    wait: int = 10,
    warmup: int = 3,
    active: int = 5,
    repeat: int = 1,
    skip_first: int = 0,
    with_stack: bool = False,
    on_trace_ready=None,
    handler: dict | None = None,
    **profiler,
) -> torch.profiler.profile:
    """A torch.profiler.profile with the switches that the analysis needs
    (docs/how-to/record-a-trace.md). Call its step() once per optimizer step, on every rank.

    wait, warmup, active, repeat, skip_first: steps, as for torch.profiler.schedule. repeat=0 goes
    on for ever. with_stack: Python frames; four times as large. on_trace_ready: instead of
    trace_handler(folder, **handler). Other keywords go to torch.profiler.profile."""
    options = {
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": with_stack,
        "experimental_config": _experimental_config(with_stack),
        "schedule": schedule(
            wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first
        ),
        "activities": [ProfilerActivity.CPU]
        + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else []),
    }
    options.update(profiler)
    if on_trace_ready is None:
        on_trace_ready = trace_handler(folder, **(handler or {}))
    return _Profiler(on_trace_ready=on_trace_ready, **options)
