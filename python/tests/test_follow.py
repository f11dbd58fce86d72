# SPDX-License-Identifier: Apache-2.0
"""live() and follow() on files of steps that grow, rotate, end and begin again, and how following ends."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import stepscope as ss
from stepscope import mcp_server

STEP_NS = 50_000_000


class Job:
    """Writes files of steps as a job's ranks do."""

    def __init__(self, folder, ranks, run=1):
        folder.mkdir(exist_ok=True)
        self.folder, self.ranks, self.run, self.step = folder, ranks, run, 0

    def path(self, rank):
        return self.folder / f"steps-rank{rank}.jsonl"

    def line(self, rank, late_ns=0):
        # Some noise, the same in each run of the test.
        own = 40_000_000 + (self.step * 7919 + rank * 104729) % 200_000 + late_ns
        wall = STEP_NS + late_ns
        return (
            json.dumps(
                {
                    "stepscope": "step",
                    "rank": rank,
                    "world": self.ranks,
                    "host": "node0",
                    "pid": 100 + rank,
                    "run": self.run,
                    "step": self.step,
                    "end_us": 1_750_000_000_000_000 + self.step * 50_000,
                    "wall_ns": wall,
                    "wait_ns": wall - own,
                    "phases_ns": {"forward": own // 2, "data": late_ns},
                }
            )
            + "\n"
        )

    def write(self, steps, late=None, late_ns=0):
        for _ in range(steps):
            for rank in range(self.ranks):
                with open(self.path(rank), "a") as file:
                    file.write(self.line(rank, late_ns if rank == late else 0))
            self.step += 1


def kinds(state):
    return [event.kind for event in state.events]


def open_files():
    """Names of what this process has open, without the directory that is read here."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return sorted(name for name in found if not name.startswith("/proc/"))


def next_state(states, condition, seconds=30):
    """The first state that fulfils the condition."""
    end = time.monotonic() + seconds
    for state in states:
        if condition(state):
            return state
        assert time.monotonic() < end, state.to_dict()
    raise AssertionError("following has ended")


def test_a_growing_job_of_several_ranks_is_followed_to_a_late_rank(tmp_path):
    job = Job(tmp_path / "job", 4)
    job.write(1)
    states = ss.follow(job.folder, interval=0.05)
    first = next_state(states, lambda s: s.steps is not None)
    assert (first.steps.last, len(first.processes), first.late) == (0, 4, [])
    job.write(60)
    fine = next_state(states, lambda s: s.steps.last == 60)
    assert fine.late == [] and "late" not in kinds(fine)
    job.write(12, late=2, late_ns=15_000_000)
    late = next_state(states, lambda s: s.steps.last == 72)
    assert [process.rank for process in late.late] == [2]
    assert late.late[0].late.phase == "data" and late.late[0].late.since == 61
    assert late.late[0].late.late_ns == pytest.approx(15e6, rel=0.05)
    assert "Rank 2" in late.sentence and "loading data" in late.sentence
    job.write(12)
    again = next_state(states, lambda s: s.steps.last == 84)
    assert again.late == [] and kinds(again).count("late") == 1
    # A state that was given does not change.
    assert [process.rank for process in late.late] == [2]
    states.close()


def test_half_a_line_waits_and_a_file_may_be_renamed_or_cut(tmp_path):
    job = Job(tmp_path / "job", 1)
    job.write(3)
    states = ss.follow(job.folder, interval=0.05)
    next_state(states, lambda s: s.steps and s.steps.last == 2)
    line = job.line(0)
    with open(job.path(0), "a") as file:
        file.write(line[:20])
        file.flush()
        assert [next(states).steps.last for _ in range(3)] == [2, 2, 2]
        file.write(line[20:])
    next_state(states, lambda s: s.steps.last == 3)
    job.step += 1
    # The rest of a renamed file is read, then the new file.
    with open(job.path(0), "a") as old:
        os.rename(job.path(0), f"{job.path(0)}.1")
        old.write(job.line(0))
    job.step += 1
    job.write(1)
    assert next_state(states, lambda s: s.steps.last == 5).files.rotations == 1
    job.path(0).write_text("")
    next(states)
    job.write(2)
    state = next_state(states, lambda s: s.steps.last == 7)
    assert (state.steps.steps, state.files.lines) == (8, 8)
    states.close()


def test_the_end_of_a_job_and_its_next_run(tmp_path):
    job = Job(tmp_path / "job", 2)
    job.write(5)
    states = ss.follow(job.folder, interval=0.05, silent=0.2)
    ended = next_state(states, lambda s: "stands_still" in kinds(s))
    assert ended.stands_still and not ended.answer.fine
    again = Job(job.folder, 2, run=2)
    again.write(3)
    moving = next_state(states, lambda s: "moves_again" in kinds(s))
    assert not moving.stands_still
    states.close()


def test_an_empty_folder_is_waited_for_and_once_it_is_an_error(tmp_path):
    with pytest.raises(ss.Error, match="no source tells anything about a job"):
        ss.live(tmp_path)
    states = ss.follow(tmp_path / "job", interval=0.05)
    with pytest.raises(ss.Error) as missing:
        next(states)
    assert missing.value.file == str(tmp_path / "job") and missing.value.remedy
    (tmp_path / "job").mkdir()
    states = ss.follow(tmp_path / "job", interval=0.05)
    empty = next(states)
    assert (empty.steps, empty.processes, empty.late, empty.files.files) == (None, [], [], 0)
    writer = threading.Timer(0.1, lambda: Job(tmp_path / "job", 2).write(4))
    writer.start()
    assert next_state(states, lambda s: s.steps is not None).steps.last == 3
    writer.join()
    states.close()


def test_nothing_stays_open_however_following_ends(tmp_path):
    job = Job(tmp_path / "job", 3)
    job.write(5)
    before, threads = open_files(), threading.active_count()
    native = len(os.listdir("/proc/self/task"))

    states = ss.follow(job.folder, interval=0.05)
    next_state(states, lambda s: s.steps is not None)
    assert any("steps-rank" in name for name in open_files())
    states.close()
    assert open_files() == before
    with pytest.raises(StopIteration):
        next(states)

    class Stop(Exception):
        pass

    def alert():
        for state in ss.follow(job.folder, interval=0.05):
            if state.steps is not None:
                raise Stop

    with pytest.raises(Stop):
        alert()
    for _ in ss.follow(job.folder, interval=0.05):
        break
    with pytest.raises(ss.UsageError):
        next(ss.follow(job.folder, interval="soon"))
    assert ss.live(job.folder).steps.last == 4
    assert open_files() == before
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/task")) == native


def test_ctrl_c_ends_a_wait_at_once(tmp_path):
    job = Job(tmp_path / "job", 2)
    job.write(5)
    program = """
import sys, os, stepscope
try:
    for state in stepscope.follow(sys.argv[1], interval=600):
        print(state.steps.last, flush=True)
except KeyboardInterrupt:
    links = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
    names = [os.readlink(link) for link in links if os.path.exists(link)]
    print("interrupted", sum("steps-rank" in name for name in names), flush=True)
"""
    follower = subprocess.Popen(
        [sys.executable, "-c", program, job.folder], stdout=subprocess.PIPE, text=True
    )
    try:
        assert follower.stdout.readline() == "4\n"
        time.sleep(0.3)  # it waits in the library now
        follower.send_signal(signal.SIGINT)
        out, _ = follower.communicate(timeout=30)
    finally:
        follower.kill()
    assert (out, follower.returncode) == ("interrupted 0\n", 0)


def test_two_jobs_are_followed_beside_each_other(tmp_path):
    jobs = [Job(tmp_path / "a", 2), Job(tmp_path / "b", 3)]
    for i, job in enumerate(jobs):
        job.write(10 + i)
    both = [ss.follow(job.folder, interval=0.05) for job in jobs]
    for i, states in enumerate(both):
        state = next_state(states, lambda s: s.steps is not None)
        assert (state.steps.last, len(state.processes)) == (9 + i, 2 + i)
    for states in both:
        states.close()


def test_the_tool_of_assistants_names_the_late_rank_and_says_what_is_wrong(tmp_path):
    job = Job(tmp_path / "job", 4)
    job.write(60)
    fine = json.loads(json.dumps(mcp_server.live(str(job.folder))))
    assert fine["fine"] and fine["late"] == []
    job.write(12, late=1, late_ns=15_000_000)
    answer = json.loads(json.dumps(mcp_server.live(str(job.folder), options={"silent": 3600})))
    assert "Rank 1" in answer["sentence"] and not answer["fine"]
    assert len(json.dumps(answer)) < 8000
    nothing = mcp_server.live(str(tmp_path / "none"))
    assert nothing["file"] == str(tmp_path / "none") and nothing["remedy"]
    assert "unexpected" in mcp_server.live(str(job.folder), options={"silence": 3})["error"]
