# SPDX-License-Identifier: Apache-2.0
"""The marks of the pytest plugin, in runs of pytest of their own."""

import random
import re

import pytest

pytest_plugins = ["pytester"]

HEAD = """
import pytest, random
def steps(run, mean_ms, count, seed):
    chance = random.Random(seed)
    run.times_ns += [round(1e6 * chance.gauss(mean_ms, mean_ms / 100)) for _ in range(count)]
"""


def outcome(pytester, body, *arguments):
    pytester.makepyfile(HEAD + body)
    return pytester.runpytest_subprocess(
        "-p", "stepscope.pytest_plugin", "-p", "no:cacheprovider", *arguments
    )


def verdicts(result):
    """{name of the test: whether it passed}"""
    found = re.findall(r"::(\w+) (PASSED|FAILED)", result.stdout.str())
    return {name: word == "PASSED" for name, word in found}


LIMITS = [
    ('"40ms"', 60, "", True),
    ("0.04", 60, "", True),
    ('"38ms"', 60, "", False),
    ('"38.9ms"', 60, "", False),  # the interval holds the limit
    ('"39ms"', 60, ', inconclusive="pass"', True),
    ('"42ms"', 3, "", True),
    ('"39ms"', 3, "", False),  # too few to decide
    ('"39ms"', 3, ', inconclusive="pass"', True),
    ('"40ms"', 60, ', inconclusive="maybe"', False),
    ('"fast"', 60, "", False),
]


def test_the_median_step_is_limited(pytester):
    body = "".join(
        f"""
@pytest.mark.limit_step_time({limit}{more})
def test_{number}(stepscope_run):
    steps(stepscope_run, 39, {count}, 7)
"""
        for number, (limit, count, more, _) in enumerate(LIMITS)
    )
    result = outcome(pytester, body, "-v")
    assert verdicts(result) == {f"test_{number}": case[3] for number, case in enumerate(LIMITS)}
    result.stdout.fnmatch_lines(
        ["*the median step takes 39 ms (38.9 ms to 39* ms), the limit is 38 ms"]
    )


def test_a_limit_needs_the_fixture_and_steps(pytester):
    result = outcome(
        pytester,
        """
@pytest.mark.limit_step_time("1s")
def test_without(): pass

@pytest.mark.limit_step_time("1s")
def test_no_steps(stepscope_run): pass

@pytest.mark.limit_step_time("1s")
def test_timed(stepscope_run):
    for _ in range(30):
        with stepscope_run.step(): pass
""",
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*needs the fixture stepscope_run*", "*has timed no step*"])


def test_a_regression_fails(pytester):
    body = """
import os
@pytest.mark.no_regression("baselines/b.csv", max_regression="3%")
@pytest.mark.parametrize("more", [0, 0.2, 3])
def test_it(stepscope_run, more):
    steps(stepscope_run, 40 + more * int(os.environ.get("SLOWER", "0")), 60, 3)
"""
    result = outcome(pytester, body)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["*there is no baseline; run pytest --stepscope-write-baselines once*"]
    )
    outcome(pytester, body, "--stepscope-write-baselines").assert_outcomes(passed=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWER", "1")
        result = outcome(pytester, body)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*steps take 7.* % longer*"])


def test_exposed_communication_is_limited(pytester):
    from conftest import EXAMPLE

    limits = {'"30%"': True, "0.01": False, '"1s"': True, '"1us"': False}
    body = "import shutil\n" + "".join(
        f"""
@pytest.mark.limit_exposed_communication({limit})
def test_{number}(stepscope_run):
    shutil.copytree({str(EXAMPLE)!r}, stepscope_run.traces, dirs_exist_ok=True)
"""
        for number, limit in enumerate(limits)
    )
    result = outcome(pytester, body, "-v")
    assert list(verdicts(result).values()) == list(limits.values())
    result.stdout.fnmatch_lines(
        ["*wait for communication, the limit is*The data loader of rank 1*"]
    )


def test_the_interval_holds_the_median_as_often_as_it_says():
    from stepscope.pytest_plugin import median_interval

    chance = random.Random(1)
    held = 0
    for _ in range(20_000):
        times = sorted(chance.lognormvariate(0, 1) for _ in range(25))
        low, high = median_interval(times, 25)
        held += low <= 1 <= high
    assert 0.95 <= held / 20_000 <= 0.99
    assert median_interval([1, 2, 3, 4, 5], 5) == (1, 5)
    assert median_interval(list(range(40)), 12.5) == (6, 33)
