#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What analyze says of recorded captures, compared with their truth: score.py DIR... --stepscope PROGRAM.

A capture is a folder with truth.json and traces/, a file a rank (run_job.py). A fault counts if it costs at least 8 % of the
step and more than twice the spread of the medians of the healthy captures of its session.

Right is an answer that names the culprit: the rank, the stage or the step of the truth, whatever it says of the cause
(the column "cause" counts those that also name that). A stage that one rank runs, and that rank, are the same culprit.
A healthy capture is accused if the verdict is no bound. It is disturbed if its own times say that another program
slowed a rank or a step (disturbance())."""

import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys

BOUNDS = (
    "exposed_communication",
    "exposed_copies",
    "launch_bound",
    "bubble",
    "memory_bound",
    "compute_bound",
)
LEAST_SHARE, LEAST_SPREADS = 0.08, 2  # of a fault that counts
LEAST_GAIN_NOISE = 0.06  # the gain's error is taken where the noise is below this share of it

# Share of the median step. A steady excess on the run queue of one rank; a wait of one step; a step or a whole capture
# that is longer than the others.
QUEUE_OF_RANK, QUEUE_OF_STEP, LONG_STEP, LONG_CAPTURE = 0.04, 0.20, 1.35, 1.10

# Kinds of verdicts that name the cause, too.
CAUSES = {
    "loader_one": ("data_loader",),
    "loader_all": ("data_loader",),
    "late_before": ("late_host", "unseen_host"),
    "late_between": ("late_host", "unseen_host"),
    "late_optimizer": ("late_host", "unseen_host"),
    "forward": ("slow_rank", "stage_imbalance"),
    "backward": ("slow_rank", "stage_imbalance"),
    "one_operator": ("slow_rank", "stage_imbalance"),
    "optimizer": ("slow_rank", "late_host"),
    "throttling": ("throttling",),
    "pauses": ("pauses",),
    "outlier_step": ("outlier_step",),
    "slow_stage": ("stage_imbalance", "slow_rank"),
}


def disturbance(truth):
    """Why a capture is no fair test of a false alarm, or None."""
    if truth["starved"]:
        return "its ranks waited for cores"
    step = truth["step_ns"]
    queues = [r["traced"]["run_queue_ns"] for r in truth["ranks_times"]]
    means = [statistics.mean(q) for q in queues]
    if max(means) - statistics.median_low(means) > QUEUE_OF_RANK * step:
        return "run queue of rank %d" % means.index(max(means))
    for rank, q in enumerate(queues):
        if max(q) - statistics.median(q) > QUEUE_OF_STEP * step:
            return "run queue of rank %d in one step" % rank
    walls = [
        statistics.mean(w) for w in zip(*[r["traced"]["wall_ns"] for r in truth["ranks_times"]])
    ]
    if max(walls) > LONG_STEP * statistics.median(walls):
        return "step %d is longer" % walls.index(max(walls))
    if step > LONG_CAPTURE * min(truth["healthy_medians_ns"]):
        return "slower than other healthy captures"
    return None


def counts(truth):
    """Whether a fault is large enough to be scored."""
    cost = truth["cost_ns"]
    return (
        not truth["starved"]
        and cost >= LEAST_SHARE * truth["mean_step_ns"]
        and cost > LEAST_SPREADS * (truth["noise_ns"] or 0)
    )


def named(right, world, verdict):
    """Whether a verdict names the culprit. right: of faults.truth_of()."""
    ranks, steps, stage = (
        verdict.get("ranks") or [],
        verdict.get("steps") or [],
        verdict.get("stage"),
    )
    if verdict.get("kind") in BOUNDS or verdict.get("kind") is None:
        return False
    if right["kind"] == "outlier_step":
        return steps == right["steps"]
    if right["kind"] == "pauses":
        if not ranks:
            return bool(steps) and set(steps) <= set(right["steps"])
        return set(ranks) <= set(right["ranks"]) and bool(set(ranks) & set(right["main_ranks"]))
    if right["all_ranks"]:
        if verdict["kind"] not in ("data_loader", "unseen_host", "late_host"):
            return False
        return not ranks or len(ranks) == world
    return sorted(ranks) == right["ranks"] or stage is not None and stage in right["stages"]


def judged(truth, verdict):
    """One of right, none, bound, another (faulty) or quiet, accused (healthy); error of both."""
    kind = verdict.get("kind") if verdict else None
    if kind == "error":
        return "error"
    accuses = kind is not None and kind not in BOUNDS
    if truth["fault"] == "healthy":
        return "accused" if accuses else "quiet"
    if not accuses:
        return "none" if kind is None else "bound"
    return "right" if named(truth["right"], truth["world"], verdict) else "another"


def cause_named(truth, verdict):
    drawn = truth["drawn"]
    kind = drawn["parts"][0]["kind"] if drawn["kind"] == "two_faults" else drawn["kind"]
    return bool(verdict) and verdict.get("kind") in CAUSES[kind]


def asked(program, folder):
    """The verdict on the traces of a capture; an error is a verdict of that kind."""
    try:
        out = subprocess.run(
            [program, "analyze", os.path.join(folder, "traces"), "--json", "-", "--threads", "1"],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return {"kind": "error", "sentence": "no answer within five minutes"}
    if out.returncode:
        return {"kind": "error", "sentence": out.stderr.strip()[:300]}
    answer = json.loads(out.stdout)["answer"]
    return answer.get("verdict") or {"kind": None, "sentence": answer.get("sentence")}


def row_of(program, folder):
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as f:
        truth = json.load(f)
    verdict = asked(program, folder)
    return made_row(truth, verdict, os.path.basename(os.path.normpath(folder)))


def made_row(truth, verdict, name):
    """A line of the score."""
    row = {
        "name": name,
        "job": truth["job"],
        "family": truth["family"],
        "fault": truth["fault"],
        "record_shapes": truth["options"]["record_shapes"],
        "judged": judged(truth, verdict),
        "disturbed": disturbance(truth) if truth["fault"] == "healthy" else None,
        "verdict": verdict,
        "step_ns": truth["mean_step_ns"],
        "noise_ns": truth["noise_ns"],
    }
    if truth["fault"] != "healthy":
        row.update(
            counts=counts(truth),
            cost_ns=truth["cost_ns"],
            right=truth["right"],
            cause=row["judged"] == "right" and cause_named(truth, verdict),
        )
        gain = verdict.get("gain_ns")
        if (
            row["judged"] == "right"
            and truth["options"]["numbered"]  # else the file does not say how long a step is
            and truth["fault"] != "two_faults"  # the cost is of both, the gain of the first
            and gain is not None
            and truth["cost_ns"] > 0
            and ((truth["noise_ns"] or 0) < LEAST_GAIN_NOISE * truth["cost_ns"])
        ):
            row["gain_error"] = gain / truth["cost_ns"] - 1
    return row


def share(part, whole):
    return "%d of %d (%.0f %%)" % (part, whole, 100 * part / whole) if whole else "-"


def table_by(rows, key, title):
    """A table with a line for each value of a key: captures that count, and what was said of them."""
    lines = [
        "| %s | n | right | cause | none | bound | another | gain off | healthy accused | undisturbed |"
        % title,
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    values = sorted({key(r) for r in rows})
    for value in values:
        lines.append(line_for(value, [r for r in rows if key(r) == value]))
    return lines


def line_for(title, rows):
    faulty = [r for r in rows if r.get("counts")]
    healthy = [r for r in rows if r["fault"] == "healthy"]
    calm = [r for r in healthy if not r["disturbed"]]
    number = {
        j: sum(r["judged"] == j for r in faulty)
        for j in ("right", "none", "bound", "another", "error")
    }
    errors = [abs(r["gain_error"]) for r in faulty if "gain_error" in r]
    return "| %s | %d | %s | %d | %d | %d | %d | %s | %s | %s |" % (
        title,
        len(faulty),
        share(number["right"], len(faulty)),
        sum(bool(r["cause"]) for r in faulty),
        number["none"] + number["error"],
        number["bound"],
        number["another"],
        "%.1f %%" % (100 * statistics.median(errors)) if errors else "-",
        share(sum(r["judged"] == "accused" for r in healthy), len(healthy)),
        share(sum(r["judged"] == "accused" for r in calm), len(calm)),
    )


def high(rows):
    """Rows whose verdict says high: faults that count, and accused healthy captures without disturbance."""
    return [
        r
        for r in rows
        if r["verdict"].get("confidence") == "high"
        and (r.get("counts") or r["judged"] == "accused" and not r["disturbed"])
    ]


def summary(rows):
    """The measures of the whole, by name."""
    faulty = [r for r in rows if r.get("counts")]
    calm = [r for r in rows if r["fault"] == "healthy" and not r["disturbed"]]
    said = high(rows)
    errors = [abs(r["gain_error"]) for r in faulty if "gain_error" in r]
    return {
        "faulty": sum(r["fault"] != "healthy" for r in rows),
        "count": len(faulty),
        "right": sum(r["judged"] == "right" for r in faulty),
        "cause": sum(bool(r["cause"]) for r in faulty),
        "none": sum(r["judged"] in ("none", "error") for r in faulty),
        "bound": sum(r["judged"] == "bound" for r in faulty),
        "another": sum(r["judged"] == "another" for r in faulty),
        "high": len(said),
        "high_right": sum(r["judged"] == "right" for r in said),
        "healthy": sum(r["fault"] == "healthy" for r in rows),
        "accused": sum(r["judged"] == "accused" for r in rows),
        "calm": len(calm),
        "calm_accused": sum(r["judged"] == "accused" for r in calm),
        "gain_errors": len(errors),
        "gain_error": statistics.median(errors) if errors else None,
    }


def report(rows):
    s = summary(rows)
    lines = []
    for title, key in (
        ("job", lambda r: r["family"]),
        ("fault", lambda r: r["fault"]),
        ("record_shapes", lambda r: str(r["record_shapes"])),
    ):
        lines += [*table_by(rows, key, title), line_for("all", rows), ""]
    lines += [
        "faulty captures: %d; %d count (cost >= 8 %% of the step and > 2 x spread)"
        % (s["faulty"], s["count"]),
        "culprit named: "
        + share(s["right"], s["count"])
        + "; cause as well: "
        + share(s["cause"], s["count"]),
        "no verdict: %s; a bound: %s; another culprit: %s"
        % tuple(share(s[k], s["count"]) for k in ("none", "bound", "another")),
        "of what is said with high, right: " + share(s["high_right"], s["high"]),
        "healthy accused: %s; of the undisturbed: %s"
        % (share(s["accused"], s["healthy"]), share(s["calm_accused"], s["calm"])),
        "error of the gain, median of %d: %s"
        % (s["gain_errors"], "%.1f %%" % (100 * s["gain_error"]) if s["gain_errors"] else "-"),
    ]
    return lines


def line_of(row):
    v = row["verdict"]
    said = " ".join(
        "%s %s" % (k, v[k]) for k in ("ranks", "stage", "steps") if v.get(k) not in (None, [], "")
    )
    truth = (
        ""
        if row["fault"] == "healthy"
        else "ranks %s steps %s cost %.1f ms (%.0f %%)%s; "
        % (
            row["right"]["ranks"],
            row["right"]["steps"],
            row["cost_ns"] / 1e6,
            100 * row["cost_ns"] / row["step_ns"],
            "" if row["counts"] else " too small",
        )
    )
    if v.get("kind") == "error":
        said = v["sentence"]
    return "%-8s %s %s: %ssaid %s %s gain %.1f ms %s%s" % (
        row["judged"],
        row["name"],
        row["fault"],
        truth,
        v.get("kind"),
        said,
        (v.get("gain_ns") or 0) / 1e6,
        v.get("confidence") or "",
        "; disturbed: " + row["disturbed"] if row["disturbed"] else "",
    )


def folders_of(places):
    found = []
    for place in places:
        for path, _, names in sorted(os.walk(place)):
            if "truth.json" in names:
                found.append(path)
    return sorted(found)


def main(argv=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("folders", nargs="+")
    p.add_argument("--stepscope", required=True)
    p.add_argument("--healthy", type=int, help="at most so many healthy captures")
    p.add_argument("--jobs", type=int, default=2, help="captures at a time")
    p.add_argument("--json", metavar="FILE", help="a row for each capture")
    p.add_argument(
        "--demand",
        action="store_true",
        help="fail unless every fault that counts is named and no undisturbed healthy capture is accused",
    )
    words = p.parse_args(argv)
    folders = folders_of(words.folders)
    if not folders:
        p.error("no truth.json below " + " ".join(words.folders))
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        rows = list(pool.map(lambda f: row_of(words.stepscope, f), folders))
    if words.healthy is not None:
        healthy = [r for r in rows if r["fault"] == "healthy"]
        kept = {
            id(r)
            for r in healthy[:: max(1, len(healthy) // max(1, words.healthy))][: words.healthy]
        }
        rows = [r for r in rows if r["fault"] != "healthy" or id(r) in kept]
    print("\n".join([line_of(r) for r in rows] + [""] + report(rows)))
    if words.json:
        with open(words.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    s = summary(rows)
    if words.demand and (s["right"] < s["count"] or s["calm_accused"]):
        sys.exit(1)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
