#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py STEPSCOPE TEXT [--runs N] [--clean N] [--seed S] [--log FILE]: injected faults, and what analyze names first.

Trains on an emulated network (each transfer takes 50 us and its bytes at 1 GB/s), whose machine
file is fitted to one clean run first. Each faulty run has one fault of random kind and size; a clean one
none. A run during which the machine lost more than 1 % of its time to steal is done again and
counted. Right is a run whose first finding is the fault's; a false alarm a clean run whose first
finding is one of any fault."""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

LATENCY_US, RATE = 50, 1e9
NETWORK = "throttle:%dus:%dMB"
STEPS, TRACED = 14, "3,1,10,1"


def slow_rank(r):
    rank = r.randrange(2)
    return ["--inject", "slow:%d:%d%%" % (rank, r.randint(20, 60))], "straggler_rank", rank


def sleeping_rank(r):
    rank = r.randrange(2)
    return ["--inject", "sleep:%d:%dms" % (rank, r.randint(15, 50))], "straggler_rank", rank


def slow_loader(r):
    rank = r.randrange(2)
    return ["--inject", "data:%d:%dms" % (rank, r.randint(15, 60))], "data_loader", rank


def slow_link(r):
    return ["--rate", str(r.randint(80, 250))], "slow_link", None


def tiny_buckets(r):
    return ["--bucket", "%dKiB" % r.choice([16, 24, 32])], "bucket_too_small", None


def no_prefetch(r):
    return ["--prefetch", "0", "--zero", "3"], "prefetch_miss", None


FAULTS = {f.__name__: f for f in (slow_rank, sleeping_rank, slow_loader, slow_link, tiny_buckets, no_prefetch)}
CAUSES = {"straggler_rank", "data_loader", "slow_link", "bucket_too_small", "prefetch_miss",
          "sync_calls", "stage_imbalance"}


def stolen():
    """Jiffies of this machine: all, and those that its host gave to others."""
    with open("/proc/stat", encoding="ascii") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    return sum(fields), fields[7]


def train(words, flags, seed, rate, folder):
    subprocess.run([words.stepscope, "train", "--data", words.text, "--ranks", "2", "--steps",
                    str(STEPS), "--trace-steps", TRACED, "--seed", str(seed), "--quiet",
                    "--inject", NETWORK % (LATENCY_US, rate), *flags, "--trace", folder],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fitted_machine(words, folder):
    """The machine file of the emulated network, as a clean run's transfers show it."""
    paper, fitted = os.path.join(folder, "paper.json"), os.path.join(folder, "fitted.json")
    with open(paper, "w", encoding="utf-8") as f:
        json.dump({"name": "emulated", "vendor": "CPU", "peak_tflops": {}, "memory_gb": 8,
                   "memory_gb_per_s": 10, "sources": ["faults.py"],
                   "scale_up": {"name": "emulated", "topology": "switch", "domain": 2,
                                "gb_per_s_per_direction": RATE / 1e9}}, f)
    train(words, ["--zero", "3"], 1, RATE / 1e6, os.path.join(folder, "clean"))
    subprocess.run([words.stepscope, "analyze", os.path.join(folder, "clean"), "--machine", paper,
                    "--write-machine", fitted], check=True, stdout=subprocess.DEVNULL)
    return fitted


def one_run(words, flags, seed, machine):
    """Trains, analyses, gives the findings and the share of time stolen meanwhile."""
    rate = RATE / 1e6
    if "--rate" in flags:
        at = flags.index("--rate")
        rate = int(flags[at + 1])
        flags = flags[:at] + flags[at + 2:]
    if "--zero" not in flags:
        flags = flags + ["--zero", str(1 + seed % 3)]
    with tempfile.TemporaryDirectory() as folder:
        before = stolen()
        train(words, flags, seed, rate, folder)
        after = stolen()
        out = subprocess.run([words.stepscope, "analyze", folder, "--machine", machine, "--json", "-"],
                             check=True, capture_output=True, text=True)
    lost = (after[1] - before[1]) / max(1, after[0] - before[0])
    return json.loads(out.stdout)["findings"], lost


def named(findings):
    first = findings[0] if findings else None
    if first is None:
        return "nothing", None
    rank = first["place"]["rank"] if first["place"] else None
    for word in first["what"].split():
        if first["id"] == "straggler_rank" and word.isdigit():
            rank = int(word)
    return first["id"], rank


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("stepscope")
    p.add_argument("text")
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--clean", type=int, default=100)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    p.add_argument("--only", choices=sorted(FAULTS))
    p.add_argument("--log", help="one JSON line a run goes here")
    words = p.parse_args()
    draw = random.Random(words.seed)
    plan = ["clean"] * words.clean + [words.only or draw.choice(sorted(FAULTS)) for _ in range(words.runs)]
    draw.shuffle(plan)
    counts, discarded = collections.Counter(), 0
    log = open(words.log, "w", encoding="utf-8") if words.log else None
    home = tempfile.TemporaryDirectory()
    machine = fitted_machine(words, home.name)
    for kind in plan:
        flags, expected, rank = FAULTS[kind](draw) if kind != "clean" else ([], None, None)
        seed = draw.randrange(2**31)
        for _ in range(5):
            findings, lost = one_run(words, flags, seed, machine)
            if lost <= 0.01:
                break
            discarded += 1
        got, at = named(findings)
        right = got == expected and (expected != "straggler_rank" or at == rank)
        if kind == "clean":
            right = got not in CAUSES
        counts[kind, got, right] += 1
        if log:
            log.write(json.dumps({"fault": kind, "flags": flags, "seed": seed, "named": got, "rank": at, "right": right,
                                  "findings": [(f["id"], f["gain_ns"]) for f in findings[:4]]}) + "\n")
            log.flush()
        if sys.stderr.isatty():
            print("\r%d of %d" % (sum(counts.values()), len(plan)), end="", file=sys.stderr)
    print("seed %d; discarded for steal: %d" % (words.seed, discarded))
    print("| fault | runs | right | named first |\n|---|---|---|---|")
    for kind in ["clean", *sorted(FAULTS)]:
        mine = {(got, right): n for (k, got, right), n in counts.items() if k == kind}
        if not mine:
            continue
        print("| %s | %d | %d | %s |" % (kind, sum(mine.values()), sum(n for (_, r), n in mine.items() if r),
              ", ".join("%s %d" % (g, n) for (g, _), n in sorted(mine.items(), key=lambda x: -x[1]))))
    faulty = sum(n for (k, _, _), n in counts.items() if k != "clean")
    right = sum(n for (k, _, r), n in counts.items() if k != "clean" and r)
    if faulty:
        print("named first: %d of %d (%.1f %%)" % (right, faulty, 100 * right / faulty))


main()
