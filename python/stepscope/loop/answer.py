# SPDX-License-Identifier: Apache-2.0
"""The analysis of a capture in a process of its own, and its answer as lines of a training log.

As a program it reads files and keywords (pickled) from standard input and prints the answer as JSON."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings

if __name__ == "__main__":  # the package's own folder is no place to import from
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from stepscope.loop import words
from stepscope.loop.priority import idle_command


def answer_of(files: list[str], flags: dict) -> dict:
    """{brief, summary, labels, problems}: Analysis.brief() and Analysis.summary(), the labels of the
    budget's categories, and what inputs failed.
    `flags` are keywords of stepscope.analyze. Raises stepscope.Error."""
    import stepscope

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stepscope.InputWarning)  # they are in `problems`
        analysis = stepscope.analyze(files, **flags)
    return {
        "brief": analysis.brief(),
        "summary": analysis.summary(),
        "labels": {key: term["label"] for key, term in analysis.terms["budget"].items()},
        "problems": [str(failure) for failure in analysis.failures],
    }


def analyze_apart(files: list[str], flags: dict, timeout_s: float) -> dict:
    """answer_of() in another process, of the lowest priority. Raises RuntimeError."""
    request = pickle.dumps((files, flags))
    try:
        done = subprocess.run(
            idle_command(sys.executable, os.path.abspath(__file__)),
            input=request,
            capture_output=True,
            timeout=timeout_s,
            start_new_session=True,  # Ctrl-C in the terminal is for training
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the analysis took longer than {timeout_s:g} s and was ended") from None
    except OSError as error:
        raise RuntimeError(f"cannot start {sys.executable}: {error.strerror}") from error
    if done.returncode != 0:
        raise RuntimeError(
            done.stderr.decode(errors="replace").strip()
            or f"the analysis ended with {done.returncode}"
        )
    return json.loads(done.stdout)


def lines_of(told: dict) -> list[str]:
    """Verdict, budget, first finding of answer_of()'s result, and inputs that failed."""
    brief = told["brief"]
    step_ns = brief["step_ns"]
    head = f"{brief['ranks']} {'rank' if brief['ranks'] == 1 else 'ranks'}"
    if brief.get("steps"):
        head += f", {words.steps(*brief['steps'])}"
    lines = [f"{head}, {words.span(step_ns)} a step. {brief['sentence']}"]
    largest = sorted(brief["budget_ns"].items(), key=lambda item: -item[1])
    shares = []
    for category, ns in largest:
        if step_ns and ns >= 0.005 * step_ns:
            shares.append(
                f"{told['labels'][category]} {words.span(ns)} ({100 * ns / step_ns:.1f} %)"
            )
    if shares:
        lines.append("where it goes: " + ", ".join(shares))
    if brief["findings"]:
        first = brief["findings"][0]
        if first["what"].rstrip(".") == brief["sentence"].rstrip("."):
            lines.append(f"to try: {first['advice']}")
        else:
            gain = f" (at most {words.span(first['gain_ns'])} a step)" if first["gain_ns"] else ""
            lines.append(f"to try: {first['what']}{gain}: {first['advice']}")
    return lines + told["problems"]


def main() -> None:
    files, flags = pickle.load(sys.stdin.buffer)
    try:
        told = answer_of(files, flags)
    except Exception as error:  # the other process says it
        sys.exit(str(error) or type(error).__name__)
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
