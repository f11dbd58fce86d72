# SPDX-License-Identifier: Apache-2.0
"""The analysis of a capture in a process of its own, and its answer as lines of a training log.

As a program it reads {files, flags} (JSON) from standard input and prints the answer as JSON."""
from __future__ import annotations

import json
import os
import subprocess
import sys

if __name__ == "__main__":  # the package's own folder is no place to import from
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from stepscope.loop import words


def brief_of(files: list[str], flags: dict) -> dict:
    """The tree of `stepscope analyze --brief --json` (docs/reference/json.md), and `problems`: what
    the command said of inputs that failed. Keys of `flags` are the command's flags with
    underscores: {"steps": "5:9", "tp": 2, "sequence_parallel": True}. Raises RuntimeError with the
    command's message."""
    command = [os.environ.get("STEPSCOPE_COMMAND", "stepscope"), "analyze", *files]
    command += ["--brief", "--json", "-"]
    for name, value in flags.items():
        if value is None or value is False:
            continue
        command.append("--" + name.replace("_", "-"))
        if value is not True:
            command.append(str(value))
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise RuntimeError(
            f"cannot start the command {command[0]!r}: {error.strerror}; install stepscope, or let"
            " STEPSCOPE_COMMAND name its command"
        ) from error
    if not done.stdout.strip():
        raise RuntimeError(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")
    brief = json.loads(done.stdout)
    brief["problems"] = done.stderr.strip().splitlines() if done.returncode else []
    return brief


def analyze_apart(files: list[str], flags: dict, timeout_s: float) -> dict:
    """brief_of() in another process, of the lowest priority. Raises RuntimeError."""
    request = json.dumps({"files": files, "flags": flags})
    try:
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__)],
            input=request,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            start_new_session=True,  # Ctrl-C in the terminal is for training
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the analysis took longer than {timeout_s:g} s and was ended") from None
    except OSError as error:
        raise RuntimeError(f"cannot start {sys.executable}: {error.strerror}") from error
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"the analysis ended with {done.returncode}")
    return json.loads(done.stdout)


def lines_of(brief: dict) -> list[str]:
    """Verdict, budget, first finding, and inputs that failed."""
    step_ns = brief["step_ns"]
    head = f"{brief['ranks']} {'rank' if brief['ranks'] == 1 else 'ranks'}"
    if brief.get("steps"):
        head += f", {words.steps(*brief['steps'])}"
    lines = [f"{head}, {words.span(step_ns)} a step. {brief['sentence']}"]
    largest = sorted(brief["budget_ns"].items(), key=lambda item: -item[1])
    shares = []
    for category, ns in largest:
        label = words.BUDGET_LABELS.get(category, category)
        if category == "idle_host" and brief.get("device") == "cpu":
            label = "between operators"
        if step_ns and ns >= 0.005 * step_ns:
            shares.append(f"{label} {words.span(ns)} ({100 * ns / step_ns:.1f} %)")
    if shares:
        lines.append("where it goes: " + ", ".join(shares))
    if brief["findings"]:
        first = brief["findings"][0]
        if first["what"].rstrip(".") == brief["sentence"].rstrip("."):
            lines.append(f"to try: {first['advice']}")
        else:
            gain = f" (at most {words.span(first['gain_ns'])} a step)" if first["gain_ns"] else ""
            lines.append(f"to try: {first['what']}{gain}: {first['advice']}")
    return lines + brief.get("problems", [])


def summary_of(brief: dict) -> dict:
    """Numbers and strings under flat keys, for W&B, MLflow and TensorBoard. Times in ms a step."""
    flat = {
        "stepscope/step_ms": brief["step_ns"] / 1e6,
        "stepscope/ranks": brief["ranks"],
        "stepscope/sentence": brief["sentence"],
    }
    for category, ns in brief["budget_ns"].items():
        flat[f"stepscope/{category}_ms"] = ns / 1e6
    verdict = brief.get("verdict")
    if verdict:
        flat["stepscope/verdict"] = verdict["kind"]
        if verdict["gain_ns"] is not None:
            flat["stepscope/verdict_gain_ms"] = verdict["gain_ns"] / 1e6
        if verdict["ranks"]:
            flat["stepscope/verdict_ranks"] = ",".join(str(rank) for rank in verdict["ranks"])
    return flat


def main() -> None:
    os.nice(19)
    request = json.load(sys.stdin)
    try:
        json.dump(brief_of(request["files"], request["flags"]), sys.stdout)
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
