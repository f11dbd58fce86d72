#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded jobs with known faults, and what analyze names: oracle.py --out DIR [--draws N --healthy M --seed S
--stepscope PROGRAM].

Each draw is a job of one kind (kinds.py) whose ranks run torch on CPUs with gloo; in one session it is recorded healthy
and with some faults in turn, so that a capture differs from its neighbour by the fault alone. DIR gets a folder a
capture, KIND-DRAW-CAPTURE, with traces/ (a file a rank) and truth.json. With --stepscope each is then given to `analyze` and the
answers are scored (score.py, which scores such a folder again)."""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time

import faults
import kinds
import run_job
import score

FAULTS_A_JOB, HEALTHY_A_JOB = 3, 3
CALM = 0.10  # spread of the healthy medians, share of a step; above it a session is run again


def options_of(r, kind):
    options = {
        "style": r.choice(kind.styles),
        "optimizer": r.choice(("SGD", "AdamW")),
        "bucket_mb": r.choice((0.02, 0.05, 25)),
        "reads_loss": r.random() < 0.6,
        "loader": r.choice(("in_process", "in_process", "function")),
        "ddp_stages": r.random() < 0.5,
        "record_shapes": r.random() < 0.85,
        "with_stack": r.random() < 0.06,
        "named_by_process": r.random() < 0.2,
        "profile_memory": r.random() < 0.1,
        "strip": r.random() < 0.5,
        "numbered": r.random() < 0.9,
        "profiler_wait": r.choice((0, 1, 2)),
        "real": False,
    }
    options.update(kind.options)
    return options


def seconds_of(r, kind):
    """Seconds of the timed operators, by OPERATOR.PASS; a healthy step then takes 150 to 350 ms."""
    calls = kind.micro * len(kind.layers_of(0))
    if kind.stages > 1:
        calls *= 1 + (kind.pipeline - 1) / kind.micro
    if kind.family == "CP ring":
        calls *= 2 if kind.world == 2 or "dp" in kind.name else 3
    unit = r.uniform(0.160, 0.300) / calls / 5
    if kind.options.get("real"):  # two ranks need the cores that others share
        unit *= 0.4
    forward = {
        "attention.forward": unit * r.uniform(0.6, 1.2),
        "mlp.forward": unit * r.uniform(0.6, 1.2),
    }
    ratio = r.uniform(1.2, 2)
    return {**forward, **{k.replace("forward", "backward"): ratio * s for k, s in forward.items()}}


def plan_of(seed, name, draw, wanted, healthy, small=False):
    """A job and its captures. wanted: names of faults; healthy: how many healthy captures it has."""
    r = random.Random("%s/%s/%s" % (seed, name, draw))
    kind = kinds.KINDS[name]
    plan = {
        "kind": name,
        "world": kind.world,
        "seed": seed,
        "draw": draw,
        "options": options_of(r, kind),
        "loader_s": r.uniform(0.0005, 0.002),
    }
    plan["options"]["small"] = small
    if small:
        plan["options"].update(optimizer="SGD", strip=True, with_stack=False, profile_memory=False)
    kind = run_job.kind_of(plan)
    plan["seconds"] = seconds_of(r, kind)
    wanted = [w for w in wanted if faults.possible(w, kind)]
    plan["steps"] = 10 if "throttling" in wanted else 6 if small else r.randint(7, 9)
    drawn = [faults.drawn(r, w, kind, plan["steps"]) for w in wanted]
    captures = [{"fault": None}]
    for n, fault in enumerate(drawn):
        captures.append({"fault": fault})
        if n + 2 <= healthy:
            captures.append({"fault": None})
    plan["captures"] = captures
    return plan


def plans(words):
    """Plans until the draws are full: each kind once before any twice, each fault as often as any other."""
    r = random.Random(words.seed)
    names = words.kinds.split(",") if words.kinds else list(kinds.KINDS)
    used = {f: 0 for f in (words.faults.split(",") if words.faults else faults.KINDS)}
    result, faulty, draw = [], 0, words.first_draw
    while faulty < words.draws:
        order = list(names)
        r.shuffle(order)
        for name in order:
            wanted = []
            for f in sorted(used, key=lambda f: (used[f], r.random())):
                if len(wanted) < words.faults_a_job and faults.possible(f, kinds.KINDS[name]):
                    wanted.append(f)
            plan = plan_of(words.seed, name, draw, wanted, words.healthy_a_job, words.small)
            for c in plan["captures"]:
                if c["fault"]:
                    used[c["fault"]["kind"]] += 1
                    faulty += 1
            result.append(plan)
            if faulty >= words.draws:
                break
        draw += 1
    return result


def spread_of(folder, plan):
    """Spread of the medians of the healthy captures, as a share of the smallest."""
    with open(os.path.join(folder, "0", "truth.json"), encoding="utf-8") as f:
        medians = json.load(f)["healthy_medians_ns"]
    return max(medians) / min(medians) - 1


def record(plan, out, tries=1):
    """Runs a plan and moves its captures to OUT. A session that other programs disturbed is run again, TRIES times in
    all; the calmest counts. Returns its spread."""
    best, least = None, float("inf")
    folders = []
    try:
        for _ in range(tries):
            folders.append(tempfile.mkdtemp(prefix="oracle"))
            run_job.run(plan, folders[-1])
            spread = spread_of(folders[-1], plan)
            if spread < least:
                best, least = folders[-1], spread
            if least <= CALM:
                break
        for n in range(len(plan["captures"])):
            to = os.path.join(out, "%s-%d-%d" % (plan["kind"], plan["draw"], n))
            shutil.rmtree(to, ignore_errors=True)
            run_job.move(best, n, to)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    return least


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--draws", type=int, default=60, help="faulty captures")
    p.add_argument("--healthy", type=int, default=30, help="healthy captures that are scored")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    p.add_argument("--out", required=True)
    p.add_argument("--stepscope", help="score what this program says")
    p.add_argument("--kinds", help="these kinds of jobs only, separated by commas")
    p.add_argument("--faults", help="these faults only, separated by commas")
    p.add_argument("--faults-a-job", type=int, default=FAULTS_A_JOB)
    p.add_argument("--tries", type=int, default=2, help="sessions of a job, if others disturb them")
    p.add_argument("--small", action="store_true", help="two layers and six steps, for small files")
    p.add_argument("--first-draw", type=int, default=0)
    words = p.parse_args()
    if words.kinds and set(words.kinds.split(",")) - set(kinds.KINDS):
        p.error("kinds are " + ", ".join(kinds.KINDS))
    if words.faults and set(words.faults.split(",")) - set(faults.KINDS):
        p.error("faults are " + ", ".join(faults.KINDS))
    os.makedirs(words.out, exist_ok=True)
    words.healthy_a_job = HEALTHY_A_JOB
    todo = plans(words)
    print("seed %d: %d jobs" % (words.seed, len(todo)), flush=True)
    failed = 0
    for plan in todo:
        begin = time.monotonic()
        try:
            spread = record(plan, words.out, words.tries)
            said = "%d captures, spread %.1f %%" % (len(plan["captures"]), 100 * spread)
        except RuntimeError as error:
            failed += 1
            said = "FAILED: " + str(error).strip()[-1500:]
        print(
            "%s %d: %s, %.0f s" % (plan["kind"], plan["draw"], said, time.monotonic() - begin),
            flush=True,
        )
    if words.stepscope:
        score.main([words.out, "--stepscope", words.stepscope, "--healthy", str(words.healthy)])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run_job.torch.set_num_threads(1)
    main()
