#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Injected faults of two-rank runs, and whether train and analyze name the same rank with the same figure:
engine_verdicts.py STEPSCOPE TEXT --runs N --log FILE.

Each run has a ZeRO stage (in turn) and one fault of random rank, kind and size: a data loader (data), a sleep before
each step (sleep), or slower operators (slow); with --clean, that many runs more have no fault. The trace has --traced
steps, by default those that `train --trace` records if nothing else is asked for.

Right is a run whose answer.verdict has the injected rank and kind, in the JSON of train and of analyze, whose text says
the same sentence in both, and whose excess is the injected one. The table has, by stage, how many runs were right, how
far the figures of train and analyze lie apart, and how far the gain is from the injected delay. The log has a line a
run, with the load of the machine."""
import argparse
import collections
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

KIND = {"data": "data_loader", "sleep": "late_host", "slow": "slow_rank"}
FAULTS = {"slow_rank", "late_host", "data_loader", "throttling", "pauses", "outlier_step", "slow_group",
          "stage_imbalance", "sync_calls"}
UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}


def draw_of(seed, number, clean):
    r = random.Random("%d/%d" % (seed, number))
    kind = "clean" if clean else r.choice(sorted(KIND))
    rank = r.randrange(2)
    size = r.randint(20, 60)
    flags = {"data": "data:%d:%dms", "sleep": "sleep:%d:%dms", "slow": "slow:%d:%d%%"}
    return {"stage": number % 4, "kind": kind, "rank": rank, "size": size, "seed": r.randrange(2**31),
            "flags": [] if clean else ["--inject", flags[kind] % (rank, size)]}


def excess_of(verdict):
    """What the sentence says of the rank: ms a step, or how many times as long; None without."""
    sentence = verdict["sentence"] or ""
    times = re.search(r"take ([\d.]+) × as long", sentence)
    if times:
        return float(times.group(1))
    time = re.search(r"([\d.]+) (ns|µs|ms|s) a step", sentence)
    return float(time.group(1)) * UNITS[time.group(2)] if time else None


def one_line(text):
    return " ".join(text.split())


def run(words, draw):
    with tempfile.TemporaryDirectory() as folder:
        traces, result = os.path.join(folder, "traces"), os.path.join(folder, "train.json")
        train = subprocess.run([words.stepscope, "train", "--data", words.text, "--ranks", "2", "--zero",
                                str(draw["stage"]), "--steps", str(words.steps), "--trace-steps", words.traced, "--seed",
                                str(draw["seed"]), "--peak-tflops", "0.1", "--quiet", *draw["flags"], "--trace", traces,
                                "--json", result], check=True, capture_output=True, text=True)
        analyze = subprocess.run([words.stepscope, "analyze", traces, "--json", os.path.join(folder, "analyze.json")],
                                 check=True, capture_output=True, text=True)
        with open(result, encoding="utf-8") as f:
            of_train = json.load(f)["answer"]
        with open(os.path.join(folder, "analyze.json"), encoding="utf-8") as f:
            report = json.load(f)
    of_analyze = report["answer"]
    row = dict(draw, load=round(os.getloadavg()[0], 2), train=of_train["verdict"], analyze=of_analyze["verdict"],
               first_finding=report["findings"][0]["id"] if report["findings"] else None)
    sentence = of_train["verdict"]["sentence"] if of_train["verdict"] else None
    row["texts_agree"] = bool(sentence) and (draw["kind"] == "clean" or (
        one_line(sentence) in one_line(train.stdout) and one_line(sentence) in one_line(analyze.stdout)))
    return row


def accuses(verdict):
    return verdict is not None and verdict["kind"] in FAULTS


def names_it(row, who):
    v = row[who]
    if row["kind"] == "clean":
        return not accuses(v)
    return v is not None and v["kind"] == KIND[row["kind"]] and v["ranks"] == [row["rank"]]


def gains_apart(row):
    """Relative difference of the gains of train and analyze."""
    a, b = row["train"]["gain_ns"], row["analyze"]["gain_ns"]
    return abs(a - b) / max(a, b, 1)


def is_right(row):
    return names_it(row, "train") and names_it(row, "analyze") and row["texts_agree"] and gains_apart(row) <= 0.02


def named(row, who):
    v = row[who]
    return "nothing" if not accuses(v) else "%s %s" % (v["kind"], ",".join(map(str, v["ranks"])))


def percent(values):
    return "%.1f %%" % (100 * statistics.median(values)) if values else "-"


def print_table(rows):
    print("| stage | runs | train right | analyze right | same sentence | gains differ | gain of the delay | load |")
    print("|---|---|---|---|---|---|---|---|")
    faulty = [r for r in rows if r["kind"] != "clean"]
    for stage in [0, 1, 2, 3, None]:
        mine = [r for r in faulty if stage is None or r["stage"] == stage]
        if not mine:
            continue
        both = [r for r in mine if names_it(r, "train") and names_it(r, "analyze")]
        delays = [r for r in both if r["kind"] != "slow"]
        print("| %s | %d | %d | %d | %d | at most %.2f %% | %s | %.1f to %.1f |" % (
            "all" if stage is None else "ZeRO-%d" % stage, len(mine), sum(names_it(r, "train") for r in mine),
            sum(names_it(r, "analyze") for r in mine), sum(r["texts_agree"] for r in mine),
            100 * max([gains_apart(r) for r in both], default=0),
            percent([r["analyze"]["gain_ns"] / 1e6 / r["size"] for r in delays]),
            min(r["load"] for r in mine), max(r["load"] for r in mine)))
    clean = [r for r in rows if r["kind"] == "clean"]
    if clean:
        print("false alarms: train %d, analyze %d of %d clean runs" % (
            sum(not names_it(r, "train") for r in clean), sum(not names_it(r, "analyze") for r in clean), len(clean)))
    apart = [abs(excess_of(r["analyze"]) / r["size"] - 1) for r in faulty
             if r["kind"] != "slow" and names_it(r, "analyze") and excess_of(r["analyze"])]
    if apart:
        print("stated delay beside the injected one: median %.1f %%, 95th percentile %.1f %% apart" % (
            100 * statistics.median(apart), 100 * sorted(apart)[int(0.95 * (len(apart) - 1))]))
    for r in rows:
        if not is_right(r):
            print("wrong: ZeRO-%d %s rank %d %d, load %.1f: train %s, analyze %s" % (
                r["stage"], r["kind"], r["rank"], r["size"], r["load"], named(r, "train"), named(r, "analyze")))
    print("right: %d of %d; kinds: %s" % (sum(map(is_right, rows)), len(rows),
                                         dict(collections.Counter(r["kind"] for r in rows))))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stepscope", nargs="?")
    p.add_argument("text", nargs="?")
    p.add_argument("--runs", type=int, default=60)
    p.add_argument("--clean", type=int, default=0)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--traced", default="2,1,5,1", help="as --trace-steps")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    p.add_argument("--log", help="one JSON line a run goes here; with --table, it is read")
    p.add_argument("--table", action="store_true", help="print what the log holds, and end")
    words = p.parse_args()
    if words.table:
        with open(words.log, encoding="utf-8") as f:
            print_table([json.loads(line) for line in f])
        return
    if not words.text:
        p.error("give the program and a text to train on")
    print("seed %d" % words.seed)
    rows = []
    for number in range(words.runs + words.clean):
        rows.append(run(words, draw_of(words.seed, number, number >= words.runs)))
        if words.log:
            with open(words.log, "a", encoding="utf-8") as f:
                f.write(json.dumps(rows[-1]) + "\n")
        if sys.stderr.isatty():
            print("\r%d of %d" % (len(rows), words.runs + words.clean), end="", file=sys.stderr)
    print_table(rows)


if __name__ == "__main__":
    main()
