# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes on gloo: captures that are answered, the monitor, and what goes wrong."""

import ast
import gzip
import json
import os
import re
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

HERE = os.path.dirname(os.path.abspath(__file__))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(tmp_path, ranks, *args, by_rank=None, store=True, before=()):
    """The processes of a job. by_rank: more arguments of some ranks. before: words in front of the
    command of each rank."""
    port = free_port()
    jobs = []
    for rank in range(ranks):
        env = dict(
            os.environ,
            RANK=str(rank),
            WORLD_SIZE=str(ranks),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port),
            GLOO_SOCKET_IFNAME="lo",
            OMP_NUM_THREADS="1",
            PYTHONFAULTHANDLER="1",
        )
        env.pop("LOCAL_RANK", None)
        command = [*before, sys.executable, os.path.join(HERE, "job.py"), *args]
        if store:
            command += ["--store", str(tmp_path / "store")]
        command += (by_rank or {}).get(rank, [])
        jobs.append(
            subprocess.Popen(
                command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
    return jobs


def run(tmp_path, ranks, *args, codes=None, **kwargs):
    """Ends when all ranks have ended. Returns (standard output, lines of stepscope) by rank."""
    jobs = start(tmp_path, ranks, *args, **kwargs)
    out = []
    try:
        for rank, job in enumerate(jobs):
            text, errors = job.communicate(timeout=120)
            assert job.returncode == (codes or {}).get(rank, 0), errors
            lines = [line for line in errors.splitlines() if line.startswith("stepscope: ")]
            out.append((text, [line.removeprefix("stepscope: ") for line in lines]))
            assert "Traceback" not in errors, errors
    finally:
        for job in jobs:
            job.kill()
    return out


def may_mount():
    try:
        probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
        return subprocess.run(probe, capture_output=True).returncode == 0
    except OSError:
        return False


needs_mount = pytest.mark.skipif(not may_mount(), reason="mounting needs unshare and root")


# Captures.


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_capture_is_answered_from_all_ranks(tmp_path, ranks):
    folder = tmp_path / "traces"
    out = run(tmp_path, ranks, "--steps", "12", "--folder", str(folder), "--late", "data")
    lines = out[0][1]
    assert lines[0].startswith(f"{ranks} ranks, steps 3-5, ")
    assert "The data loader of rank 1 takes" in lines[0]
    assert lines[1].startswith("where it goes: ")
    assert lines[2].startswith("to try: ")
    seconds = float(re.match(r"([\d.]+) s after the capture; traces: (.*)", lines[3]).group(1))
    assert seconds < 20
    assert len(lines) == 4
    assert all(said == [] for _, said in out[1:])
    assert sorted(os.listdir(folder / "capture_0")) == [f"rank{r}.json.gz" for r in range(ranks)]


def test_the_step_before_the_recording_is_measured(tmp_path):
    folder = tmp_path / "traces"
    run(
        tmp_path,
        1,
        "--steps",
        "16",
        "--folder",
        str(folder),
        "--wait",
        "8",
        "--late",
        "data",
        "--late-rank",
        "0",
        "--ms",
        "20",
    )
    trace = folder / "capture_0" / "rank0.json.gz"
    with gzip.open(trace, "rt") as text:
        assert 20e6 < json.load(text)["stepscope_unrecorded_step_ns"] < 200e6
    command = os.environ.get("STEPSCOPE_COMMAND", "stepscope")
    told = subprocess.run([command, "analyze", str(trace), "--json", "-"], capture_output=True)
    report = json.loads(told.stdout)
    assert 20e6 < report["ranks"][0]["unrecorded_step_ns"] < 200e6


def test_captures_of_different_steps(tmp_path):
    out = run(
        tmp_path, 2, "--steps", "14", "--folder", str(tmp_path / "a"), by_rank={1: ["--wait", "3"]}
    )
    assert out[0][1][0] == (
        "the ranks recorded different steps (rank 0: 3-5, rank 1: 4-6); the answer is of steps 4-5,"
        " which all recorded"
    )
    assert out[0][1][1].startswith("2 ranks, steps 4-5, ")
    out = run(
        tmp_path, 2, "--steps", "20", "--folder", str(tmp_path / "b"), by_rank={1: ["--wait", "8"]}
    )
    assert out[0][1] == [
        "the ranks recorded different steps (rank 0: 3-5, rank 1: 9-11), none in common, so there is"
        " no answer; give all ranks the same schedule"
    ]


def test_a_rank_that_dies_during_a_capture(tmp_path):
    out = run(
        tmp_path,
        2,
        "--steps",
        "12",
        "--folder",
        str(tmp_path / "traces"),
        "--die-at",
        "4",
        "--timeout-s",
        "2",
        codes={1: 3},
    )
    text, lines = out[0]
    assert "step 4 failed" in text
    assert re.search(r"loss [\d.]+", text)
    assert lines[0] == (
        "rank 1 sent no trace within 2 s after rank 0 had its own: a process has died or hangs, or"
        " its capture ends later"
    )
    assert lines[1].startswith("1 rank, steps 3-5, ")
    assert "the answer is of rank 0 of 2 ranks" in lines


@needs_mount
def test_a_read_only_folder(tmp_path):
    """Rank 1 has a file system that cannot be written."""
    folder = tmp_path / "traces"
    folder.mkdir()
    mount = f'[ "$RANK" = 0 ] || mount -t tmpfs -o ro none {folder}; exec "$@"'
    out = run(
        tmp_path,
        2,
        "--steps",
        "12",
        "--folder",
        str(folder),
        before=["unshare", "-m", "sh", "-c", mount, "sh"],
    )
    assert out[1][1][0] == (
        f"rank 1 cannot write its trace into {folder}: Read-only file system; give a folder that can"
        " be written. Training goes on"
    )
    assert "loss" in out[1][0]
    assert out[0][1][0].startswith("rank 1 has no trace in this capture: it cannot write into")
    assert out[0][1][1].startswith("1 rank, steps 3-5, ")
    assert "the answer is of rank 0 of 2 ranks" in out[0][1]


def test_a_folder_that_no_rank_can_make(tmp_path):
    (tmp_path / "file").write_text("")
    out = run(tmp_path, 2, "--steps", "12", "--folder", str(tmp_path / "file/traces"))
    for rank in range(2):
        assert f"rank {rank} cannot write its trace into {tmp_path}/file/traces" in out[rank][1][0]
        assert "loss" in out[rank][0]
    assert out[0][1][-1] == "no rank has a trace in this capture, so there is no answer"


@needs_mount
def test_ranks_without_a_shared_file_system(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    mount = f'[ "$RANK" = 0 ] || mount -t tmpfs none {folder}; exec "$@"'
    out = run(
        tmp_path,
        3,
        "--steps",
        "12",
        "--folder",
        str(folder),
        "--late",
        "data",
        before=["unshare", "-m", "sh", "-c", mount, "sh"],
    )
    lines = out[0][1]
    assert lines[0] == (
        "ranks 1, 2 share no folder with rank 0: their traces came through the job's store into"
        f" {folder}/capture_0"
    )
    assert "The data loader of rank 1 takes" in lines[1]
    names = ["rank0.json.gz", "rank1.json.gz", "rank2.json.gz"]
    assert sorted(os.listdir(folder / "capture_0")) == names


def test_without_a_process_group_the_ranks_meet_in_the_folder(tmp_path):
    folder = tmp_path / "traces"
    out = run(tmp_path, 2, "--steps", "10", "--folder", str(folder), store=False)
    assert out[0][1][0].startswith("2 ranks, steps 3-5, ")


def test_an_analysis_that_fails_is_said_and_training_goes_on(tmp_path):
    out = run(
        tmp_path,
        2,
        "--steps",
        "10",
        "--folder",
        str(tmp_path / "traces"),
        "--flags",
        '{"model": "no-such-model"}',
    )
    assert len(out[0][1]) == 1
    assert "no answer for capture 0" in out[0][1][0]
    assert "no-such-model" in out[0][1][0]
    assert out[0][1][0].endswith("Training goes on")
    assert "loss" in out[0][0]


def test_a_wrong_flag_is_an_error_at_once(tmp_path):
    import stepscope.torch

    with pytest.raises(TypeError, match="modle"):
        stepscope.torch.trace_handler(str(tmp_path), modle="llama-3-8b")


# The monitor.


@pytest.mark.parametrize(
    "mode, ranks, phase, where",
    [
        ("ddp", 2, "data", "in loading data"),
        ("ddp", 2, "forward", "in forward"),
        ("ddp", 4, "loss", "between forward and backward"),
        ("ddp", 2, "backward", "in backward"),
        ("ddp", 2, "after_backward", "between backward and the optimizer"),
        ("ddp", 2, "other", "outside forward, backward, optimizer and data loading"),
        ("norm", 2, "loss", "between forward and backward"),
        ("fsdp", 2, "loss", "between forward and backward"),
        ("manual", 2, "forward", "in forward"),
        ("manual", 4, "backward", "in backward"),
    ],
)
def test_the_late_rank_is_named(tmp_path, mode, ranks, phase, where):
    ms = 10 if phase == "data" else 60  # a batch has eight items
    out = run(
        tmp_path,
        ranks,
        "--steps",
        "60",
        "--monitor",
        "--mode",
        mode,
        "--late",
        phase,
        "--ms",
        str(ms),
    )
    lines = out[0][1]
    late = [line for line in lines if " is late: " in line]
    assert len(late) == 1, lines
    assert late[0].startswith("rank 1 is late: its own work takes ")
    assert where in late[0]
    value, unit = re.search(r"takes ([\d.]+) (\w+) longer", late[0]).groups()
    assert unit == "ms" and 45 <= float(value) <= 110
    others = [str(rank) for rank in range(ranks) if rank != 1]
    assert re.search(rf"ranks? {', '.join(others)} waits? ", late[0])
    summary = ast.literal_eval(re.search(r"summary (.*)", out[0][0]).group(1))
    assert summary["stepscope/late_rank"] == 1


def test_rank_0_is_late_when_it_broadcasts_buffers(tmp_path):
    out = run(
        tmp_path,
        2,
        "--steps",
        "60",
        "--monitor",
        "--mode",
        "norm",
        "--late",
        "other",
        "--late-rank",
        "0",
    )
    assert any(line.startswith("rank 0 is late") for line in out[0][1]), out[0][1]
    assert not any(line.startswith("rank 1 is late") for line in out[0][1]), out[0][1]


def test_accumulated_steps(tmp_path):
    out = run(
        tmp_path,
        2,
        "--steps",
        "40",
        "--monitor",
        "--accumulate",
        "2",
        "--late",
        "loss",
        "--ms",
        "30",
    )
    late = [line for line in out[0][1] if line.startswith("rank 1 is late")]
    assert len(late) == 1 and "between forward and backward" in late[0]


def test_a_healthy_job_hears_nothing(tmp_path):
    out = run(tmp_path, 2, "--steps", "300", "--monitor")
    assert [line for line in out[0][1] if "is late" in line and "in a step of" in line] == []


def test_training_is_the_same_with_the_monitor(tmp_path):
    plain = run(tmp_path, 2, "--steps", "20")
    watched = run(tmp_path, 2, "--steps", "20", "--monitor", "--late", "data", "--ms", "1")
    for rank in range(2):
        loss = re.search(r"loss [\d.]+", plain[rank][0]).group()
        assert loss in watched[rank][0]


def test_without_a_process_group_the_monitor_uses_a_folder(tmp_path):
    out = run(
        tmp_path,
        2,
        "--steps",
        "40",
        "--monitor",
        "--folder",
        str(tmp_path / "records"),
        store=False,
    )
    assert all(said == [] for _, said in out)
    assert "'stepscope/step_ms'" in out[0][0]
    out = run(tmp_path, 2, "--steps", "5", "--monitor", store=False)
    assert "sees only its own rank" in out[1][1][0]


def test_a_rank_that_dies_and_a_job_that_stands_still(tmp_path):
    out = run(tmp_path, 2, "--steps", "30", "--monitor", "--stand-at", "20", "--silent-s", "2")
    said = " | ".join(out[0][1])
    assert re.search(r"no rank has ended a step for \d+ s \(the last was 19\): ", said), said
    assert "rank 0 is waiting for a collective" in said
    assert "steps end again" in said
    out = run(
        tmp_path,
        2,
        "--steps",
        "12000",
        "--monitor",
        "--die-at",
        "10",
        "--silent-s",
        "1",
        codes={1: 3},
    )
    said = " | ".join(out[0][1])
    assert "rank 1 has sent nothing for " in said, said


def test_close_restores_what_was_patched():
    import stepscope.torch
    import torch
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    before = (torch.distributed.Work.wait, _BaseDataLoaderIter.__next__)
    model = torch.nn.Linear(2, 2)
    with stepscope.torch.monitor(model):
        assert torch.distributed.Work.wait is not before[0]
        assert model._forward_hooks
    assert (torch.distributed.Work.wait, _BaseDataLoaderIter.__next__) == before
    assert not model._forward_hooks and not model._forward_pre_hooks
    assert not model.weight._post_accumulate_grad_hooks


@pytest.mark.parametrize("explicit", [False, True])
def test_steps_are_counted_once(explicit):
    import stepscope.torch
    import torch

    model = torch.nn.Linear(2, 2)
    inner, outer = torch.optim.SGD(model.parameters()), torch.optim.SGD(model.parameters())
    with stepscope.torch.monitor(model, skip=0, every_s=100) as monitor:
        for _ in range(7):
            model(torch.ones(1, 2)).sum().backward()
            inner.step()
            outer.step()
            if explicit:
                monitor.step()
        steps = monitor._marks.take()
    assert [number for number, _ in steps] == list(range(7))
    assert all(sum(times) > 0 for _, times in steps)


class Device:
    """A device whose clock is ahead of its events by `lag` events."""

    def __init__(self):
        self.now = 0.0  # ms
        self.passed = 0
        self.made = 0

    def event(self):
        device = self
        device.made += 1

        class Event:
            def record(self):
                self.at, self.number = device.now, device.passed + 1
                device.last = self.number
                device.passed_all = False

            def query(self):
                return device.passed_all

            def elapsed_time(self, later):
                return later.at - self.at

        return Event()


def test_marks_on_a_device_are_read_when_it_has_passed_them():
    from stepscope.loop.lateness import PHASES
    from stepscope.torch.marks import DeviceMarks

    device = Device()
    marks = DeviceMarks(device.event)
    for step in range(50):
        for phase, ms in ((1, 3.0), (3, 5.0), (4, 2.0), (7, 1.0)):
            marks.enter(phase)
            device.now += ms
        marks.end_step()
        assert marks.take() == []
        device.passed_all = True
        [(number, times)] = marks.take()
        assert number == step
        assert dict(zip(PHASES, times)) == {
            "data": 0,
            "forward": 3_000_000,
            "loss": 0,
            "backward": 5_000_000,
            "wait": 2_000_000,
            "after_backward": 0,
            "optimizer": 0,
            "other": 1_000_000,
        }
    assert device.made <= 12  # they are used again


def test_marks_of_a_step_sum_to_its_time():
    from stepscope.torch.marks import HostMarks

    marks = HostMarks()
    begin = time.perf_counter_ns()
    for _ in range(100):
        for phase in (0, 1, 3, 4, 6, 7):
            marks.enter(phase)
        marks.end_step()
    wall = time.perf_counter_ns() - begin
    steps = marks.take()
    assert [number for number, _ in steps] == list(range(100))
    assert sum(sum(times) for _, times in steps) <= wall + 50_000
    assert marks.take() == []
