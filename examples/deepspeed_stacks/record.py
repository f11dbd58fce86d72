#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records py-spy on two ranks of DeepSpeed ZeRO-3 on the CPU (train.py), one collapsed profile per rank.

    record.py OUT [--native] [--seconds 15] [--rate 50] [--venv DIR]

A virtual environment with torch, DeepSpeed and py-spy is made in DIR, from pip, or used if it is there. OUT/rank0.collapsed.gz
and OUT/rank1.collapsed.gz hold the samples. Paths in them are relative to the package, threads are numbered by first
occurrence in the sorted file. py-spy needs the right to trace its own child processes. DeepSpeed compiles one operator,
so a C++ compiler is needed. Standard library only.
"""
import argparse
import collections
import gzip
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 2
HERE = Path(__file__).resolve().parent


def environment_of(options):
    python = options.venv / "bin" / "python"
    if python.exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", str(options.venv)], check=True)
    install = [str(python), "-m", "pip", "install"]
    subprocess.run([*install, options.torch, "numpy", "setuptools", "wheel", "ninja", options.py_spy], check=True)
    # DeepSpeed's build looks at the installed torch.
    subprocess.run([*install, "--no-build-isolation", options.deepspeed], check=True,
                   env={**os.environ, "DS_BUILD_OPS": "0"})
    return python


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_rank(python, rank, port, ready, seconds, log):
    environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
                   "PYTHONWARNINGS": "ignore", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.Popen([str(python), "train.py", str(ready), str(seconds)], cwd=HERE, env=environment,
                            stdout=log, stderr=subprocess.STDOUT)


def wait_until_ready(trainers, ready, limit):
    end = time.monotonic() + limit
    while not all(r.exists() for r in ready):
        if time.monotonic() > end:
            raise SystemExit(f"no training after {limit} s")
        for rank, trainer in enumerate(trainers):
            if trainer.poll() is not None:
                raise SystemExit(f"rank {rank} ended with {trainer.returncode} before it trained")
        time.sleep(0.1)


def record(python, pids, options, folder):
    """py-spy on all ranks at once. --idle keeps the samples of threads that wait."""
    spies = []
    for rank, pid in enumerate(pids):
        command = [str(python.parent / "py-spy"), "record", "--pid", str(pid), "--format", "raw", "--threads", "--idle",
                   "--rate", str(options.rate), "--duration", str(options.seconds), "--output",
                   str(folder / f"rank{rank}.txt")]
        spies.append(subprocess.Popen(command + (["--native"] if options.native else [])))
    for rank, spy in enumerate(spies):
        if spy.wait() != 0:
            raise SystemExit(f"py-spy failed on rank {rank}")


def relative(path):
    """torch/nn/modules/module.py of /…/site-packages/torch/nn/modules/module.py; threading.py of the standard library."""
    for mark in (r"/site-packages/", r"/lib/python\d[\d.]*/"):
        parts = re.split(mark, path)
        if len(parts) > 1:
            return parts[-1]
    return path.rsplit("/", 1)[-1] if path.startswith("/") else path


def anonymous(text):
    """The same samples, without paths of the machine and without its process and thread numbers."""
    weights = collections.Counter()
    numbers = {}
    for line in sorted(text.splitlines()):
        stack, weight = line.rsplit(" ", 1)
        stack = re.sub(r"(?<= \()(/[^():;]*)", lambda m: relative(m[1]), stack)
        thread = re.match(r"thread \((\w+)\)", stack)
        if thread:
            number = numbers.setdefault(thread[1], len(numbers) + 1)
            stack = f"thread ({number}){stack[thread.end():]}"
        weights[stack] += int(weight)
    out = "".join(f"{stack} {weight}\n" for stack, weight in sorted(weights.items()))
    left = re.search(r"[(\s;\"']/(home|root|tmp|usr|opt|var|mnt|work)\b[^\s;)]*", out)
    if left:
        raise SystemExit(f"a path of this machine is left: {left[0]}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--native", action="store_true", help="also record C and C++ frames")
    parser.add_argument("--seconds", type=int, default=15, help="length of the recording")
    parser.add_argument("--rate", type=int, default=50, help="samples per second")
    parser.add_argument("--venv", type=Path, default=HERE / "venv", help="virtual environment, made if it is not there")
    parser.add_argument("--torch", default="torch", help="what pip installs; the CPU build is enough")
    parser.add_argument("--deepspeed", default="deepspeed==0.16.7", help="what pip installs")
    parser.add_argument("--py-spy", default="py-spy", help="what pip installs")
    options = parser.parse_args()
    options.venv = options.venv.absolute()
    python = environment_of(options)
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        ready = [folder / f"ready{rank}" for rank in range(RANKS)]
        trainers = []
        log = folder / "training.log"
        try:
            with log.open("w", encoding="utf-8") as to:
                # py-spy starts within some seconds, and stops the ranks while it reads their stacks.
                trainers = [start_rank(python, rank, port, ready[rank], options.seconds + 60, to)
                            for rank in range(RANKS)]
            wait_until_ready(trainers, ready, 600)
            record(python, [t.pid for t in trainers], options, folder)
        except SystemExit:
            sys.stderr.write(log.read_text(encoding="utf-8", errors="replace")[-4000:])
            raise
        finally:
            for trainer in trainers:
                trainer.kill()
                trainer.wait()
        options.out.mkdir(parents=True, exist_ok=True)
        for rank in range(RANKS):
            text = anonymous((folder / f"rank{rank}.txt").read_text(encoding="utf-8"))
            path = options.out / f"rank{rank}.collapsed.gz"
            path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
            samples = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
            print(f"{path}: {samples} samples, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
