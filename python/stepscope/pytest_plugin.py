# SPDX-License-Identifier: Apache-2.0
"""Limits on training steps as pytest marks.

    @pytest.mark.limit_step_time("40ms")
    @pytest.mark.limit_exposed_communication("10%")
    @pytest.mark.no_regression("baselines/train.csv", max_regression="2%")
    def test_training(stepscope_run):
        with stepscope.torch.profile(stepscope_run.traces) as profiler:   # for limits on communication
            for batch in batches:
                with stepscope_run.step():
                    train(batch)

Each mark takes inconclusive="fail" (the default) or "pass": what happens if the steps cannot decide. `pytest
--stepscope-write-baselines` writes the baselines instead of comparing with them.
"""

from __future__ import annotations

import math
import os
import pathlib
import re
import time
from contextlib import contextmanager
from typing import Any

import pytest

import stepscope

_UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_CONFIDENCE = 0.95


def pytest_addoption(parser):
    parser.getgroup("stepscope").addoption(
        "--stepscope-write-baselines",
        action="store_true",
        help="write the baselines of no_regression instead of comparing with them",
    )


def pytest_configure(config):
    for line in (
        "limit_step_time(limit, *, inconclusive='fail'): the median step takes at most limit ('40ms', or seconds)",
        "limit_exposed_communication(limit, *, inconclusive='fail'): of a step, the time in which the device waits for "
        "communication ('10%', '5ms', or a share from 0 to 1); needs traces in stepscope_run.traces",
        "no_regression(baseline, *, max_regression='2%', inconclusive='fail'): the steps are not slower than those of a "
        "file, relative to the test's own, by more than max_regression (a share from 0 to 1, or '2%')",
    ):
        config.addinivalue_line("markers", line)


class Run:
    """The steps of one test. traces: a directory for traces of torch.profiler. times_ns: the steps so far."""

    def __init__(self, folder: pathlib.Path):
        self.traces = folder / "traces"
        self.traces.mkdir()
        self.times_ns: list[int] = []

    @contextmanager
    def step(self):
        """Times one step. Work on a device counts if the step waits for it, as loss.item() does."""
        begin = time.perf_counter_ns()
        yield
        self.times_ns.append(time.perf_counter_ns() - begin)

    def write_times(self, path: str | os.PathLike[str]) -> None:
        """Writes the steps as a list that `compare` reads."""
        text = "".join(f"{ns}\n" for ns in self.times_ns)
        pathlib.Path(path).write_text("step_time_ns\n" + text)


@pytest.fixture
def stepscope_run(tmp_path_factory):
    """Takes the times and traces of the steps of this test."""
    return Run(tmp_path_factory.mktemp("stepscope"))


_MARKS = ("limit_step_time", "limit_exposed_communication", "no_regression")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    marks = [mark for name in _MARKS for mark in pyfuncitem.iter_markers(name)]
    if marks and "stepscope_run" not in pyfuncitem.fixturenames:
        pytest.fail(
            f"a test with the mark {marks[0].name} needs the fixture stepscope_run", pytrace=False
        )
    called = yield
    failures = [text for mark in marks if (text := _judge(mark, pyfuncitem)) is not None]
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
    return called


def _judge(mark, item) -> str | None:
    """Why the test fails by this mark; None if it does not."""
    run = item.funcargs["stepscope_run"]
    judges: dict[str, Any] = {
        "limit_step_time": _step_time,
        "limit_exposed_communication": _exposed,
        "no_regression": _regression,
    }
    try:
        told, text = judges[mark.name](
            run, item, *mark.args, **{k: v for k, v in mark.kwargs.items() if k != "inconclusive"}
        )
    except stepscope.Error as error:
        return f"{mark.name}: {error}"
    inconclusive = mark.kwargs.get("inconclusive", "fail")
    if inconclusive not in ("fail", "pass"):
        return f"{mark.name}: inconclusive={inconclusive!r} is unknown; give 'fail' or 'pass'"
    passes = told if told is not None else inconclusive == "pass"
    return None if passes else f"{mark.name}: {text}"


def time_of(limit: float | str) -> float:
    """Nanoseconds of "40ms", or of seconds."""
    if isinstance(limit, (int, float)):
        return limit * 1e9
    found = re.fullmatch(r"\s*([0-9.]+)\s*(ns|us|µs|ms|s)\s*", limit)
    if found is None:
        raise stepscope.UsageError(
            f"the limit {limit!r} is no time", remedy="write '40ms', or a number of seconds"
        )
    return float(found[1]) * _UNITS[found[2]]


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms"


def median_interval(times: list[int], independent: float) -> tuple[float, float]:
    """Ends of the interval that holds the median with 95 % confidence, by order statistics (the number of values below
    the median is binomial). `times` ascending; they are worth `independent` independent ones. With fewer than six
    values, the least and the largest."""
    n = min(len(times), int(independent))
    total, below = 0.0, 0
    for k in range(n // 2):
        total += math.comb(n, k) / 2.0**n
        if total > (1 - _CONFIDENCE) / 2:
            break
        below = k
    low = below * len(times) // max(n, 1)
    return times[low], times[len(times) - 1 - low]


def _steps_file(run: Run) -> pathlib.Path:
    """The times of the test as a list that compare and check read."""
    if not run.times_ns:
        raise stepscope.Error(
            "the test has timed no step", remedy="put each step into `with stepscope_run.step():`"
        )
    path = run.traces.parent / "steps.csv"
    run.write_times(path)
    return path


def _settled(run: Run) -> tuple[list[int], float]:
    """The times without warm-up, ascending, and how many independent ones they are worth."""
    steps = stepscope.check(_steps_file(run)).steps
    return steps.launches[0].sorted_ns, steps.n_eff


def _step_time(run: Run, item, limit) -> tuple[bool | None, str]:
    bound = time_of(limit)
    times, independent = _settled(run)
    median = times[len(times) // 2]
    interval = median_interval(times, independent)
    text = f"the median step takes {_ms(median)} ({_ms(interval[0])} to {_ms(interval[1])}), the limit is {_ms(bound)}"
    if interval[1] <= bound:
        return True, text
    return (False if interval[0] > bound else None), text


def _exposed(run: Run, item, limit) -> tuple[bool | None, str]:
    analysis = stepscope.analyze(run.traces)
    if analysis.step_ns is None:
        raise stepscope.Error(
            "the traces have no whole step", str(run.traces), None, "record whole steps"
        )
    exposed = sum(
        ns for category, ns in analysis.budget_ns.items() if category.startswith("comm_exposed")
    )
    if isinstance(limit, str) and not limit.rstrip().endswith("%"):
        bound = time_of(limit)
    else:
        bound = (
            float(limit.rstrip().rstrip("%")) / 100 if isinstance(limit, str) else limit
        ) * analysis.step_ns
    return exposed <= bound, (
        f"{_ms(exposed)} of each step of {_ms(analysis.step_ns)} wait for communication, the limit is {_ms(bound)}. "
        + analysis.sentence
    )


def _regression(run: Run, item, baseline, max_regression="2%") -> tuple[bool | None, str]:
    path = pathlib.Path(item.path).parent / baseline
    steps = _steps_file(run)
    if item.config.getoption("--stepscope-write-baselines"):
        path.parent.mkdir(parents=True, exist_ok=True)
        run.write_times(path)
        return True, "written"
    if not path.exists():
        raise stepscope.Error(
            "there is no baseline", str(path), None, "run pytest --stepscope-write-baselines once"
        )
    comparison = stepscope.compare(path, steps, max_regression=max_regression)
    told = None if comparison.regression is None else not comparison.regression
    return told, comparison.sentence
