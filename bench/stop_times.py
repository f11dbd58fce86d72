#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends SIGINT and SIGTERM to every verb, each at random moments of an input that takes about ten seconds, and prints
how long the verb still worked. A verb must end within a second of processor time with exit code 130 and leave no part of
a file. The first run of each verb is not disturbed; its length is the span of the moments.

usage: stop_times.py PROGRAM [--moments N] [--inputs DIR] [--where] [VERB...]
  --moments N    of each signal (10)
  --inputs DIR   where the inputs are made, and kept for the next time; without it a temporary folder
  --where        also the stacks of what still runs half a second after the signal (needs gdb)
On two cores about 40 minutes, 1 GB of memory and 500 MB of disk.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MOST = 1.0  # seconds of one core, from the signal on
# Exit codes of verbs that a signal ends in the ordinary way.
ENDS = {"live": "0"}
TICKS = os.sysconf("SC_CLK_TCK")


def write_trace(path, rank, steps, kernels, names=20):
    """A rank whose host launches kernels one by one, as ordinary jobs that launch too slowly do."""
    with open(path, "w") as out:
        out.write(
            '{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85000000000}],'
            f'"distributedInfo":{{"backend":"nccl","rank":{rank},"world_size":2}},"traceEvents":[\n'
        )
        draw = random.Random(rank)
        start, call = 1.7e15, 1
        for step in range(steps):
            out.write(
                f'{"," if step else ""}{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":1,'
                f'"tid":1,"ts":{start:.3f},"dur":{kernels * 10}}}\n'
            )
            for k in range(kernels):
                at = start + k * 10 + draw.random()
                kernel = (
                    f'"name":"gemm_{draw.randrange(names)}"',
                    f'"stream":{7 + k % 3}',
                    7 + k % 3,
                )
                if k % 10 == 9:
                    kernel = (
                        '"name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL"',
                        '"stream":20,"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,'
                        '"Group size":2,"dtype":"Float","Process Group Name":"0","Process Group Ranks":"[0, 1]"',
                        20,
                    )
                out.write(
                    f',{{"ph":"X","cat":"cpu_op","name":"aten::op{k % 40}","pid":1,"tid":1,"ts":{at - 1:.3f},"dur":6}}'
                    f',{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{at:.3f},'
                    f'"dur":3,"args":{{"correlation":{call}}}}}\n'
                    f',{{"ph":"X","cat":"kernel",{kernel[0]},"pid":0,"tid":{kernel[2]},"ts":{at + 4:.3f},'
                    f'"dur":{5 + draw.random():.3f},"args":{{"correlation":{call},"device":0,{kernel[1]}}}}}\n'
                )
                call += 1
            start += kernels * 10
        out.write("]}\n")


def write_traces(folder, steps, kernels):
    os.makedirs(folder)
    for rank in range(2):
        write_trace(f"{folder}/rank{rank}.json", rank, steps, kernels)


def write_snapshot(path, events):
    draw = random.Random(1)
    trace, live = [], []
    for i in range(events):
        if live and draw.random() < 0.49:
            address, size = live.pop(draw.randrange(len(live)))
            trace.append(
                {
                    "action": "free_completed",
                    "addr": address,
                    "size": size,
                    "stream": 0,
                    "frames": [],
                }
            )
        else:
            address, size = 512 * i, 512 * draw.randrange(1, 99)
            live.append((address, size))
            frames = [
                {
                    "filename": f"m{draw.randrange(60)}.py",
                    "name": f"f{draw.randrange(60)}",
                    "line": draw.randrange(900),
                }
                for _ in range(6)
            ]
            trace.append(
                {"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": frames}
            )
    with open(path, "w") as out:
        json.dump({"segments": [], "device_traces": [trace]}, out)


def write_stacks(path, lines):
    draw = random.Random(1)
    with open(path, "w") as out:
        for _ in range(lines):
            frames = [
                f"f{draw.randrange(400)} (part{draw.randrange(40)}.py:{draw.randrange(900)})"
                for _ in range(draw.randrange(5, 30))
            ]
            out.write(f"python;{';'.join(frames)} {draw.randrange(1, 9)}\n")


def write_nccl_log(path, communicators):
    with open(path, "w") as out:
        for i in range(communicators):
            out.write(
                f"node{i % 64}:{i}:{i} [0] NCCL INFO comm 0x{i:x} rank {i % 8} nRanks 8 - Init COMPLETE\n"
                f"node1:{i}:1 [0] NCCL INFO AllReduce: opCount {i:x} sendbuff 0x1 recvbuff 0x2 count 10 datatype 7 op 0 "
                f"root 0 comm 0x{i:x} [nranks=8] stream 0x3\n"
            )


def write_log(path, steps):
    draw = random.Random(2)
    with open(path, "w") as out:
        for step in range(steps):
            out.write(f"step {step} loss 4.0 step_time_ms={200 + draw.gauss(0, 5):.3f}\n")


def write_runs(folder, runs):
    os.makedirs(folder)
    for run in range(runs):
        write_traces(f"{folder}/run{run}", 10, 1000)


def write_kernel_table(path, rows):
    draw = random.Random(3)
    with open(path, "w") as out:
        out.write("collective,ranks,bytes,time_s\n")
        for _ in range(rows):
            size = 2 ** draw.randrange(8, 30)
            out.write(
                f"all_reduce,{draw.choice((2, 4, 8))},{size},{2e-5 + size / 2e11 * (1 + draw.random() / 9):.9f}\n"
            )


INPUTS = {
    "job": lambda path: write_traces(path, 40, 3000),
    "small": lambda path: write_traces(path, 12, 2000),
    "snapshot.json": lambda path: write_snapshot(path, 400_000),
    "stacks.txt": lambda path: write_stacks(path, 600_000),
    "nccl.log": lambda path: write_nccl_log(path, 25_000),
    "steps.log": lambda path: write_log(path, 2_000_000),
    "runs": lambda path: write_runs(path, 8),
    "table.csv": lambda path: write_kernel_table(path, 100_000),
}
SEARCH = "deepseek-v3 --machine h100_sxm_80gb --gpus 2048 --global-batch 15360 --seq 4096"
# {in} is the folder of the inputs, {out} that of what the command writes.
COMMANDS = {
    "analyze": "analyze {in}/job --json {out}/a.json --html {out}/a.html --csv {out}/csv",
    "analyze --perfetto": "analyze {in}/small --perfetto {out}/a.pftrace",
    "whatif": "whatif {in}/job --json {out}/a.json",
    "check": "check {in}/job --json {out}/a.json --html {out}/a.html",
    "check LOG": "check {in}/steps.log --json {out}/a.json",
    "digest": "digest {in}/job {in}/runs --out {out}",
    "memory": "memory {in}/snapshot.json --json {out}/a.json --html {out}/a.html",
    "stacks": "stacks {in}/stacks.txt --json {out}/a.json --html {out}/a.html --csv {out}/csv",
    "hang": "hang {in}/nccl.log --json {out}/a.json --html {out}/a.html",
    "live": "live {in}/steps.log --interval 0.2s --plain --json {out}/a.json --openmetrics {out}/a.prom",
    "compare": "compare {in}/job {in}/small --json {out}/a.json --html {out}/a.html",
    "compare LOGS": "compare {in}/steps.log {in}/steps.log --json {out}/a.json",
    "compare --run": "compare --run 'sleep 5' --run 'sleep 5' --json {out}/a.json",
    "sweep": "sweep --vary N=1,2 --json {out}/a.json -- sleep 5{N}",
    "runs": "runs {in}/runs --history {out}/a.sqlite --json {out}/a.json",
    "predict": "predict deepseek-v3 --machine h100_sxm_80gb --gpus 2048 --global-batch 16384 --seq 4096"
    " --vary tp=1,2,4,8 --vary pp=1,2,4,8,16 --vary zero=0,1,2,3 --vary micro-batch=1,2 --json {out}/a.json",
    "project": "project {in}/job --gpus 8 --json {out}/a.json",
    "plan": "plan " + SEARCH + " --json {out}/a.json --html {out}/a.html",
    "calibrate": "calibrate {out}/a.json",
    "calibrate --from": "calibrate {out}/a.json --from {in}/table.csv --machine h100_sxm_80gb",
    "train": "train --ranks 2 --steps 100000 --json {out}/a.json --csv {out}/csv",
    "train --trace": "train --ranks 2 --steps 100000 --trace {out}/trace --trace-steps 5,1,90000,1",
}


def processor_seconds(pid):
    """Processor time of the process without its children; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) / TICKS
    except OSError:
        return 0.0


def words_of(command, program, inputs, out):
    line = command.replace("{in}", inputs).replace("{out}", out)
    return ["sh", "-c", f"exec '{program}' {line}"]


class Run:
    """One run of a command in a folder of its own."""

    def __init__(self, command, program, inputs):
        self.out = tempfile.mkdtemp(prefix="stop_times-")
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            words_of(command, program, inputs, self.out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def ended_within(self, seconds):
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def parts(self):
        """Names of files that are no whole output: temporary names, and JSON that cannot be read."""
        found = []
        for folder, _, names in os.walk(self.out):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(
                    (
                        ".json",
                        ".html",
                        ".prom",
                        ".sqlite",
                        ".csv",
                        ".digest",
                        ".pftrace",
                        ".json.gz",
                    )
                ):
                    if name.endswith(".json"):
                        try:
                            with open(path) as file:
                                json.load(file)
                        except ValueError:
                            found.append(name)
                    continue
                found.append(name)
        return found

    def remove(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.out, ignore_errors=True)


def whole(command, program, inputs, longest=12):
    """How long the command takes when nothing stops it, `longest` at most."""
    run = Run(command, program, inputs)
    run.ended_within(longest)
    seconds, code = time.monotonic() - run.begin, run.process.poll()
    run.remove()
    return seconds, code


def stopped(command, program, inputs, after, which, where):
    """What happens when the signal comes `after` seconds after the start; None where the command had ended."""
    run = Run(command, program, inputs)
    try:
        if run.ended_within(after):
            return None
        before = processor_seconds(run.process.pid)
        sent = time.monotonic()
        run.process.send_signal(which)
        worked, stacks = before, ""
        while not run.ended_within(0.01) and time.monotonic() - sent < 60:
            worked = max(worked, processor_seconds(run.process.pid))
            if where and not stacks and time.monotonic() - sent > 0.5:
                stacks = subprocess.run(
                    ["gdb", "-p", str(run.process.pid), "-batch", "-ex", "thread apply all bt 12"],
                    capture_output=True,
                    text=True,
                    check=False,
                ).stdout
        return {
            "after": after,
            "wall": time.monotonic() - sent,
            "worked": worked - before,
            "code": run.process.poll(),
            "parts": run.parts(),
            "stacks": stacks,
        }
    finally:
        run.remove()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--inputs")
    parser.add_argument("--where", action="store_true")
    given = parser.parse_intermixed_args()
    inputs = given.inputs or tempfile.mkdtemp(prefix="stop_times-inputs-")
    os.makedirs(inputs, exist_ok=True)
    wanted = {
        name: command
        for name, command in COMMANDS.items()
        if not given.verbs or name in given.verbs or name.split()[0] in given.verbs
    }
    for name, write in INPUTS.items():
        path = os.path.join(inputs, name)
        if any("{in}/" + name in command for command in wanted.values()) and not os.path.exists(
            path
        ):
            write(path)
    draw = random.Random(1)
    failed = False
    print(
        "| command | whole, s | stopped | longest wall, s | longest work, s | exit codes | parts of files |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, command in wanted.items():
        seconds, code = whole(command, given.program, inputs)
        seen = []
        for which in (signal.SIGINT, signal.SIGTERM):
            for _ in range(given.moments):
                one = stopped(
                    command, given.program, inputs, draw.uniform(0.05, seconds), which, given.where
                )
                if one:
                    seen.append(one)
        codes = sorted({str(one["code"]) for one in seen})
        parts = sorted({part for one in seen for part in one["parts"]})
        worked = max((one["worked"] for one in seen), default=0)
        bad = worked > MOST or parts or not {*codes} <= {"130", ENDS.get(name, str(code))}
        failed = failed or bad
        print(
            f"| {name} | {seconds:.1f}{'' if code in (0, None) else f' (exit code {code})'} | {len(seen)} |"
            f" {max((one['wall'] for one in seen), default=0):.2f} | {worked:.2f} | {', '.join(codes)} |"
            f" {', '.join(parts) or 'none'} |{' FAILED' if bad else ''}",
            flush=True,
        )
        for one in seen:
            if one["stacks"]:
                print(
                    f"\n{name}, {one['after']:.2f} s, {one['wall']:.2f} s:\n{one['stacks']}",
                    flush=True,
                )
    if not given.inputs:
        shutil.rmtree(inputs)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
