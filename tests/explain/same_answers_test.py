#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every verb says the same of a run: same_answers_test.py STEPSCOPE FOLDER...

The steps that `analyze` says count have the mean that it calls the step, of the job and of the replay, and the parts of
the budget sum to it. `compare` and `check` have just these steps. `check` accuses the ranks that `analyze` accuses, in
the same words, and nobody else; the page has the same sentence. FOLDERs are recorded runs in addition to the simulated
ones."""
import json
import os
import subprocess
import sys
import tempfile

import jobs

# Kinds of verdicts that are no fault of a rank.
NOT_OF_RANKS = ("slow_group", "stage_imbalance", "outlier_step", "exposed_communication", "exposed_copies",
                "launch_bound", "bubble", "memory_bound", "compute_bound")
DRAWS = [("pauses", 10), ("slow_rank", 1), ("healthy", 25), ("bubble", 3)]


def asked(stepscope, *words):
    out = subprocess.run([stepscope, *words, "--json", "-"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def accusations(tree):
    """Sentences of the verdict and its alternatives that accuse some of the ranks, without full stops."""
    verdict = tree["answer"].get("verdict")
    said = [verdict, *verdict.get("alternatives", [])] if verdict else []
    return [v["sentence"].rstrip(".") for v in said
            if v["kind"] not in NOT_OF_RANKS and 0 < len(v["ranks"]) < len(tree["ranks"])]


def page_of(stepscope, folder):
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "page.html")
        subprocess.run([stepscope, "analyze", folder, "--html", path], capture_output=True, check=True)
        with open(path, encoding="utf-8") as f:
            return f.read()


def main():
    stepscope, folders, failed = sys.argv[1], sys.argv[2:], False

    def expect(good, what):
        nonlocal failed
        failed = failed or not good
        if not good:
            print("FAILED " + what)

    with tempfile.TemporaryDirectory() as made:
        for kind, number in DRAWS:
            to = os.path.join(made, "%s%d" % (kind, number))
            jobs.made(kind, 20261, number, 8, to)
            folders.append(os.path.join(to, "traces"))
        for folder in folders:
            tree = asked(stepscope, "analyze", folder)
            lengths = sorted(s["counted_ns"] for s in tree["job"]["steps"] if s["counted_ns"] is not None)
            mean = sum(lengths) / max(1, len(lengths))
            expect(lengths, folder + ": no step counts")
            expect(abs(tree["job"]["step_mean_ns"] - mean) < 1, folder + ": the mean step is not that of the steps that count")
            replayed = (tree["explanation"] or {}).get("baseline_ns")
            expect(replayed is None or abs(replayed - mean) <= 1, "%s: the replay's step %s, counted %s" % (folder, replayed, mean))
            budget = sum(tree["job"]["budget_ns"].values())
            ranks = len(tree["ranks"])
            expect(tree["job"]["clocks_comparable"] is False and ranks > 1 or abs(budget - mean) <= 20,
                   "%s: the budget sums to %d, a step takes %d" % (folder, budget, mean))
            compared = asked(stepscope, "compare", folder, folder, "--warm-up", "0")["a"]
            expect(compared["launches"][0]["sorted_ns"] == lengths, folder + ": compare counts other steps")
            expect(abs(compared["mean_ns"] - mean) < 1, folder + ": compare has another mean")
            check = asked(stepscope, "check", folder)
            line = next(c for c in check["checks"] if c["name"] == "stragglers")
            accused = accusations(tree)
            expect((line["status"] == "look") == bool(accused), "%s: check says %r of %r" % (folder, line, accused))
            expect(not accused or line["sentence"] == "; ".join(accused), "%s: check says %r" % (folder, line["sentence"]))
            # JSON inside a page's script has "<" escaped.
            sentence = json.dumps(tree["answer"]["sentence"], ensure_ascii=False).strip('"').replace("<", "\\u003c")
            expect(sentence in page_of(stepscope, folder), folder + ": the page does not say: " + sentence)
            checked = check["steps"]["launches"][0]
            kept = list(lengths)
            for length in checked["sorted_ns"]:
                expect(length in kept, "%s: check has a step of %d ns" % (folder, length))
                if length in kept:
                    kept.remove(length)
            expect(len(kept) == checked["warm_up"], folder + ": check counts other steps")
            print("%s: %d steps of %.3f ms" % (os.path.basename(folder), len(lengths), mean / 1e6))
    sys.exit(failed)


if __name__ == "__main__":
    main()
