# SPDX-License-Identifier: Apache-2.0
"""The step of the GitHub Action (integrations/github/action.yml): analyze or compare, a comment in Markdown, the page.

Reads TRACES, or BEFORE and AFTER (one launch a line), MAX_REGRESSION, INCONCLUSIVE and FLAGS from the environment. Writes
comment.md and stepscope.html into RUNNER_TEMP, and `comment`, `page` and `verdict` to GITHUB_OUTPUT. Exit codes: those of
the command; 3 a regression, 4 the steps cannot decide.
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from stepscope.loop import words


def _arguments(environment: dict[str, str], page: pathlib.Path) -> list[str]:
    """The words of the command, or an error as ValueError."""
    before = environment.get("BEFORE", "").split("\n")
    after = environment.get("AFTER", "").split("\n")
    before, after = ([path.strip() for path in paths if path.strip()] for paths in (before, after))
    traces = environment.get("TRACES", "").strip()
    if bool(traces) == bool(before or after) or bool(before) != bool(after):
        raise ValueError("give traces, or before and after")
    words = ["--json", "-", "--html", str(page), *shlex.split(environment.get("FLAGS", ""))]
    if traces:
        return ["analyze", *shlex.split(traces), *words]
    if limit := environment.get("MAX_REGRESSION", "").strip():
        words += [
            "--max-regression",
            limit,
            "--inconclusive",
            environment.get("INCONCLUSIVE", "").strip() or "fail",
        ]
    return ["compare", "--a", *before, "--b", *after, *words]


def _time(ns: float | None) -> str:
    return "" if ns is None else words.span(ns)


def comment_of(tree: dict) -> str:
    """The comment for the JSON of analyze or compare."""
    lines = [f"**{_cell(tree['answer']['sentence'])}**", ""]
    if "findings" in tree:
        findings = [f for f in tree["findings"] if f["under"] is None][:5]
        if findings:
            lines += ["| a step saves | what | advice |", "|---:|---|---|"]
            lines += [
                f"| {_time(f['gain_ns'])} | {_cell(f['what'])} | {_cell(f['advice'])} |"
                for f in findings
            ]
        lines += [
            "",
            "<details><summary>Where a step goes</summary>",
            "",
            "| category | time | |",
            "|---|---:|---:|",
        ]
        budget = tree["job"]["budget_ns"]
        whole = sum(budget.values()) or 1
        labels = tree["terms"]["budget"]
        for name, ns in sorted(budget.items(), key=lambda item: -item[1]):
            if ns:
                lines.append(
                    f"| {labels[name]['label']} | {_time(ns)} | {100 * ns / whole:.1f} % |"
                )
        lines += ["", "</details>"]
    else:
        lines += ["| | steps | median | independent |", "|---|---:|---:|---:|"]
        for arm in ("a", "b"):
            row = tree[arm]
            lines.append(
                f"| {_cell(row['label'])} | {row['steps']} | {_time(row['median_ns'])} | {row['n_eff']:.3g} |"
            )
        called = [part for part in tree["parts"] or [] if part["called"]][:10]
        if called:
            lines += [
                "",
                "| what changed in a step | before | after | difference |",
                "|---|---:|---:|---:|",
            ]
            lines += [
                f"| {_cell(_part_name(p))} | {_time(p['a_ns'])} | {_time(p['b_ns'])} | {_time(p['difference_ns'])} |"
                for p in called
            ]
    lines += [f"\n> {_cell(text)}" for text in tree["warnings"][:3]]
    return "\n".join(lines) + "\n"


def _part_name(part: dict[str, Any]) -> str:
    return f"{part['name']} {part['shape']}" if part["shape"] else part["name"]


def _cell(text: str) -> str:
    for letter in "\\|<>`*_[]":
        text = text.replace(letter, "\\" + letter)
    return text.replace("\n", " ").replace("@", "@\u200b")  # mentions nobody


def main() -> int:
    environment = dict(os.environ)
    folder = pathlib.Path(environment.get("RUNNER_TEMP") or tempfile.mkdtemp())
    page, comment = folder / "stepscope.html", folder / "comment.md"
    beside = pathlib.Path(sys.executable).parent / "stepscope"
    command = environment.get("STEPSCOPE_COMMAND") or (
        str(beside) if beside.exists() else shutil.which("stepscope")
    )
    if command is None:
        print("stepscope: the command is not installed; pip install stepscope", file=sys.stderr)
        return 1
    try:
        arguments = _arguments(environment, page)
    except ValueError as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 2
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE)
    outputs = {}
    if done.stdout:
        tree = json.loads(done.stdout)
        verdict = tree["answer"].get("verdict") if "findings" in tree else tree["verdict"]
        outputs["verdict"] = verdict["kind"] if isinstance(verdict, dict) else verdict or ""
        comment.write_text(comment_of(tree))
        print(comment.read_text())
        outputs["comment"] = str(comment)
    if page.exists():
        outputs["page"] = str(page)
    if target := environment.get("GITHUB_OUTPUT"):
        with open(target, "a") as file:
            file.writelines(f"{name}={value}\n" for name, value in outputs.items())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
