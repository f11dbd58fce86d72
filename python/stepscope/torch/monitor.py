# SPDX-License-Identifier: Apache-2.0
"""A monitor of a running job without a profiler: the step times of all ranks, the rank that the
others wait for, steps that become longer, and a job that stands still.

    monitor = stepscope.torch.monitor(model)

A few hooks mark where the training thread is (marks.py). The waits for other ranks are seen where
the thread or the stream waits: Work.wait, the end of DistributedDataParallel's backward and its
exchange of buffers, FSDP2's all-gathers and reduce-scatters. What is between them is own work.
Every few seconds a thread sends the times of the steps through the job's store to rank 0, where a
process of its own judges them (loop/lateness.py says how) and the log gets a line if something has
changed. No call here raises into training."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import subprocess
import sys
import threading
import time

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from stepscope.loop import watch, words
from stepscope.loop.lateness import PHASES
from stepscope.loop.priority import idle_command
from stepscope.loop.step_file import StepFile
from stepscope.torch.job import has_group, place_of_job, ranks_of_job, this_rank
from stepscope.torch.marks import DeviceMarks, HostMarks

DATA, FORWARD, LOSS, BACKWARD, WAIT, AFTER_BACKWARD, OPTIMIZER, OTHER = range(len(PHASES))

_active: Monitor | None = None  # the one that the patched calls report to
_patched: list = []  # (owner, name, original)
_monitors = 0  # made in this process: all ranks make theirs in the same order


def _in_phase(phase: int, original):
    """`original`, during which the thread of the active monitor is in `phase`."""

    @functools.wraps(original, updated=())
    def timed(*args, **kwargs):
        monitor = _active
        if monitor is None or not monitor._counts(phase):
            return original(*args, **kwargs)
        before = monitor._marks.enter(phase)
        try:
            return original(*args, **kwargs)
        finally:
            monitor._marks.enter(before)

    return timed


def _calls():
    """The calls in which a rank waits for others or loads data: (owner, name, phase). Calls that this torch lacks are
    left out."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    yield _BaseDataLoaderIter, "__next__", DATA
    if not torch.distributed.is_available():
        return
    yield torch.distributed.Work, "wait", WAIT
    from torch.nn.parallel import DistributedDataParallel

    yield DistributedDataParallel, "_sync_buffers", WAIT
    try:
        from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
    except ImportError:
        return
    for name in ("wait_for_unshard", "_wait_for_post_backward", "finalize_backward"):
        yield FSDPParamGroup, name, WAIT


def _patch() -> None:
    for owner, name, phase in _calls():
        original = getattr(owner, name, None)
        if original is not None:
            _patched.append((owner, name, original))
            setattr(owner, name, _in_phase(phase, original))


def _unpatch() -> None:
    while _patched:
        owner, name, original = _patched.pop()
        setattr(owner, name, original)


def _first_with_gradient(output):
    """The first tensor in a module's output whose gradient backward will compute, or None."""
    if isinstance(output, torch.Tensor):
        return output if output.requires_grad else None
    if isinstance(output, dict):
        output = output.values()
    elif not isinstance(output, (list, tuple)):
        output = vars(output).values() if hasattr(output, "__dict__") else ()
    for entry in output:
        if (found := _first_with_gradient(entry)) is not None:
            return found
    return None


class _ModuleHooks:
    """Marks forward and backward of one module, called as the loop calls it."""

    def __init__(self, module, marks):
        self._marks = marks
        self._handles = [
            module.register_forward_pre_hook(self._begin),
            module.register_forward_hook(self._end),
        ]
        self._parameters = [p for p in module.parameters() if p.requires_grad]
        self._last = None  # the parameter whose gradient was the last of a backward
        self._order: list = []  # parameters in the order of their gradients
        self._watched: dict = {}  # hooks by index of the parameter
        self._backwards = 0
        self._missed = 0
        self._learn()

    def remove(self) -> None:
        for handle in (*self._handles, *self._watched.values()):
            handle.remove()
        self._watched.clear()

    def _learn(self) -> None:
        """Watches all parameters until it is known whose gradient is the last."""
        self._last = None
        self._backwards = 0
        for index, parameter in enumerate(self._parameters):
            if index not in self._watched:
                hook = functools.partial(self._gradient, index)
                self._watched[index] = parameter.register_post_accumulate_grad_hook(hook)

    def _begin(self, module, args) -> None:
        self._marks.enter(FORWARD)

    def _end(self, module, args, output) -> None:
        marks = self._marks
        if not torch.is_grad_enabled() or (tensor := _first_with_gradient(output)) is None:
            marks.enter(OTHER)
            return
        marks.enter(LOSS)
        tensor.register_hook(self._backward)

    def _backward(self, gradient) -> None:
        if self._marks.phase == BACKWARD:
            return
        self._marks.enter(BACKWARD)
        self._arrived = False
        # At the end of backward DistributedDataParallel's own callback waits for the all-reduces.
        # It is enqueued during backward; one that is enqueued by a callback comes behind it.
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: engine.queue_callback(self._after))

    def _gradient(self, index, parameter) -> None:
        if self._last is None:
            self._order.append(index)
        elif index == self._last and self._marks.phase == BACKWARD:
            self._arrived = True
            self._marks.enter(WAIT)

    def _after(self) -> None:
        self._marks.enter(AFTER_BACKWARD)
        self._backwards += 1
        if self._last is None:
            if self._backwards >= 3 and self._order:  # the first ones build buckets
                self._last = self._order[-1]
                for index in [i for i in self._watched if i != self._last]:
                    self._watched.pop(index).remove()
            self._order.clear()
        elif self._arrived:
            self._missed = 0
        else:
            self._missed += 1
            if self._missed >= 3:  # the graph has changed
                self._missed = 0
                self._learn()


class Monitor:
    """See monitor(). Only the latest one of a process is active."""

    def __init__(self, modules, *, peers, every_s, silent_s, skip, folder, on_state, live):
        global _active, _monitors
        self._rank, self._world = this_rank(), ranks_of_job()
        self._peers = peers
        self._every_s = every_s
        self._silent_s = silent_s
        self._skip = skip
        self._on_state = on_state
        self._state: dict = {}
        self._thread_id = threading.get_ident()
        self._explicit = False
        self._stepper = None  # id of the optimizer whose step() ends a step
        self._ended = time.monotonic()
        self._closed = threading.Event()
        self._wake = threading.Event()  # a step has ended, or the monitor is closed
        self._untold: list = []  # steps that no record has
        self._failed = False  # a step could not be written
        self._steps = self._step_file(live) if live else None
        cuda = torch.cuda.is_available() and any(
            p.is_cuda for module in modules for p in module.parameters()
        )
        self._marks = (
            DeviceMarks(lambda: torch.cuda.Event(enable_timing=True)) if cuda else HostMarks()
        )
        self._hooks = [_ModuleHooks(module, self._marks) for module in modules]
        self._handles = [
            register_optimizer_step_pre_hook(self._before_optimizer),
            register_optimizer_step_post_hook(self._after_optimizer),
        ]
        if _active is not None:
            _active.close()
        _patch()
        _active = self
        place = place_of_job(f"stepscope/monitor{_monitors}/", folder)
        _monitors += 1
        if place is None and self._world > 1:
            words.warn(
                f"the monitor of rank {self._rank} sees only its own rank: no process group is"
                " initialised; make the monitor after init_process_group, or give it a folder that"
                " the ranks share"
            )
            self._world, self._rank = 1, 0
        self._thread = threading.Thread(
            target=self._run, args=(place,), name="stepscope", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)

    def step(self) -> None:
        """Ends a step. Without a call of it, a step ends with each step() of the optimizer that
        stepped first."""
        if self._explicit or self._stepper is None:
            self._end_step()
        self._explicit = True  # the optimizer has ended the step of the first call

    @contextlib.contextmanager
    def phase(self, name: str):
        """The body is in a phase of lateness.PHASES: with monitor.phase("data"): …"""
        before = self._marks.enter(PHASES.index(name))
        try:
            yield
        finally:
            self._marks.enter(before)

    def summary(self) -> dict:
        """Flat numbers of the last steps of all ranks, for W&B, MLflow and TensorBoard; empty
        before the first and on other ranks than 0."""
        return dict(self._state)

    def close(self) -> None:
        """Removes all hooks, sends the last steps and ends the thread, within two seconds."""
        global _active
        if self._closed.is_set():
            return
        atexit.unregister(self.close)
        if _active is self:
            _active = None
            _unpatch()
        for hooks in self._hooks:
            hooks.remove()
        for handle in self._handles:
            handle.remove()
        self._closed.set()
        self._wake.set()
        self._thread.join(2)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _counts(self, phase: int) -> bool:
        """Whether a call that begins now is the training thread's: backward has threads of its own.
        A call within a wait is a part of it."""
        now = self._marks.phase
        if now == WAIT or now == phase:
            return False
        return now == BACKWARD or threading.get_ident() == self._thread_id

    def _before_optimizer(self, optimizer, args, kwargs) -> None:
        self._marks.enter(OPTIMIZER)

    def _after_optimizer(self, optimizer, args, kwargs) -> None:
        self._marks.enter(OTHER)
        if self._explicit:
            return
        if self._stepper is None:
            self._stepper = id(optimizer)
        if self._stepper == id(optimizer):
            self._end_step()

    def _end_step(self) -> None:
        self._marks.end_step()
        self._ended = time.monotonic()
        if self._steps:
            self._wake.set()

    def _step_file(self, folder) -> StepFile | None:
        try:
            return StepFile(folder, self._rank, self._world, self._peers)
        except OSError as error:
            words.warn(
                f"rank {self._rank} cannot write its steps for stepscope live: {error}. Training"
                " goes on"
            )
            return None

    def _pause(self, seconds: float) -> bool:
        """Writes steps as they end, for so long. Whether the monitor is closed."""
        if not self._steps:
            return self._closed.wait(seconds)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._closed.is_set():
            if self._wake.wait(left):
                self._wake.clear()
                self._take()
        return self._closed.is_set()

    def _take(self) -> None:
        for number, times in self._marks.take():
            if number < self._skip:
                continue
            self._untold.append((number, times))
            if self._steps:
                self._write(number, times)

    def _write(self, number: int, times) -> None:
        phases = {name: ns for name, ns in zip(PHASES, times) if name != "wait"}
        try:
            self._steps.write(number, sum(times), times[WAIT], phases)
            self._failed = False
        except OSError as error:
            if not self._failed:
                words.warn(f"a step of rank {self._rank} is not in its file: {error}")
            self._failed = True

    def _run(self, place) -> None:
        """The thread: sends records, and on rank 0 gathers them and talks to the judge."""
        judge = None
        try:
            place = place() if place else None
            if self._rank == 0:
                judge = _Judge(self._silent_s)
            sequence, wanted = 0, [0] * self._world
            last = False
            start = time.monotonic()
            while not last:
                # More often at first, so that a late rank is named soon.
                pause_s = min(self._every_s, max(1.0, (time.monotonic() - start) / 10))
                last = self._pause(pause_s)
                record = self._record()
                if self._rank == 0:
                    judge.send(record)
                    # About 20 µs of the store a rank: at most a hundredth of the time.
                    for rank in range(1, self._world):
                        key = f"{rank}.{wanted[rank]}"
                        while (data := place.get(key)) is not None:
                            place.drop(key)
                            judge.send(data)
                            wanted[rank] += 1
                            key = f"{rank}.{wanted[rank]}"
                    answer = judge.ask()
                    self._state = answer["state"]
                    for line in answer["lines"]:
                        words.say(line)
                    self._tell_state()
                elif place:
                    place.put(f"{self._rank}.{sequence}", record)
                    sequence += 1
        except Exception as error:
            if not self._closed.is_set():
                words.warn(
                    f"the monitor of rank {self._rank} has ended: {type(error).__name__}: {error}."
                    " Training goes on"
                )
        finally:
            if judge:
                judge.end()
            if self._steps:
                self._steps.close()

    def _tell_state(self) -> None:
        if not self._on_state:
            return
        try:
            self._on_state(dict(self._state))
        except Exception as error:
            self._on_state = None
            words.warn(f"on_state failed and is not called again: {type(error).__name__}: {error}")

    def _record(self) -> bytes:
        self._take()
        steps, self._untold = self._untold, []
        age_s = time.monotonic() - self._ended
        return watch.encode(
            self._rank, self._world, self._peers, PHASES[self._marks.phase], age_s, steps
        )


class _Judge:
    """The process that judges, on the host of rank 0."""

    def __init__(self, silent_s: float):
        self._process = subprocess.Popen(
            idle_command(sys.executable, watch.__file__, str(silent_s)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for training
        )

    def send(self, record: bytes) -> None:
        self._process.stdin.write(len(record).to_bytes(4, "little") + record)

    def ask(self) -> dict:
        self._process.stdin.write(bytes(4))
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"its process for judging ended with {self._process.wait()}")
        return json.loads(line)

    def end(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _peers_of(modules) -> list[int] | None:
    """The ranks of the first DistributedDataParallel's group: they do the same work. None: all."""
    from torch.nn.parallel import DistributedDataParallel

    for module in modules:
        for child in module.modules():
            if isinstance(child, DistributedDataParallel):
                peers = torch.distributed.get_process_group_ranks(child.process_group)
                return None if len(peers) == ranks_of_job() else sorted(peers)
    return None


def monitor(
    *modules: torch.nn.Module,
    peers=None,
    every_s: float = 5.0,
    silent_s: float = 60.0,
    skip: int = 5,
    folder: str | None = None,
    on_state=None,
    live: str | None = None,
) -> Monitor:
    """Watches the job from now on, on every rank. Rank 0 logs what has changed.

    modules   As the loop calls them (after DistributedDataParallel, fully_shard, torch.compile).
              Without them, forward and backward are not distinguished, and the wait at the end of
              DistributedDataParallel's backward is not seen.
    peers     The ranks that do the same work as this one: a list or a process group. Without it
              the group of DistributedDataParallel, else all ranks. With a pipeline give it.
    every_s   Seconds between two records of a rank; fewer in the first minute.
    silent_s After this number of seconds a silent rank, or a job that stands still, is reported.
    skip      First steps that do not count: compilation, caches, buckets.
    folder    Shared folder, for a job without a process group.
    on_state  Called on rank 0, in a thread of its own, with summary() after each judgement.
    live      Folder in which each rank writes its steps, for the command stepscope live."""
    if peers is None:
        peers = _peers_of(modules) if has_group() else None
    elif not isinstance(peers, (list, tuple)):
        peers = torch.distributed.get_process_group_ranks(peers)
    return Monitor(
        modules,
        peers=None if peers is None else [int(rank) for rank in peers],
        every_s=every_s,
        silent_s=silent_s,
        skip=skip,
        folder=folder,
        on_state=on_state,
        live=live,
    )
