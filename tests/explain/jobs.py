#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of simulated training jobs, and what analyze names: jobs.py STEPSCOPE [--faulty N] [--healthy N] [--seed S].

Each draw is a job of 4 to --max-ranks ranks with one fault, or none. The ranks are simulated, written as
torch.profiler writes them, one file each, and given to `analyze`; answer.verdict of its JSON is compared with the
truth. What a fault costs is known from the same draw simulated without it. A fault that costs less than 5 % of the step
is enlarged or drawn again.

A draw is right if the verdict's kind is the fault's and the culprit is named: the rank, the group, the stage or the
step. Its headline is right if the sentence names the culprit, too. A healthy draw is a false alarm if the verdict
accuses somebody; what bounds a step is no accusation. Two verdicts are right for a loader that is slow on all
ranks: data_loader, and sync_calls where only the host's waiting keeps loading from running ahead of the device."""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import jobs_draw
import jobs_kineto
import jobs_training

# Words of a headline that name a culprit without a number.
WORDS = {"pauses": "paus", "sync_calls": "sync", "launch_bound": "launch", "exposed_communication": "commun|transfer",
         "bubble": "bubble|pipeline"}


def made(kind, seed, number, most, folder):
    """The truth of one draw. Its traces go to FOLDER/traces, the truth to FOLDER/truth.json."""
    r = random.Random("%s/%s/%s" % (seed, kind, number))
    if kind == "healthy":
        job, _ = jobs_draw.healthy_job(r, most)
        fault, cost = jobs_draw.Fault("healthy"), 0.0
    else:
        job, fault, _, cost = jobs_draw.faulty_job(r, kind, most)
    job.record = True
    ranks, graph, _, step = jobs_training.simulate(job)
    jobs_kineto.write_traces(job, ranks, graph, os.path.join(folder, "traces"))
    truth = truth_of(job, fault)
    truth.update({"seed": seed, "number": number, "step_us": round(step, 3), "cost_us": round(cost, 3)})
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as f:
        json.dump(truth, f, indent=1)
    return truth


def truth_of(job, fault):
    kind, group = fault.kind, job.groups[fault.group] if fault.group >= 0 else None
    ranks = sorted({p[0] for p in fault.places}) if fault.places else list(fault.ranks)
    if group:
        ranks = list(group.ranks)
    return {
        "kind": kind, "ranks": ranks, "all_ranks": len(ranks) == job.world,
        "group": group.name if group else None, "dim": group.dim if group else None,
        "shared_name": group is not None and sum(g.name == group.name for g in job.groups) > 1,
        "stage": fault.stage if fault.stage >= 0 else None,
        "steps": [job.first_step + fault.step] if fault.step >= 0 else
                 sorted({job.first_step + p[1] for p in fault.places}),
        "style": fault.style, "size": round(fault.size, 4), "world": job.world,
        "shape": "tp%d pp%d dp%d cp%d ep%d" % (job.tp, job.pp, job.dp, job.cp, job.ep),
        "options": " ".join(filter(None, (
            job.mode, "overlap" if job.overlap else "no-overlap", job.pp > 1 and ("gpipe" if job.gpipe else "1f1b"),
            job.batched and "batched", "%dx%d" % (job.layers[0], job.batches), "host:" + job.host_waits,
            "clock:" + job.clocks, "names:" + job.naming, "waits" if job.style["wait_rows"] else "",
            job.cp > 1 and job.cp_style, (job.late or job.short) and "cut", job.tp0_loads and "tp0-loads"))),
        "mean_steps": job.steps}


def asked(stepscope, folder):
    """The verdict of the program on a folder of traces, or an error as its sentence."""
    try:
        out = subprocess.run([stepscope, "analyze", folder, "--json", "-", "--threads", "1"], capture_output=True,
                             text=True, check=False, timeout=600)
    except subprocess.TimeoutExpired:
        return {"kind": "error", "sentence": "no answer within ten minutes"}
    if out.returncode:
        return {"kind": "error", "sentence": out.stderr.strip()[:300]}
    answer = json.loads(out.stdout)["answer"]
    if "verdict" not in answer:
        return {"kind": "error", "sentence": "answer.verdict is missing; " + (answer.get("sentence") or "")}
    return answer["verdict"] or {"kind": None, "sentence": answer.get("sentence") or ""}


def named(truth, verdict):
    """Whether the verdict has the fault's kind and culprit."""
    kind = verdict.get("kind")
    if truth["kind"] == "healthy":
        return kind not in jobs_draw.ACCUSED and kind != "error"
    if truth["kind"] == "data_loader" and truth["all_ranks"]:
        return kind in ("data_loader", "sync_calls")
    if kind != truth["kind"]:
        return False
    if kind in ("slow_rank", "late_host", "data_loader"):
        return verdict.get("ranks") == truth["ranks"]
    if kind == "throttling":
        begin = (verdict.get("steps") or [None])[0]
        return verdict.get("ranks") == truth["ranks"] and begin is not None and abs(begin - truth["steps"][0]) <= 1
    if kind == "slow_group":  # siblings may share their name
        return verdict.get("group") == truth["group"] and sorted(verdict.get("ranks") or []) == sorted(truth["ranks"])
    if kind == "stage_imbalance":
        return verdict.get("stage") == truth["stage"]
    if kind == "outlier_step":
        return verdict.get("steps") == truth["steps"]
    return True


def in_headline(truth, verdict):
    """Whether the sentence names the culprit."""
    text, kind = verdict.get("sentence") or "", truth["kind"]

    def has(word, value):
        return re.search(r"\b%ss? (\d+,? (and )?)*%s\b" % (word, re.escape(str(value))), text, re.I) is not None

    if kind in ("slow_rank", "late_host", "throttling"):
        return all(has("rank", n) for n in truth["ranks"])
    if kind == "data_loader":
        return re.search("load", text, re.I) is not None and (truth["all_ranks"] or has("rank", truth["ranks"][0]))
    if kind == "slow_group":  # by its name, or the beginning of a hash, or by its ranks if siblings share the name
        by_ranks = re.search(r"\branks? .*?\b%d\b.*\b%d\b" % (truth["ranks"][0], truth["ranks"][-1]), text)
        name = re.escape(truth["group"][:8]) if len(truth["group"]) == 40 else re.escape(truth["group"]) + r"(?!\w)"
        return by_ranks is not None or not truth["shared_name"] and re.search(r"(?<!\w)" + name, text) is not None
    if kind == "stage_imbalance":
        return has("stage", truth["stage"])
    if kind == "outlier_step":
        return has("step", truth["steps"][0])
    return kind not in WORDS or re.search(WORDS[kind], text, re.I) is not None


def one_draw(words, kind, number):
    folder = os.path.join(words.keep, "%s-%d" % (kind, number)) if words.keep else tempfile.mkdtemp(prefix="jobs")
    try:
        truth = made(kind, words.seed, number, words.max_ranks, folder)
        verdict = asked(words.stepscope, os.path.join(folder, "traces"))
    finally:
        if not words.keep:
            shutil.rmtree(folder, ignore_errors=True)
    gain = (verdict.get("gain_ns") or 0) / 1e3
    right = named(truth, verdict)
    return {"truth": truth, "verdict": verdict, "named": right, "headline": right and in_headline(truth, verdict),
            "gain_us": gain, "gain_error": gain / truth["cost_us"] - 1 if truth["cost_us"] else None}


def culprit(truth):
    if truth["kind"] == "slow_group":
        return "group %s (%s) ranks %s" % (truth["group"], truth["dim"], truth["ranks"])
    if truth["stage"] is not None:
        return "stage %d" % truth["stage"]
    return " ".join(filter(None, (
        "all ranks" if truth["all_ranks"] else truth["ranks"] and "rank " + ",".join(map(str, truth["ranks"])),
        truth["steps"] and "step " + ",".join(map(str, truth["steps"])), truth["style"])))


def line_of(row):
    truth, verdict = row["truth"], row["verdict"]
    said = [str(verdict.get("kind"))] + ["%s %s" % (k, verdict[k]) for k in ("ranks", "group", "stage", "steps")
                                         if verdict.get(k) not in (None, [], "")]
    return "%-5s %s #%d: %s; %d ranks %s; %s; step %.2f ms, cost %.2f (%.0f %%); said %s, gain %.2f%s; %s" % (
        "right" if row["named"] else "WRONG", truth["kind"], truth["number"], culprit(truth) or "-", truth["world"],
        truth["shape"], truth["options"], truth["step_us"] / 1e3, truth["cost_us"] / 1e3,
        100 * truth["cost_us"] / truth["step_us"], " ".join(said), row["gain_us"] / 1e3,
        " (%+.0f %%)" % (100 * row["gain_error"]) if row["gain_error"] is not None else "", verdict.get("sentence"))


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


def table(rows):
    """Lines of a table per kind, and the shares named right and falsely accused."""
    lines = ["| fault | draws | named right | headline right | median gain error | 95th percentile |",
             "|---|---|---|---|---|---|"]
    faulty = [r for r in rows if r["truth"]["kind"] != "healthy"]
    for kind in (*jobs_draw.KINDS, "all"):
        mine = [r for r in faulty if kind in (r["truth"]["kind"], "all")]
        if not mine:
            continue
        errors = [abs(r["gain_error"]) for r in mine if r["named"] and r["gain_error"] is not None
                  and r["truth"]["kind"] in jobs_draw.ACCUSED]
        lines.append("| %s | %d | %.1f %% | %.1f %% | %s | %s |" % (
            kind, len(mine), 100 * sum(r["named"] for r in mine) / len(mine),
            100 * sum(r["headline"] for r in mine) / len(mine),
            *["%.1f %%" % (100 * quantile(errors, q)) if errors else "-" for q in (0.5, 0.95)]))
    healthy = [r for r in rows if r["truth"]["kind"] == "healthy"]
    alarms = sum(not r["named"] for r in healthy)
    if healthy:
        lines.append("false alarms: %d of %d" % (alarms, len(healthy)))
    return lines, sum(r["named"] for r in faulty) / max(1, len(faulty)), alarms / max(1, len(healthy))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stepscope", nargs="?")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    p.add_argument("--faulty", type=int, default=60)
    p.add_argument("--healthy", type=int, default=30)
    p.add_argument("--kinds", help="these faults only, separated by commas")
    p.add_argument("--max-ranks", type=int, default=64)
    p.add_argument("--jobs", type=int, default=1, help="draws at a time")
    p.add_argument("--keep", metavar="DIR", help="traces stay here")
    p.add_argument("--json", metavar="FILE", help="truth and verdict of each draw")
    p.add_argument("--demand", action="store_true",
                   help="fail unless 97 %% of the faults are named and 1 %% of the healthy jobs accused at most")
    p.add_argument("--make", metavar="DIR",
                   help="write one job of the kind --kind to DIR/traces, its truth to DIR/truth.json, and end")
    p.add_argument("--kind", choices=(*jobs_draw.KINDS, "healthy"))
    p.add_argument("--number", type=int, default=0, help="draw of --make")
    p.add_argument("--self-test", action="store_true", help="test the simulation, and end")
    words = p.parse_args()
    if words.self_test:
        import jobs_test
        jobs_test.run()
        return
    if words.make:
        print(json.dumps(made(words.kind or "healthy", words.seed, words.number, words.max_ranks, words.make)))
        return
    if not words.stepscope:
        p.error("give the program")
    kinds = words.kinds.split(",") if words.kinds else list(jobs_draw.KINDS)
    if set(kinds) - set(jobs_draw.KINDS):
        p.error("kinds are " + ", ".join(jobs_draw.KINDS))
    plan = [(kinds[n % len(kinds)], n) for n in range(words.faulty)] + [("healthy", n) for n in range(words.healthy)]
    rows = []
    print("seed %d" % words.seed)
    with concurrent.futures.ProcessPoolExecutor(words.jobs) as pool:
        for draw in [pool.submit(one_draw, words, *d) for d in plan]:
            rows.append(draw.result())
            print(line_of(rows[-1]), flush=True)
    lines, right, alarms = table(rows)
    print("\n".join(lines))
    if words.json:
        with open(words.json, "w", encoding="utf-8") as f:
            json.dump({"seed": words.seed, "draws": rows}, f, indent=1)
    if words.demand and (right < 0.97 or alarms > 0.01):
        sys.exit(1)


if __name__ == "__main__":
    main()
