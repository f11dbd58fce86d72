#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal_test.py PROGRAM SOURCE: colours and the progress line are for a terminal only. A pseudo-terminal stands for
standard output, standard error, or both; NO_COLOR turns colours off."""

import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import threading

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TRACES = pathlib.Path(sys.argv[2]).resolve() / "examples/train_tiny/traces/ddp"
ESCAPE = b"\033["


def drained(descriptor, into):
    """Reads a terminal until its other end is closed."""
    try:
        while part := os.read(descriptor, 65536):
            into.append(part)
    except OSError:
        pass


def run(words, terminals, **environment):
    """What the program writes to (standard output, standard error); each is a terminal or a file."""
    plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    ends, written, readers = [], [], []
    for terminal in terminals:
        parts = []
        if terminal:
            ours, theirs = pty.openpty()
            readers.append((threading.Thread(target=drained, args=(ours, parts), daemon=True), ours))
        else:
            theirs = os.open(tempfile.mkstemp()[1], os.O_RDWR)
        ends.append(theirs)
        written.append(parts)
    for thread, _ in readers:
        thread.start()
    done = subprocess.run(
        [PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=ends[0], stderr=ends[1], env=plain | environment, check=False
    )
    for end, terminal, parts in zip(ends, terminals, written):
        if not terminal:
            parts.append(os.pread(end, 1 << 24, 0))
            os.unlink(os.readlink(f"/proc/self/fd/{end}"))
        os.close(end)
    for thread, ours in readers:
        thread.join()
        os.close(ours)
    if done.returncode:
        sys.exit(f"FAILED: {words}: exit {done.returncode}")
    return [b"".join(parts) for parts in written]


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


# Takes more than the second after which progress is drawn.
SEARCH = "plan gpt3-175b --machine a100_sxm_80gb --gpus 512:2048 --global-batch 1536 --threads 1".split()


def main():
    analyze = ["analyze", str(TRACES)]
    out, err = run(analyze, (True, True))
    expect(ESCAPE in out, "a terminal has colours")
    out, _ = run(analyze, (True, True), NO_COLOR="1")
    expect(out and ESCAPE not in out, "NO_COLOR turns colours off")
    out, _ = run(analyze, (True, True), NO_COLOR="")
    expect(ESCAPE in out, "an empty NO_COLOR turns nothing off")
    out, err = run(analyze, (False, True))
    expect(out and ESCAPE not in out, "a file has no colours though standard error is a terminal")
    out, err = run(SEARCH, (False, True))
    expect(b"\r" in err, "a terminal has a progress line")
    expect(b"\r" not in out and ESCAPE not in out, "progress is not in the answer")
    out, err = run(SEARCH, (True, False))
    expect(not err, f"2>file has no progress: {err[:200]}")
    for words in (["list", "machines"], ["list", "formats"], ["help"], ["whatif", "--list"]):
        out, _ = run(words, (False, False))
        expect(out and ESCAPE not in out, f"{words} has no colours in a file")


main()
