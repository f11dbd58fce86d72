#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""confirm.py STEPSCOPE TEXT [ROUNDS]: what-ifs compared with doing it.

Each case trains twice in turn, as it is and with the change made, and predicts the second from the
traces of the first. Prints a table; measured are the steps of the traces."""
import json
import subprocess
import sys
import tempfile

STEPSCOPE, TEXT = sys.argv[1], sys.argv[2]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
COMMON = ["train", "--data", TEXT, "--ranks", "2", "--steps", "14", "--trace-steps", "3,1,10,1", "--quiet"]
LINK = "throttle:50us:"
SLOW_START = "throttle:300us:400MB"
SLOW = ["--zero", "3", "--inject", LINK + "100MB"]

# name, flags of the baseline, flags with the change, question
CASES = [
    ("rank 1 slower by 30 %", ["--zero", "3"], ["--zero", "3", "--inject", "slow:1:30%"],
     "compute:%.6f@1" % (1 / 1.3)),
    ("rank 0 slower by 30 %", ["--zero", "1"], ["--zero", "1", "--inject", "slow:0:30%"],
     "compute:%.6f@0" % (1 / 1.3)),
    ("slow rank mended", ["--zero", "2", "--inject", "slow:1:30%"], ["--zero", "2"],
     "rank_as_peers@1"),
    ("loader's 20 ms gone", ["--zero", "3", "--inject", "data:1:20ms"], ["--zero", "3"], "data_free"),
    ("link at half the rate", ["--zero", "3", "--inject", LINK + "400MB"],
     ["--zero", "3", "--inject", LINK + "200MB"], "bandwidth:0.5"),
    # Gradients: a high-latency link with merged messages, and one with split messages.
    ("all-reduces of 64 KiB merged to 256", ["--zero", "0", "--bucket", "64KiB", "--inject", SLOW_START],
     ["--zero", "0", "--bucket", "256KiB", "--inject", SLOW_START], "bucket:256KiB"),
    ("reduce-scatters of 64 KiB merged to 256", ["--zero", "3", "--bucket", "64KiB", "--inject", SLOW_START],
     ["--zero", "3", "--bucket", "256KiB", "--inject", SLOW_START], "bucket:256KiB"),
    ("all-reduces of 256 KiB split to 64", ["--zero", "0", "--bucket", "256KiB", "--inject", SLOW_START],
     ["--zero", "0", "--bucket", "64KiB", "--inject", SLOW_START], "bucket:64KiB"),
    ("link at twice the rate", ["--zero", "1", "--inject", LINK + "200MB"],
     ["--zero", "1", "--inject", LINK + "400MB"], "bandwidth:2"),
    ("prefetch from 0 to 1", SLOW + ["--prefetch", "0"], SLOW + ["--prefetch", "1"], "prefetch:1"),
    ("prefetch from 0 to 2", SLOW + ["--prefetch", "0"], SLOW + ["--prefetch", "2"], "prefetch:2"),
    ("prefetch from 1 to 3", SLOW + ["--prefetch", "1"], SLOW + ["--prefetch", "3"], "prefetch:3"),
    ("prefetch from 1 to 0", SLOW + ["--prefetch", "1"], SLOW + ["--prefetch", "0"], "prefetch:0"),
]


def train(flags, folder):
    subprocess.run([STEPSCOPE, *COMMON, *flags, "--trace", folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ask(folder, *changes):
    words = [STEPSCOPE, "whatif", folder, "--json", "-"]
    for change in changes:
        words += ["--change", change]
    out = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return out["baseline_ns"], [s["step_ns"] for s in out["scenarios"]], out["replay_error"]


def main():
    print("| case | before ms | predicted | measured | error |")
    print("|---|---|---|---|---|")
    errors = []
    for name, before, after, change in CASES:
        predicted, measured, baseline = [], [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
                train(before, a)
                train(after, b)
                step, (guess,), _ = ask(a, change)
                baseline.append(step)
                predicted.append(guess)
                measured.append(ask(b, "no_waiting")[0])
        middle = lambda v: sorted(v)[len(v) // 2] / 1e6
        error = middle(predicted) / middle(measured) - 1
        errors.append(abs(error))
        print("| %s | %.1f | %.1f | %.1f | %+.1f %% |" % (name, middle(baseline), middle(predicted),
                                                       middle(measured), 100 * error), flush=True)
    print("mean error %.1f %%, worst %.1f %%" % (100 * sum(errors) / len(errors), 100 * max(errors)))


main()
