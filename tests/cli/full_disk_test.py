#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""full_disk_test.py PROGRAM: `stepscope live --openmetrics` on a disk that fills up and has room again. A limit of the
size of files stands for the full disk. /dev/full and, where the kernel allows it, a small tmpfs are full in earnest."""

import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]


def steps(first, last, ms):
    return "".join(
        f"step {n:5d}  loss 4.0000  norm 2.976  lr 3.00e-04     {ms}.{n % 10} ms   4.46 k tokens/s   16.6 % MFU\n"
        for n in range(first, last)
    )


def until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"FAILED: {what}")
        time.sleep(0.05)


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def a_disk_that_fills_up_while_a_job_is_followed(folder):
    job, out = folder / "job", folder / "out"
    job.mkdir()
    out.mkdir()
    log, prom, errors = job / "train.log", out / "live.prom", folder / "errors"
    log.write_text(steps(0, 20, 200))
    command = [PROGRAM, "live", job, "--plain", "--interval", "0.1s", "--openmetrics", prom]
    with open(errors, "w") as said:
        follower = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
    try:
        until(lambda: prom.exists() and "steps_total 20\n" in prom.read_text(), "the first text")
        unlimited = resource.prlimit(follower.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(follower.pid, resource.RLIMIT_FSIZE, (500, unlimited[1]))
        with open(log, "a") as file:
            file.write(steps(20, 30, 200))
        until(lambda: "live.prom" in errors.read_text(), "the failure is said")
        time.sleep(1)  # ten more attempts
        said = errors.read_text()
        expect(said.count("live.prom") == 1, f"a failure is said once: {said}")
        expect("File too large; free space or choose another place" in said, said)
        expect("steps_total 20\n" in prom.read_text(), "the last whole text stays")
        expect(prom.read_text().count("# TYPE stepscope_live_steps_total") == 1, "it is whole")
        expect(follower.poll() is None, "following goes on")
        resource.prlimit(follower.pid, resource.RLIMIT_FSIZE, unlimited)
        until(lambda: "steps_total 30\n" in prom.read_text(), "with room it is written again")
        until(lambda: "live.prom: is written again" in errors.read_text(), "and that is said")
        follower.send_signal(signal.SIGINT)
        expect(follower.wait(30) == 1, "the exit code tells of the failure")
        expect(names(out) == ["live.prom"], f"nothing else stays: {names(out)}")
    finally:
        follower.kill()
        follower.wait()


def a_full_device(folder):
    done = subprocess.run(
        [PROGRAM, "live", folder / "job", "--once", "--openmetrics", "/dev/full"],
        capture_output=True,
        text=True,
    )
    expect(done.returncode == 1, f"exit code {done.returncode}: {done.stderr}")
    expect("/dev/full: cannot write: No space left on device" in done.stderr, done.stderr)
    expect("20" in done.stdout or "29" in done.stdout, "the answer is printed all the same")


TMPFS = """
set -eu
mount -t tmpfs -o size=64k none "$2"
"$1" live "$3" --once --openmetrics "$2/live.prom" >/dev/null
cp "$2/live.prom" "$4/before"
dd if=/dev/zero of="$2/filler" bs=4k 2>/dev/null || true
if "$1" live "$3" --once --openmetrics "$2/live.prom" >/dev/null 2>"$4/said"; then exit 90; fi
cmp "$2/live.prom" "$4/before"
[ "$(ls "$2")" = "$(printf 'filler\\nlive.prom')" ]
rm "$2/filler"
"$1" live "$3" --once --openmetrics "$2/live.prom" >/dev/null
"""


def a_full_file_system(folder):
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    mount = folder / "mount"
    mount.mkdir()
    try_it = ["sh", "-c", 'mount -t tmpfs -o size=64k none "$1"', "sh", mount]
    if (
        not shutil.which("unshare")
        or subprocess.run(namespace + try_it, capture_output=True).returncode
    ):
        print("skipped: a tmpfs, which this kernel lets no user mount")
        return
    done = subprocess.run(
        [*namespace, "sh", "-c", TMPFS, "sh", PROGRAM, mount, folder / "job", folder],
        capture_output=True,
        text=True,
    )
    expect(done.returncode == 0, f"a tmpfs: {done.returncode} {done.stderr}")
    said = (folder / "said").read_text()
    expect("No space left on device; free space or choose another place" in said, said)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    a_disk_that_fills_up_while_a_job_is_followed(folder)
    a_full_device(folder)
    a_full_file_system(folder)
print("full disk: ok")
