# SPDX-License-Identifier: Apache-2.0
"""Where the tests find what they need. STEPSCOPE_COMMAND: the command of the same build. STEPSCOPE_SHARED: the
collection of traces that is not part of the repository; tests on it are skipped without it."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/train_tiny/traces/ddp"
SHARED = pathlib.Path(os.environ.get("STEPSCOPE_SHARED", ROOT.parent / "shared")) / "data"


def pytest_configure(config):
    config.addinivalue_line("markers", "torch: needs PyTorch and starts jobs of several processes")


@pytest.fixture(scope="session")
def command():
    """Runs the command: its standard output."""
    program = os.environ.get("STEPSCOPE_COMMAND")
    if not program:
        pytest.skip("STEPSCOPE_COMMAND is not set")

    def run(*arguments, codes=(0,)):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, cwd=ROOT)
        assert done.returncode in codes, done.stderr.decode()
        return done.stdout

    return run


def shared_runs():
    """{name: paths} of the recorded runs."""
    table = SHARED / "runs.tsv"
    if not table.is_file():
        return {}
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    return {row[0]: [str(SHARED / "traces" / name) for name in row[2].split(" ")] for row in rows}
