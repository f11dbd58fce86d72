# SPDX-License-Identifier: Apache-2.0
"""Adapters say what is missing. The words of the log. The answer of a capture."""
import json
import logging
import os
import subprocess
import sys

import pytest

from stepscope.loop import answer, words


@pytest.mark.parametrize(
    "module, missing, says",
    [
        ("stepscope.torch", "torch", "stepscope.torch needs PyTorch"),
        ("stepscope.huggingface", "transformers", "pip install transformers"),
        ("stepscope.lightning", "lightning", "pip install lightning"),
        ("stepscope.ray", "ray", 'pip install "ray[train]"'),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(module, missing, says):
    hidden = ["torch", "pytorch_lightning", missing]
    program = f"import sys\nfor name in {hidden}: sys.modules[name] = None\nimport {module}\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: stepscope")
    assert says in last
    assert "pip install" in last


def test_the_rest_needs_no_torch():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from stepscope.loop import answer, gather, lateness, meeting, pack, watch, words\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "ns, text",
    [(0, "0 ns"), (999, "999 ns"), (18_058_939, "18.1 ms"), (203e6, "203 ms"), (999.6e6, "1.00 s"),
     (1.2e9, "1.20 s"), (250e9, "250 s"), (-5e6, "-5.00 ms"), (3_600e9, "60 min 0 s")],
)
def test_span(ns, text):
    assert words.span(ns) == text


def test_ranks():
    assert words.ranks([3]) == "rank 3"
    assert words.ranks([2, 0, 3, 1, 7]) == "ranks 0-3, 7"
    assert words.ranks([0, 1]) == "ranks 0, 1"
    assert words.ranks(range(0, 40, 2)) == "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more"


def test_labels_are_those_of_the_reference():
    page = os.path.join(os.path.dirname(__file__), "../../docs/reference/terms.md")
    if not os.path.exists(page):
        pytest.skip("no docs beside the tests")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for key, label in words.BUDGET_LABELS.items():
        assert any(key in line and label in line for line in text.splitlines()), key


BRIEF = {
    "ranks": 2, "device": "cpu", "steps": [5, 9], "step_ns": 289_244_541,
    "sentence": "The data loader of rank 1 takes 21.2 ms a step longer.",
    "verdict": {"kind": "data_loader", "ranks": [1], "gain_ns": 18_058_939, "share": 0.0624},
    "budget_ns": {"compute": 191_088_020, "idle_host": 13_738_061, "comm_exposed_unsplit": 372_276},
    "findings": [{"what": "The data loader of rank 1 takes 21.2 ms a step longer",
                  "gain_ns": 18_058_939, "advice": "Give its data loader more workers"}],
    "problems": [],
}


def test_lines_of_an_answer():
    assert answer.lines_of(BRIEF) == [
        "2 ranks, steps 5-9, 289 ms a step. The data loader of rank 1 takes 21.2 ms a step longer.",
        "where it goes: compute 191 ms (66.1 %), between operators 13.7 ms (4.7 %)",
        "to try: Give its data loader more workers",
    ]
    other = dict(BRIEF, ranks=1, steps=None, device="cuda", problems=["stepscope: b.json: empty"])
    other["findings"] = [{"what": "all_reduce is exposed", "gain_ns": 4.5e6, "advice": "Overlap"}]
    assert answer.lines_of(other) == [
        "1 rank, 289 ms a step. The data loader of rank 1 takes 21.2 ms a step longer.",
        "where it goes: compute 191 ms (66.1 %), waiting for the host 13.7 ms (4.7 %)",
        "to try: all_reduce is exposed (at most 4.50 ms a step): Overlap",
        "stepscope: b.json: empty",
    ]
    assert len(answer.lines_of(dict(BRIEF, budget_ns={}, findings=[], step_ns=0))) == 1


def test_summary_of_an_answer():
    flat = answer.summary_of(BRIEF)
    assert flat["stepscope/step_ms"] == pytest.approx(289.244541)
    assert flat["stepscope/compute_ms"] == pytest.approx(191.08802)
    assert flat["stepscope/verdict"] == "data_loader"
    assert flat["stepscope/verdict_ranks"] == "1"
    assert all(isinstance(value, (int, float, str)) for value in flat.values())
    assert "stepscope/verdict" not in answer.summary_of(dict(BRIEF, verdict=None))


def test_the_analysis_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    command = tmp_path / "stepscope"
    command.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "print(json.dumps({'args': sys.argv[1:], 'nice': os.nice(0)}))\n"
    )
    command.chmod(0o755)
    monkeypatch.setenv("STEPSCOPE_COMMAND", str(command))
    flags = {"tp": 2, "sequence_parallel": True, "model": None, "tp_overlap": False}
    told = answer.analyze_apart(["a.json", "b.json"], flags, 60)
    assert told["args"] == ["analyze", "a.json", "b.json", "--brief", "--json", "-", "--tp", "2",
                            "--sequence-parallel"]
    assert told["nice"] == 19


def test_an_analysis_that_fails_or_hangs_or_is_missing(tmp_path, monkeypatch):
    command = tmp_path / "stepscope"
    command.write_text("#!/bin/sh\necho 'stepscope: a.json: no such file' >&2\nexit 1\n")
    command.chmod(0o755)
    monkeypatch.setenv("STEPSCOPE_COMMAND", str(command))
    with pytest.raises(RuntimeError, match="a.json: no such file"):
        answer.analyze_apart(["a.json"], {}, 60)
    command.write_text("#!/bin/sh\nsleep 5\n")
    with pytest.raises(RuntimeError, match="longer than 0.5 s"):
        answer.analyze_apart(["a.json"], {}, 0.5)
    monkeypatch.setenv("STEPSCOPE_COMMAND", str(tmp_path / "absent"))
    with pytest.raises(RuntimeError, match="STEPSCOPE_COMMAND"):
        answer.analyze_apart(["a.json"], {}, 60)


def test_lines_go_to_the_logger_or_to_standard_error(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="stepscope"):
        words.say("one\ntwo")
    assert [record.getMessage() for record in caplog.records] == ["stepscope: one", "stepscope: two"]
    caplog.clear()
    with caplog.at_level(logging.ERROR, logger="stepscope"):
        words.say("three")
    assert caplog.records == []
    assert capsys.readouterr().err == "stepscope: three\n"


def test_json_of_the_example_is_what_the_lines_need():
    """The command's own answer on the recorded example, if the command is there."""
    root = os.path.join(os.path.dirname(__file__), "../..")
    traces = os.path.join(root, "examples/train_tiny/traces/ddp")
    command = os.environ.get("STEPSCOPE_COMMAND", "stepscope")
    try:
        subprocess.run([command, "--version"], capture_output=True, check=False)
    except OSError:
        pytest.skip("no command: STEPSCOPE_COMMAND names it")
    brief = answer.brief_of([traces], {"steps": "6:8"})
    lines = answer.lines_of(brief)
    assert lines[0].startswith("2 ranks, steps 6-8, ")
    assert "rank 1" in lines[0]
    assert lines[1].startswith("where it goes: compute ")
    assert json.dumps(answer.summary_of(brief))
