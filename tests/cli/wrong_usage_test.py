#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wrong_usage_test.py PROGRAM SOURCE: each row of wrong_usage.txt ends with its exit code, says its remedy in one line
on standard error. Standard error of a command that fails is one line without colours. The longest processor time is
printed."""

import gzip
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()

LOG = "".join(f"step {n}: loss=2.{n:03d} step_time_ms={100 + n % 3}\n" for n in range(1, 40))


def make_inputs(folder):
    """The files that rows name."""
    ddp = SOURCE / "examples/train_tiny/traces/ddp"
    shutil.copytree(ddp, folder / "traces")
    packed = (ddp / "rank0.json.gz").read_bytes()
    text = gzip.decompress(packed)
    (folder / "cut.json.gz").write_bytes(packed[:30000])
    (folder / "no.json.gz").write_bytes(text[:5000])  # not compressed, in spite of its name
    (folder / "empty").mkdir()
    (folder / "empty.json").write_text("")
    (folder / "loss.log").write_text(LOG)
    (folder / "notes.txt").write_text("Remember to profile rank 3.\n")
    (folder / "config.json").write_text('{"train_batch_size": 64}\n')
    many = folder / "many"
    many.mkdir()
    for n in range(300):
        (many / f"shard-{n}.bin").write_bytes(bytes([n % 251]) * 64)


def run(words, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [PROGRAM, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def faults_of(row, done):
    code, command, *texts = (part.strip() for part in row.split(" | "))
    said = done.stderr.decode()
    shown = said + done.stdout.decode()
    if done.returncode != int(code):
        yield f"exit {done.returncode} instead of {code}"
    for text in texts:
        if text not in (said if done.returncode else shown):
            yield f"no {text!r}"
    if done.returncode and len(said.splitlines()) != 1:
        yield f"{len(said.splitlines())} lines on standard error"
    if done.returncode == 2 and done.stdout:
        yield "standard output is not empty"
    if command.startswith("list ") and "…" in shown:
        yield "a name is shortened"
    if "\033" in shown:
        yield "colours without a terminal"
    if not texts:
        yield "the row has no text"


def main():
    rows = [
        line
        for line in (pathlib.Path(__file__).parent / "wrong_usage.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    failed = 0
    longest = (0.0, "")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_inputs(folder)
        for row in rows:
            done, seconds = run(shlex.split(row.split(" | ")[1]), folder)
            longest = max(longest, (seconds, row))
            if faults := list(faults_of(row, done)):
                failed += 1
                print(f"FAILED: {row}\n  {'; '.join(faults)}")
                print("  " + done.stderr.decode()[:500].replace("\n", "\n  "))
    print(f"longest: {longest[0]:.2f} s of processor time, {longest[1]}")
    if len(rows) < 50:
        sys.exit(f"FAILED: {len(rows)} rows, fewer than the table had")
    sys.exit(1 if failed else 0)


main()
