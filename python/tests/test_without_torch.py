# SPDX-License-Identifier: Apache-2.0
"""Adapters say what is missing. The words of the log. The answer of a capture."""

import logging
import subprocess
import sys

import pytest
from conftest import EXAMPLE
from stepscope.loop import answer, words

import stepscope


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
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (18_058_939, "18.1 ms"),
        (203e6, "203 ms"),
        (999.6e6, "1.00 s"),
        (1.2e9, "1.20 s"),
        (250e9, "250 s"),
        (-5e6, "-5.00 ms"),
        (3_600e9, "60 min 0 s"),
    ],
)
def test_span(ns, text):
    assert words.span(ns) == text


def test_ranks():
    assert words.ranks([3]) == "rank 3"
    assert words.ranks([2, 0, 3, 1, 7]) == "ranks 0-3, 7"
    assert words.ranks([0, 1]) == "ranks 0, 1"
    assert words.ranks(range(0, 40, 2)) == "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more"


BRIEF = {
    "ranks": 2,
    "device": "cpu",
    "steps": [5, 9],
    "step_ns": 289_244_541,
    "sentence": "The data loader of rank 1 takes 21.2 ms a step longer.",
    "verdict": {"kind": "data_loader", "ranks": [1], "gain_ns": 18_058_939, "share": 0.0624},
    "budget_ns": {"compute": 191_088_020, "idle_host": 13_738_061, "comm_exposed_unsplit": 372_276},
    "findings": [
        {
            "what": "The data loader of rank 1 takes 21.2 ms a step longer",
            "gain_ns": 18_058_939,
            "advice": "Give its data loader more workers",
        }
    ],
}


LABELS = {
    "compute": "compute",
    "idle_host": "between operators",
    "comm_exposed_unsplit": "transfer or waiting",
}


def test_lines_of_an_answer():
    assert answer.lines_of({"brief": BRIEF, "labels": LABELS, "problems": []}) == [
        "2 ranks, steps 5-9, 289 ms a step. The data loader of rank 1 takes 21.2 ms a step longer.",
        "where it goes: compute 191 ms (66.1 %), between operators 13.7 ms (4.7 %)",
        "to try: Give its data loader more workers",
    ]
    other = dict(BRIEF, ranks=1, steps=None, device="cuda")
    other["findings"] = [{"what": "all_reduce is exposed", "gain_ns": 4.5e6, "advice": "Overlap"}]
    on_a_device = {**LABELS, "idle_host": "waiting for the host"}
    assert answer.lines_of(
        {"brief": other, "labels": on_a_device, "problems": ["b.json: empty"]}
    ) == [
        "1 rank, 289 ms a step. The data loader of rank 1 takes 21.2 ms a step longer.",
        "where it goes: compute 191 ms (66.1 %), waiting for the host 13.7 ms (4.7 %)",
        "to try: all_reduce is exposed (at most 4.50 ms a step): Overlap",
        "b.json: empty",
    ]
    nothing = dict(BRIEF, budget_ns={}, findings=[], step_ns=0)
    assert len(answer.lines_of({"brief": nothing, "labels": LABELS, "problems": []})) == 1


def test_the_analysis_in_a_process_of_its_own_gives_that_of_the_api():
    told = answer.analyze_apart([str(EXAMPLE)], {"steps": "6:8"}, 600)
    analysis = stepscope.analyze(str(EXAMPLE), steps="6:8")
    labels = {key: term["label"] for key, term in analysis.to_dict()["terms"]["budget"].items()}
    assert told == {
        "brief": analysis.brief(),
        "summary": analysis.summary(),
        "labels": labels,
        "problems": [],
    }
    assert labels["idle_host"] == "between operators"  # of a run without a device
    lines = answer.lines_of(told)
    assert lines[0].startswith("2 ranks, steps 6-8, ")
    assert "rank 1" in lines[0]
    assert lines[1].startswith("where it goes: compute ")
    assert all(isinstance(value, (int, float, str)) for value in told["summary"].values())


def test_an_analysis_of_files_of_which_one_is_bad(tmp_path):
    (tmp_path / "rank1.json").write_text("{")
    told = answer.analyze_apart(
        [str(EXAMPLE / "rank0.json.gz"), str(tmp_path / "rank1.json")], {}, 600
    )
    assert len(told["problems"]) == 1
    assert "rank1.json" in told["problems"][0]
    assert told["brief"]["ranks"] == 1


def test_an_analysis_that_fails_or_takes_too_long(tmp_path):
    with pytest.raises(RuntimeError, match="a.json"):
        answer.analyze_apart([str(tmp_path / "a.json")], {}, 600)
    with pytest.raises(RuntimeError, match="longer than 0.001 s"):
        answer.analyze_apart([str(EXAMPLE)], {}, 0.001)


def test_lines_go_to_the_logger_or_to_standard_error(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="stepscope"):
        words.say("one\ntwo")
    assert [record.getMessage() for record in caplog.records] == [
        "stepscope: one",
        "stepscope: two",
    ]
    caplog.clear()
    with caplog.at_level(logging.ERROR, logger="stepscope"):
        words.say("three")
    assert caplog.records == []
    assert capsys.readouterr().err == "stepscope: three\n"
