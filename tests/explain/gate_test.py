#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The replay answers only where its graph is right: gate_test.py STEPSCOPE.

Jobs with all rows get answers, and the replay predicts their held-out steps. The same jobs get no answer after rows
were removed that most of the step hangs on. The answer then states no gain and says what to record."""
import glob
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import jobs

WHOLE = [("pauses", 10), ("slow_rank", 1), ("healthy", 25)]


def without_launches(rank, events):
    return [e for e in events if e.get("cat") not in ("cuda_runtime", "cuda_driver", "ac2g")]


def without_half_of_the_host(rank, events):
    r = random.Random(rank)
    return [e for e in events if e.get("cat") not in ("cuda_runtime", "cuda_driver", "cpu_op") or r.random() < 0.5]


def without_groups(rank, events):
    for e in events:
        if "args" in e:
            e["args"] = {k: v for k, v in e["args"].items() if "rocess Group" not in k and "ollective" not in k}
    return events


# The draw, what it loses, and what its answer must say.
BROKEN = [(("pauses", 10), without_launches, "launch has no row", "host rows"),
          (("slow_rank", 1), without_launches, "launch has no row", "host rows"),
          (("slow_rank", 1), without_half_of_the_host, "launch has no row", "record-a-trace"),
          (("pauses", 10), without_half_of_the_host, "launch has no row", "host rows"),
          (("slow_rank", 1), without_groups, "without their peers", "process group"),
          (("exposed_communication", 22), without_groups, "without their peers", "process group")]


def trace_files(folder):
    return sorted(glob.glob(os.path.join(folder, "*.json*")))


def broken(folder, take, to):
    for rank, name in enumerate(trace_files(folder)):
        with (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8") as f:
            trace = json.load(f)
        trace["traceEvents"] = take(rank, trace["traceEvents"])
        if take is without_groups:
            trace.get("distributedInfo", {}).pop("pg_config", None)
        with open(os.path.join(to, os.path.basename(name).replace(".gz", "")), "w", encoding="utf-8") as f:
            json.dump(trace, f)


def asked(stepscope, folder):
    out = subprocess.run([stepscope, "analyze", folder, "--json", "-"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def main():
    stepscope, failed = sys.argv[1], False

    def expect(good, what):
        nonlocal failed
        failed = failed or not good
        print("%s %s" % ("ok    " if good else "FAILED", what))

    with tempfile.TemporaryDirectory() as folder:
        drawn = {}
        for kind, number in {*WHOLE, *(b[0] for b in BROKEN)}:
            drawn[kind, number] = os.path.join(folder, "%s%d" % (kind, number))
            jobs.made(kind, 20261, number, 16, drawn[kind, number])
        for draw in WHOLE:
            e = asked(stepscope, os.path.join(drawn[draw], "traces"))["explanation"]
            expect(not e["refused"] and e["held_out_steps"] >= 3 and e["replay_error"] < 0.005,
                   "%s: %d steps predicted, %.2f %% off, differing by %.1f %%" % (
                       draw[0], e["held_out_steps"], 100 * e["replay_error"], 100 * e["step_variation"]))
        for draw, take, why, record in BROKEN:
            with tempfile.TemporaryDirectory() as to:
                broken(os.path.join(drawn[draw], "traces"), take, to)
                out = asked(stepscope, to)
                answer, e = out["answer"], out["explanation"]
                expect(e["refused"] and not e["scenarios"] and answer["verdict"] is None and why in answer["sentence"]
                       and record in answer["culprit"] and not re.search("costs|would save [0-9]", answer["sentence"]),
                       "%s %s: %s" % (draw[0], take.__name__.replace("_", " "), answer["sentence"]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
