#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the searches of docs/dev/published-plans.md and writes what they print between its markers:
tools/plan_examples.py build/release/stepscope [--check]; --check only says whether the page is as of this build."""

import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "dev" / "published-plans.md"
BEGIN, END = "<!-- begin: tools/plan_examples.py -->\n", "<!-- end: tools/plan_examples.py -->\n"

# A search, and the plans of published runs on its devices, with their source.
SEARCHES = [
    (
        "Llama-3-70B on 512 H100",
        "llama-3-70b --machine h100_sxm_80gb --gpus 512 --global-batch 1024 --seq 8192",
        [
            (
                "Megatron-Bridge 26.04 on H100 (TP 4, PP 8, 5 chunks)",
                "tp=4,sequence-parallel,pp=8,schedule=interleaved,virtual-stages=5,zero=1",
            ),
            (
                "NeMo 24.07 on H100 (TP 4, PP 4, 5 chunks, CP 2)",
                "tp=4,sequence-parallel,pp=4,cp=2,schedule=interleaved,virtual-stages=5,zero=1",
            ),
            ("fully sharded, all recomputed, as torchtitan starts", "zero=3,recompute=full"),
        ],
    ),
    (
        "GPT-3 175B on 1024 A100",
        "gpt3-175b --machine a100_sxm_80gb --gpus 1024 --global-batch 1536",
        [
            (
                "Narayanan et al., SC21: TP 8 in a node, interleaved PP over nodes, all recomputed",
                "tp=8,pp=16,schedule=interleaved,virtual-stages=3,recompute=full",
            ),
            (
                "Korthikanti et al. 2022 (TP 8, PP 8, 3 chunks, sequence parallel, selective)",
                "tp=8,sequence-parallel,pp=8,schedule=interleaved,virtual-stages=3,recompute=selective",
            ),
        ],
    ),
]


def seconds(ns):
    return f"{ns * 1e-9:.2f} s"


def row(name, brief, plan):
    if plan["step_time_ns"] is None:
        return f"| {name} | {brief} | | | | {plan['error']} |\n"
    faster = ""
    if "faster_plans" in plan:
        more = "" if plan["faster_plans_complete"] else "> "
        faster = f"{more}{plan['faster_plans']:,}"
        if not plan["fits"]:
            faster += " (does not fit)"
        elif not plan["allowed"]:
            faster += " (fits, below the headroom)"
    return (
        f"| {name} | {brief} | {seconds(plan['step_time_ns'])} | {100 * plan['mfu']:.1f} % | "
        f"{plan['memory_bytes']['total'] * 1e-9:.1f} GB | {faster} |\n"
    )


def why(plan):
    """What the fastest saves and pays, from the sentence that the command prints."""
    return plan["sentence"].split(". ")[-1]


def section(program, title, arguments, published):
    own = [flag for _, settings in published for flag in ("--against", settings)]
    run = subprocess.run(
        [program, "plan", *arguments.split(), *own, "--json", "-"], check=True, capture_output=True
    )
    found = json.loads(run.stdout)
    lines = "".join(f" \\\n      --against {settings}" for _, settings in published)
    out = f"### {title}\n\n    stepscope plan {arguments}{lines}\n\n"
    out += f"{found['candidates']:,} plans. {found['answer']['sentence']}\n\n"
    out += "| | plan | step | MFU | memory | faster plans that fit |\n|---|---|---|---|---|---|\n"
    out += row("fastest", found["best"][0]["brief"], found["best"][0])
    if len(found["best"]) > 1:
        out += row("next of another shape", found["best"][1]["brief"], found["best"][1])
    for (name, _), plan in zip(published, found["against"], strict=True):
        out += row(name, plan["brief"], plan)
    out += "\nWhy the fastest wins against them:\n\n"
    for (name, _), plan in zip(published, found["against"], strict=True):
        out += f"- *{name}*: {why(plan)}\n"
    return out + "\n"


def main():
    program = sys.argv[1]
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    page = head + BEGIN + "\n" + "".join(section(program, *s) for s in SEARCHES) + END + tail
    if "--check" in sys.argv:
        sys.exit(0 if page == text else f"{PAGE.name} is not as of this build")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
