# SPDX-License-Identifier: Apache-2.0
"""A DistributedDataParallel job on gloo whose steps `stepscope live` follows while it runs."""

import json
import os
import re
import subprocess
import time

import pytest
from test_torch import start


@pytest.fixture
def follow(tmp_path):
    """Follows a folder while a job runs; ends with the test."""
    program = os.environ.get("STEPSCOPE_COMMAND")
    if not program:
        pytest.skip("STEPSCOPE_COMMAND is not set")
    followers = []

    def begin(folder):
        folder.mkdir()
        state = tmp_path / "state.json"
        out = open(tmp_path / "live.out", "w")
        followers.append(
            subprocess.Popen(
                [program, "live", folder, "--plain", "--interval", "0.1s", "--json", state],
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        )
        return lambda: json.loads(state.read_text()) if state.exists() else None

    yield begin
    for follower in followers:
        follower.kill()
        follower.wait()


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    return condition()


@pytest.mark.torch
@pytest.mark.parametrize(
    "late, ranks, who, words",
    [
        ("backward", 2, 1, "backward"),
        ("data", 4, 2, "loading data"),
        ("loss", 2, 0, "between forward and backward"),
    ],
)
def test_a_slow_rank_is_named_with_its_phase(tmp_path, follow, late, ranks, who, words):
    pytest.importorskip("torch")
    folder = tmp_path / "live"
    state = follow(folder)
    arguments = ["--monitor", "--live", str(folder), "--steps", "120", "--late", late]
    arguments += ["--late-rank", str(who), "--late-from", "80", "--ms", "250"]
    jobs = start(tmp_path, ranks, *arguments)
    try:
        for job in jobs:
            assert job.wait(120) == 0, job.stderr.read()
        named = until(
            lambda: [
                e
                for e in (state() or {"events": []})["events"]
                if e["kind"] == "late" and e["step"] >= 80
            ]
        )
    finally:
        for job in jobs:
            job.kill()
    # Other programs may delay a rank of such short steps too, so the injected delay is a long one.
    event = next(e for e in named if e["ranks"] == [who] and e["step"] >= 80)
    assert event["step"] <= 90 and event["since"] > event["step"] - 8, event
    assert re.search(words, event["sentence"]), event
    now = state()
    assert now["steps"]["source"] == "ranks"
    assert who in [p["rank"] for p in now["processes"] if p["late"]]


@pytest.mark.torch
def test_a_clean_job_names_nobody(tmp_path, follow):
    pytest.importorskip("torch")
    folder = tmp_path / "live"
    state = follow(folder)
    jobs = start(tmp_path, 2, "--monitor", "--live", str(folder), "--steps", "400")
    try:
        for job in jobs:
            assert job.wait(120) == 0, job.stderr.read()
        assert until(lambda: state() and state()["steps"] and state()["steps"]["last"] >= 390)
    finally:
        for job in jobs:
            job.kill()
    assert not [e for e in state()["events"] if e["kind"] == "late"]


def test_a_full_disk_cuts_no_later_line(tmp_path):
    """The limit of a file's size stands for a full disk."""
    program = """
import resource, signal, sys
from stepscope.loop.step_file import StepFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = StepFile(sys.argv[1], 1, 4)
file.write(0, 100, 30, {"forward": 70})
import os
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(file.path) + 40, hard))
failed = 0
for step in range(1, 4):
    try:
        file.write(step, 100, 30, {"forward": 70})
    except OSError:
        failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
file.write(4, 100, 30, {"forward": 70})
file.write(5, 100, 30, {"forward": 70})
print(failed)
"""
    import sys

    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "3\n"
    whole = []
    for line in (tmp_path / "steps-rank1.jsonl").read_text().splitlines():
        try:
            whole.append(json.loads(line))
        except ValueError:
            continue
    assert [(line["step"], line.get("lost")) for line in whole] == [(0, None), (4, 3), (5, None)]


def test_files_of_steps_have_a_bounded_size(tmp_path):
    from stepscope.loop.step_file import StepFile

    file = StepFile(tmp_path, 0, 2, peers=[0, 1], most_bytes=4000)
    for step in range(200):
        file.write(step, 100, 30, {"forward": 60, "backward": 0})
    file.close()
    files = sorted(os.listdir(tmp_path))
    assert files == ["steps-rank0.jsonl", "steps-rank0.jsonl.1"]
    assert sum((tmp_path / name).stat().st_size for name in files) < 8600
    last = json.loads((tmp_path / "steps-rank0.jsonl").read_text().splitlines()[-1])
    assert (last["step"], last["peers"], last["peer_count"]) == (199, 0, 2)
    assert last["phases_ns"] == {"forward": 60}
