#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other bounds of the gain would find and accuse: bounds.py ROWS.json...

ROWS.json is what score.py --json writes. For each kind of verdict the least gain that is named, as a share of the step,
is raised: a verdict that gains less counts as a bound. The table has, for each bound, how many of the faults that count
are still named, and how many healthy captures are accused (of the undisturbed, of all). The constants are in
analysis/replay/faults.cc (least_fault_share, least_of_cores, least_weak, least_unseen_gain)."""

import argparse
import json

SHARES = (0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.12, 0.15)


def gain_share(row):
    verdict = row["verdict"] or {}
    return (verdict.get("gain_ns") or 0) / row["step_ns"]


def column(rows, least):
    """Named, of the faults that count; accused, of the undisturbed healthy captures and of all."""
    kept = [r for r in rows if gain_share(r) >= least]
    named = sum(bool(r.get("counts")) and r["judged"] == "right" for r in kept)
    accused = [r for r in kept if r["judged"] == "accused"]
    calm = sum(not r["disturbed"] for r in accused)
    return "%d / %d / %d" % (named, calm, len(accused))


def table(rows):
    kinds = sorted(
        {r["verdict"].get("kind") or "" for r in rows if r["judged"] in ("right", "accused")}
    )
    lines = [
        "| verdict (named / accused undisturbed / accused) | "
        + " | ".join("%g %%" % (100 * s) for s in SHARES)
        + " |",
        "|---" * (len(SHARES) + 1) + "|",
    ]
    for kind in kinds:
        of_kind = [r for r in rows if r["verdict"].get("kind") == kind]
        lines.append(
            "| %s | %s |" % (kind, " | ".join(column(of_kind, s) for s in SHARES))
        )
    lines.append("| all | %s |" % " | ".join(column(rows, s) for s in SHARES))
    return lines


def main(argv=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("rows", nargs="+")
    rows = []
    for path in p.parse_args(argv).rows:
        with open(path, encoding="utf-8") as f:
            rows += json.load(f)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
