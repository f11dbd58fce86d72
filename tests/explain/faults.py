#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Injected faults, and what analyze names first: faults.py STEPSCOPE TEXT --log FILE.

Trains on an emulated network (each transfer takes 50 us and its bytes at 1 GB/s), whose machine
file is fitted to one clean run first. Each faulty run has one fault of random kind and size; a clean one
none. Thirty steps are traced: neighbours on a shared host slow one core or the other for seconds, which
shows as no steal. A run during which the machine lost more than 1 % of its time to steal is done again and
counted. Right is a run whose first finding is the fault's; a false alarm a clean run whose first
finding is one of any fault.

The log has a line a run. Given again, it is gone on with: its seed, its machine file, the runs that it
lacks. --table prints what a log holds, a running one too."""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

LATENCY_US, RATE_MB = 50, 1000
STEPS, TRACED = 34, "3,1,30,1"
MOST_STOLEN, MOST_TRIES = 0.01, 20


class Fault:
    """Flags of a run, the finding that is right, and the rank it must name (None: any)."""

    def __init__(self, flags, expected, rank=None, rate_mb=RATE_MB):
        self.flags, self.expected, self.rank, self.rate_mb = flags, expected, rank, rate_mb


def slow_rank(r):
    rank = r.randrange(2)
    return Fault(["--inject", "slow:%d:%d%%" % (rank, r.randint(20, 60))], "slow_rank", rank)


def sleeping_rank(r):
    rank = r.randrange(2)
    return Fault(["--inject", "sleep:%d:%dms" % (rank, r.randint(15, 50))], "late_host", rank)


def slow_loader(r):
    rank = r.randrange(2)
    return Fault(["--inject", "data:%d:%dms" % (rank, r.randint(15, 60))], "data_loader", rank)


def slow_link(r):
    return Fault([], "slow_link", rate_mb=r.randint(80, 250))


def forced_sync(_):
    return Fault(["--inject", "sync"], "sync_calls")


def tiny_buckets(r):
    return Fault(["--bucket", "%dKiB" % r.choice([16, 24, 32])], "bucket_too_small")


def no_prefetch(_):
    return Fault(["--prefetch", "0", "--zero", "3"], "prefetch_miss")


FAULTS = {f.__name__: f for f in (slow_rank, sleeping_rank, slow_loader, slow_link, forced_sync, tiny_buckets,
                                  no_prefetch)}
CAUSES = {"slow_rank", "late_host", "throttling", "pauses", "data_loader", "slow_link", "sync_calls", "bucket_too_small",
          "prefetch_miss", "stage_imbalance"}


def stolen():
    """Jiffies of this machine: all, and those that its host gave to others."""
    with open("/proc/stat", encoding="ascii") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    return sum(fields), fields[7]


def train(words, flags, seed, rate_mb, folder):
    subprocess.run([words.stepscope, "train", "--data", words.text, "--ranks", "2", "--steps",
                    str(STEPS), "--trace-steps", TRACED, "--seed", str(seed), "--peak-tflops", "0.1",
                    "--quiet", "--inject", "throttle:%dus:%dMB" % (LATENCY_US, rate_mb), *flags,
                    "--trace", folder],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fitted_machine(words):
    """The machine file of the emulated network, as a clean run's transfers show it."""
    with tempfile.TemporaryDirectory() as folder:
        paper, fitted = os.path.join(folder, "paper.json"), os.path.join(folder, "fitted.json")
        with open(paper, "w", encoding="utf-8") as f:
            json.dump({"name": "emulated", "vendor": "CPU", "peak_tflops": {}, "memory_gb": 8,
                       "memory_gb_per_s": 10, "sources": ["faults.py"],
                       "scale_up": {"name": "emulated", "topology": "switch", "domain": 2,
                                    "gb_per_s_per_direction": RATE_MB / 1e3}}, f)
        train(words, ["--zero", "3"], 1, RATE_MB, os.path.join(folder, "clean"))
        subprocess.run([words.stepscope, "analyze", os.path.join(folder, "clean"), "--machine", paper,
                        "--write-machine", fitted], check=True, stdout=subprocess.DEVNULL)
        with open(fitted, encoding="utf-8") as f:
            return json.load(f)


def one_try(words, fault, flags, seed, machine):
    """Trains, analyses, gives the findings and the share of time stolen meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "machine.json")
        with open(file, "w", encoding="utf-8") as f:
            json.dump(machine, f)
        traces = os.path.join(folder, "traces")
        before = stolen()
        train(words, flags, seed, fault.rate_mb, traces)
        after = stolen()
        out = subprocess.run([words.stepscope, "analyze", traces, "--machine", file, "--json", "-"],
                             check=True, capture_output=True, text=True)
    lost = (after[1] - before[1]) / max(1, after[0] - before[0])
    return json.loads(out.stdout)["findings"], lost


def rank_of(finding):
    rank = finding["key"].rpartition(":")[2]
    if finding["id"] in ("slow_rank", "late_host", "data_loader", "throttling") and rank.isdigit():
        return int(rank)
    return finding["place"]["rank"] if finding["place"] else None


def plan_of(header):
    """The kind of each run; what else is drawn for it comes from its own number."""
    draw = random.Random(header["seed"])
    kinds = ["clean"] * header["clean"] + [header["only"] or draw.choice(sorted(FAULTS))
                                           for _ in range(header["runs"])]
    draw.shuffle(kinds)
    return kinds


def run(words, header, number, kind):
    draw = random.Random("%d/%d" % (header["seed"], number))
    fault = FAULTS[kind](draw) if kind != "clean" else Fault([], None)
    flags = fault.flags + ([] if "--zero" in fault.flags else ["--zero", str(draw.randint(1, 3))])
    seed = draw.randrange(2**31)
    begin = time.monotonic()
    for tries in range(MOST_TRIES):
        findings, lost = one_try(words, fault, flags, seed, header["machine"])
        if lost <= MOST_STOLEN:
            break
    else:
        raise SystemExit("faults.py: the machine loses more than 1 %% of its time to steal, %d times in a row; "
                         "the log is gone on with when this is started again" % MOST_TRIES)
    return {"run": number, "fault": kind, "flags": flags, "rate_mb": fault.rate_mb, "seed": seed,
            "expected": fault.expected, "rank": fault.rank, "discarded": tries,
            "seconds": round(time.monotonic() - begin, 2),
            "findings": [{"id": f["id"], "rank": rank_of(f), "gain_ns": f["gain_ns"]} for f in findings[:5]]}


def read_log(path):
    """The header and the runs by number; a line that was not written whole is left out."""
    header, runs = None, {}
    if not path or not os.path.exists(path):
        return header, runs
    with open(path, encoding="utf-8") as f:
        for line in f:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "machine" in row:
                header = row
            else:
                runs[row["run"]] = row
    return header, runs


def named(row):
    return row["findings"][0]["id"] if row["findings"] else "nothing"


def is_right(row):
    if row["fault"] == "clean":
        return named(row) not in CAUSES
    return named(row) == row["expected"] and row["rank"] in (None, row["findings"][0]["rank"])


def print_table(header, runs):
    print("seed %d; %d of %d runs; discarded for steal: %d; %.1f s a run" %
          (header["seed"], len(runs), header["runs"] + header["clean"], sum(r["discarded"] for r in runs.values()),
           sum(r["seconds"] for r in runs.values()) / max(1, len(runs))))
    print("| fault | runs | right | named first |\n|---|---|---|---|")
    total = collections.Counter()
    for kind in ["clean", *sorted(FAULTS)]:
        mine = [r for r in runs.values() if r["fault"] == kind]
        if not mine:
            continue
        right = sum(is_right(r) for r in mine)
        total[kind == "clean", "runs"] += len(mine)
        total[kind == "clean", "right"] += right
        counts = collections.Counter((named(r) + ("" if is_right(r) or named(r) != r["expected"]
                                                  else " (another rank)")) for r in mine)
        print("| %s | %d | %d | %s |" % (kind, len(mine), right,
                                         ", ".join("%s %d" % c for c in counts.most_common())))
    faulty, clean = total[False, "runs"], total[True, "runs"]
    if faulty:
        print("named first: %d of %d (%.1f %%)" % (total[False, "right"], faulty, 100 * total[False, "right"] / faulty))
    if clean:
        print("false alarms: %d of %d" % (clean - total[True, "right"], clean))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stepscope", nargs="?")
    p.add_argument("text", nargs="?")
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--clean", type=int, default=100)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    p.add_argument("--only", choices=sorted(FAULTS))
    p.add_argument("--log", help="one JSON line a run goes here")
    p.add_argument("--table", help="print what this log holds, and end", metavar="LOG")
    words = p.parse_args()
    if words.table:
        header, runs = read_log(words.table)
        if header is None:
            raise SystemExit("faults.py: %s is no log of this program" % words.table)
        print_table(header, runs)
        return
    if not words.text:
        p.error("give the program and a text to train on")
    header, runs = read_log(words.log)
    log = open(words.log, "a", encoding="utf-8") if words.log else None

    def write(row):
        if log:
            log.write("\n" * (log.tell() > 0) + json.dumps(row))  # also after a truncated line
            log.flush()

    if header is None:
        header = {"seed": words.seed, "runs": words.runs, "clean": words.clean, "only": words.only,
                  "machine": fitted_machine(words)}
        write(header)
    plan = plan_of(header)
    for number, kind in enumerate(plan):
        if number in runs:
            continue
        runs[number] = run(words, header, number, kind)
        write(runs[number])
        if sys.stderr.isatty():
            print("\r%d of %d" % (len(runs), len(plan)), end="", file=sys.stderr)
    print_table(header, runs)


if __name__ == "__main__":
    main()
