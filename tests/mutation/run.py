#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program on mutated inputs and command lines, and reports each run that breaks a rule (oracles.py).

run.py PROGRAM [--runs N] [--first N] [--seed S] [--workers N] [--seconds T] [--keep DIR] [--only TEXT] [--list]

Run number N of a seed S is the same case each time. Runs that break a rule are kept in DIR/N, with the files and
`reproduce.sh PROGRAM`. Exit code: 0 without such a run, else 1."""
import argparse
import collections
import multiprocessing
import os
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import cases
import mutate_arguments
import oracles
import seeds

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
MOST_BYTES = 1_000_000_000
ADDRESSES = 8 << 30    # address space of a run: the machine survives what breaks the rule
FILE_BYTES = 256 << 20
KEPT_OF_A_KIND = 3


def forget_peak():
    """A child begins with the peak of its parent's memory. This sets it to what the parent uses now."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass  # the children's peaks are then bounds


def execute(program, arguments, seconds=SECONDS):
    """Runs the program in the working folder. Kills its whole process group at its end, or when it is late."""
    actions = [(os.POSIX_SPAWN_OPEN, fd, path, flags, 0o600) for fd, path, flags in (
        (0, os.devnull, os.O_RDONLY), (1, ".stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, ".stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))]
    environment = {"PATH": os.environ["PATH"], "TMPDIR": os.getcwd(), "HOME": os.getcwd(), "LC_ALL": "C.UTF-8"}
    words = [w.encode("utf-8", "surrogateescape") for w in [program] + arguments]
    forget_peak()
    begin = time.monotonic()
    child = os.posix_spawn(program, words, environment, file_actions=actions, setpgroup=0)
    late = [False]

    def kill(*_):
        late[0] = True
        os.killpg(child, signal.SIGKILL)
    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # it stays a zombie, so its number is not used again
    signal.setitimer(signal.ITIMER_REAL, 0)
    took = time.monotonic() - begin
    try:
        os.killpg(child, signal.SIGKILL)  # what it has left behind
    except ProcessLookupError:
        pass
    _, status, usage = os.wait4(child, 0)
    texts = []
    for path in (".stdout", ".stderr"):
        with open(path, "rb") as file:
            texts.append(file.read(50_000_000))
        os.unlink(path)
    return oracles.Ended(os.waitstatus_to_exitcode(status), took, late[0], usage.ru_maxrss * 1024, *texts)


def read_output(name):
    try:
        with open(name, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def write_files(case):
    for name, data in case.files.items():
        if "/" in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(data)


def run_case(program, case, seconds=SECONDS, most_bytes=MOST_BYTES):
    """Runs the case in an empty folder, which is the working folder at the end too."""
    folder = tempfile.mkdtemp(prefix="mutation")
    home = os.getcwd()
    try:
        os.chdir(folder)
        write_files(case)
        ended = execute(program, case.arguments, seconds)
        return ended, oracles.judge(case, ended, most_bytes, read_output)
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)


def keep(folder, case, ended, faults):
    target = Path(folder) / str(case.number)
    shutil.rmtree(target, ignore_errors=True)
    (target / "files").mkdir(parents=True)
    for name, data in case.files.items():
        path = target / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    command = " ".join(shlex.quote(w) for w in case.arguments)
    (target / "reproduce.sh").write_bytes(
        ("#!/bin/bash\n# reproduce.sh PROGRAM: %s\nprogram=$(realpath \"$1\")\ncopy=$(mktemp -d)\n"
         "cp -r \"$(dirname \"$0\")\"/files/. \"$copy\"\ncd \"$copy\"\n\"$program\" %s\n" % (
             "; ".join(faults), command)).encode("utf-8", "surrogateescape"))
    (target / "stderr").write_bytes(ended.err)
    (target / "stdout").write_bytes(ended.out[:100_000])


def kind_of_fault(case, fault):
    """One key for runs that probably have one cause: the words without names and numbers."""
    words = re.sub(r'"[^"]*"|\S*\.\w+:|[-+]?\d[\w.+-]*', "#", fault.replace("stepscope: ", ""))
    return "%s: %s" % (case.verb, words[:200])


state = {}


def begin_worker(program, run_seed, kept, all_seeds, sides, flags):
    state.update(program=program, run_seed=run_seed, kept=kept, seeds=all_seeds, sides=sides, flags=flags)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for what, most in ((resource.RLIMIT_AS, ADDRESSES), (resource.RLIMIT_FSIZE, FILE_BYTES)):
        resource.setrlimit(what, (most, most))


def run_number(number):
    case = cases.make(number, state["run_seed"], state["seeds"], state["sides"], state["flags"])
    ended, faults = run_case(state["program"], case)
    if faults:
        keep(state["kept"], case, ended, faults)
    return (number, case.verb, case.kind, ended.code, ended.late, ended.seconds, ended.bytes,
            [(f, kind_of_fault(case, f)) for f in faults])


def numbers(options, all_seeds, sides, flags):
    """The numbers of the runs; with --only those whose case begins with the text."""
    end = time.monotonic() + options.seconds if options.seconds else None
    for number in range(options.first, options.first + options.runs):
        if end and time.monotonic() > end:
            return
        if options.only:
            case = cases.make(number, options.seed, all_seeds, sides, flags)
            if not (case.verb + " " + case.kind).startswith(options.only):
                continue
        yield number


class Table:
    def __init__(self):
        self.rows = collections.defaultdict(lambda: [collections.Counter(), 0.0, 0, 0])
        self.kinds = collections.defaultdict(list)
        self.runs = 0

    def add(self, number, verb, kind, code, late, seconds, size, faults):
        self.runs += 1
        row = self.rows[verb, kind]
        row[0]["hang" if late else code if code >= 0 else "signal"] += 1
        row[1], row[2] = max(row[1], seconds), max(row[2], size)
        row[3] += bool(faults)
        for _, kind_of in faults:
            self.kinds[kind_of].append(number)

    def print(self, took):
        print("%-10s %-14s %8s %8s %8s %8s %8s %8s %8s" % ("verb", "input", "runs", "exit 0", "exit 1", "exit 2", "slowest",
                                                          "memory", "faults"))
        total = collections.Counter()
        for (verb, kind), (codes, slowest, size, faults) in sorted(self.rows.items()):
            total.update(codes)
            print("%-10s %-14s %8d %8d %8d %8d %6.2f s %5d MB %8d" % (
                verb, kind[:14], sum(codes.values()), codes[0], codes[1], codes[2], slowest, size / 1e6, faults))
        print("%d runs in %.0f s (%.0f a second): exit codes %s" % (
            self.runs, took, self.runs / max(took, 1e-9), ", ".join("%s: %d" % item for item in sorted(total.items(), key=str))))
        for kind_of, found in sorted(self.kinds.items(), key=lambda item: -len(item[1])):
            print("FAULT %d x (%s) %s" % (len(found), ", ".join(map(str, sorted(found)[:KEPT_OF_A_KIND])), kind_of))


def tidy(folder, kinds):
    """Keeps the first runs of each kind of fault."""
    wanted = {n for found in kinds.values() for n in sorted(found)[:KEPT_OF_A_KIND]}
    for path in Path(folder).iterdir():
        if path.name.isdigit() and int(path.name) not in wanted:
            shutil.rmtree(path)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, help="time after which no further run begins")
    parser.add_argument("--keep", default=str(ROOT / "build" / "mutation"))
    parser.add_argument("--only", help="only cases that begin with these words: 'analyze nsys'")
    parser.add_argument("--list", action="store_true", help="print the cases and run nothing")
    return parser.parse_args()


def main():
    options = parse_options()
    program = os.path.realpath(options.program)
    flags = mutate_arguments.flags_of(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        all_seeds, sides = seeds.all_seeds(ROOT, program, folder)
    work = numbers(options, all_seeds, sides, flags)
    if options.list:
        for number in work:
            case = cases.make(number, options.seed, all_seeds, sides, flags)
            print(number, "%08x" % cases.fingerprint(case), *map(repr, case.arguments))
        return 0
    Path(options.keep).mkdir(parents=True, exist_ok=True)
    begin, table = time.monotonic(), Table()
    with multiprocessing.Pool(options.workers, begin_worker,
                              (program, options.seed, options.keep, all_seeds, sides, flags)) as pool:
        for result in pool.imap_unordered(run_number, work, chunksize=20):
            table.add(*result)
    table.print(time.monotonic() - begin)
    tidy(options.keep, table.kinds)
    if table.kinds:
        print("kept in %s: NUMBER/reproduce.sh PROGRAM" % options.keep)
    return 1 if table.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
