#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module compared with the command and its floors.

python_module.py PACKAGE_DIR COMMAND TRACES [--rounds N]

PACKAGE_DIR holds the built package, COMMAND is of the same build, TRACES are traces of one run. Prints, as medians with
the range over the rounds, which take turns:
  import     what `import stepscope` adds to the start of the interpreter
  analyze    stepscope.analyze and its text over the command that prints it: wall time and largest resident set
  kernels    a table of 3 million kernels, made into a polars frame: time, and the copy of its columns with numpy's floor
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def spread(values, unit):
    return f"{statistics.median(values):.4g} {unit} ({min(values):.4g} to {max(values):.4g})"


def timed(arguments, environment):
    """Wall seconds and MiB of the largest resident set of a process."""
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{arguments} ended with {status}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def write_kernels(path, count):
    """A trace of one step with `count` kernels of 100 names on one stream."""
    rows = [
        '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":%d}'
        % (2 * count)
    ]
    line = '{"ph":"X","cat":"kernel","name":"kernel_%d","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":0,"stream":7,"correlation":%d}}'
    with open(path, "w") as file:
        file.write(
            '{"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[\n' + rows[0]
        )
        for first in range(0, count, 10_000):
            file.write(
                ",\n"
                + ",\n".join(
                    line % (k % 100, 2 * k, k + 1) for k in range(first, min(first + 10_000, count))
                )
            )
        file.write("\n]}\n")


KERNELS = """
import json, sys, time
import numpy, polars
import stepscope
trace = stepscope.read_trace(sys.argv[1])
times, floors = [], []
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter(); table = trace.kernels; frame = polars.DataFrame(table); times.append(time.perf_counter() - begin)
    columns = [numpy.zeros(len(frame), "i8") for _ in range(4)]
    begin = time.perf_counter(); copies = [column.copy() for column in columns]; floors.append(time.perf_counter() - begin)
print(json.dumps({"rows": len(frame), "times": times, "floors": floors}))
"""


def main():
    package, command, traces = sys.argv[1:4]
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 9
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(package).resolve())}
    start, imported, api, program = [], [], [], []
    call = "import sys, stepscope; print(stepscope.analyze(sys.argv[1]).text())"
    for _ in range(rounds):
        start.append(timed([sys.executable, "-c", "pass"], environment)[0])
        imported.append(timed([sys.executable, "-c", "import stepscope"], environment)[0])
        api.append(timed([sys.executable, "-c", call, traces], environment))
        program.append(timed([command, "analyze", traces], environment))
    print("import     ", spread([1e3 * (b - a) for a, b in zip(start, imported)], "ms"))
    added = statistics.median(imported)
    ratios = [(a[0] - added) / p[0] for a, p in zip(api, program)]
    print(
        "analyze    ",
        spread([p[0] for p in program], "s"),
        "by the command; the call, without the import, over it:",
        spread(ratios, ""),
    )
    print(
        "   memory  ",
        spread([p[1] for p in program], "MiB"),
        "by the command; over it:",
        spread([a[1] / p[1] for a, p in zip(api, program)], ""),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rank0.json")
        write_kernels(path, 3_000_000)
        done = subprocess.run(
            [sys.executable, "-c", KERNELS, path, str(rounds)],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
    result = json.loads(done.stdout)
    print("kernels    ", f"{result['rows']} rows:", spread([1e3 * t for t in result["times"]], "ms"),
          "to polars; a copy of four columns of 8 bytes takes", spread([1e3 * t for t in result["floors"]], "ms"))  # fmt: skip


main()
