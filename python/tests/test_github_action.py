# SPDX-License-Identifier: Apache-2.0
"""The step of the GitHub Action, and its description."""

import os
import re
import subprocess
import sys

import pytest
from conftest import EXAMPLE, ROOT
from stepscope.github_action import _cell


@pytest.fixture
def action(tmp_path, command):
    def run(**given):
        environment = {
            **os.environ,
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "out"),
            **given,
        }
        done = subprocess.run(
            [sys.executable, "-m", "stepscope.github_action"],
            capture_output=True,
            text=True,
            env=environment,
            cwd=ROOT,
        )
        written = (tmp_path / "out").read_text() if (tmp_path / "out").exists() else ""
        return done.returncode, dict(line.split("=", 1) for line in written.splitlines()), done

    return run


def test_analyze_gives_a_comment_and_the_page(action):
    code, outputs, _ = action(TRACES=str(EXAMPLE))
    assert code == 0 and outputs["verdict"] == "data_loader"
    comment = open(outputs["comment"]).read()
    assert comment.startswith("**The data loader of rank 1 takes") and "| 18.1 ms |" in comment
    assert open(outputs["page"]).read().startswith("<!doctype html>")


def test_a_regression_fails(action, tmp_path):
    for name, ms in (("a.csv", 100), ("b.csv", 110)):
        (tmp_path / name).write_text("\n".join(str(ms + i % 3) for i in range(60)))
    a, b = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    code, outputs, _ = action(BEFORE=a, AFTER=b, MAX_REGRESSION="2%")
    assert code == 3 and outputs["verdict"] == "slower"
    assert action(BEFORE=b, AFTER=a, MAX_REGRESSION="2%")[0] == 0
    assert action(BEFORE=a, AFTER=b)[0] == 0


def test_wrong_inputs_are_errors(action):
    for given in ({}, {"BEFORE": "a"}, {"TRACES": "a", "BEFORE": "b", "AFTER": "c"}):
        code, outputs, done = action(**given)
        assert code == 2 and outputs == {} and "give traces" in done.stderr
    code, outputs, done = action(TRACES="/nothing")
    assert code == 1 and "check the path" in done.stderr


def test_names_do_not_become_markup():
    assert _cell("<img src=x>|a`b`\n@all") == "\\<img src=x\\>\\|a\\`b\\` @\u200ball"


def test_the_description_names_the_environment_of_the_step():
    text = (ROOT / "integrations/github/action.yml").read_text()
    source = (ROOT / "python/stepscope/github_action.py").read_text()
    step = text[text.index("id: answer") : text.index("- name: Keep")]
    for name in re.findall(r"^        ([A-Z_]+): \$\{\{ inputs\.", step, re.M):
        assert f'"{name}"' in source
    yaml = pytest.importorskip("yaml")
    description = yaml.safe_load(text)
    assert description["runs"]["using"] == "composite"
    used = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == set(description["inputs"])
