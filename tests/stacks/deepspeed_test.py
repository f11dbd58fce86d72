#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deepspeed_test.py STEPSCOPE SOURCE: the recorded DeepSpeed ZeRO-3 stacks of tests/stacks/deepspeed. The samples are
counted here, by the functions of DeepSpeed, torch and gloo that they lie in, and by `stepscope stacks`: passes, phases and
waits, hot spots, and the lines of the program's table of instructions against those that py-spy recorded."""
import collections
import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

program, source = sys.argv[1], Path(sys.argv[2])
recordings = source / "tests" / "stacks" / "deepspeed"
table = "deepspeed-0.16.7-cpython3.11"
failed = 0


def expect(what, found, wanted):
    global failed
    good = found == wanted
    failed += not good
    print(f"{'ok    ' if good else 'FAILED'} {what}" + (f": {found}" if good else f": {found!r}, not {wanted!r}"))


def samples_of(path):
    """[(frames from the thread to the innermost, weight)]"""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            stack, weight = line.rstrip("\n").rsplit(" ", 1)
            yield stack.split(";"), int(weight)


def name_of(frame):
    return re.sub(r" \([^()]*\)$", "", frame)


def symbol_of(frame):
    """Addresses without a symbol are one place of their library, or of none."""
    return re.sub(r"^0x[0-9a-f]+(?= \(|$)", "[unknown]", frame).replace("[unknown] (?)", "[unknown]")


def last(names, *wanted):
    """Index of the innermost frame of one of these names, or -1."""
    return max((i for i, n in enumerate(names) if n in wanted), default=-1)


# The calls of the training loop, and within backward the innermost of autograd's run and a module's call: a checkpointed
# module is called again there.
def pass_of(names):
    if "DeepSpeedEngine.step" in names:
        return "optimizer"
    if "DeepSpeedEngine.backward" in names:
        module = last(names, "Module._call_impl", "Module._wrapped_call_impl")
        return "recompute" if module > last(names, "_engine_run_backward", "DeepSpeedEngine.backward") else "backward"
    return "forward" if "DeepSpeedEngine.forward" in names or "Module._wrapped_call_impl" in names else "other"


FETCH = "PartitionedParameterCoordinator.fetch_sub_module"
REDUCE = "DeepSpeedZeroOptimizer_Stage3.__reduce_and_partition_ipg_grads"
WAIT = "c10d::Work::wait"
# Blocks of fetch_sub_module in DeepSpeed 0.16.7: lines, and what they do.
BLOCKS = ((306, 315, "zero3_fetch_submit"), (332, 332, "zero3_fetch_throttle"), (334, 346, "zero3_gather_wait"),
          (350, 416, "zero3_prefetch"))


def wait_of(names):
    """The phase of a sample that stands in gloo's wait, by what the host waits for."""
    if WAIT not in names:
        return None
    if FETCH in names:
        return "zero3_parameter_wait"
    return "zero3_reduce_wait" if REDUCE in names else "collective_wait"


def phase_of(frames, names):
    """The phase, of those samples that one function decides."""
    if wait_of(names):
        return wait_of(names)
    if FETCH in names:
        line = int(frames[last(names, FETCH)].rsplit(":", 1)[1][:-1])
        return next((phase for first, end, phase in BLOCKS if first <= line <= end), None)
    if REDUCE in names and "reduce_scatter_fn" in names:
        return "zero3_reduce_scatter"
    if names[-1] == "_engine_run_backward":
        return "backward_call"
    if "DeepSpeedEngine.step" in names and ("Adam.step" in names or "DeepSpeedZeroOptimizer_Stage3.zero_grad" in names):
        return "optimizer_step"
    return None


# zero3_fetch_submit is not among them: from the second step on all parameters of this model are prefetched.
DECIDED = ("zero3_parameter_wait", "zero3_reduce_wait", "collective_wait", "zero3_gather_wait", "zero3_prefetch",
           "zero3_reduce_scatter", "backward_call", "optimizer_step")


def stacks(*arguments):
    run = subprocess.run([program, "stacks", *map(str, arguments), "--json", "-"], capture_output=True, text=True,
                         check=True)
    return json.loads(run.stdout)


def check_recording(path):
    name = path.relative_to(recordings)
    samples = list(samples_of(path))
    passes, phases, own = collections.Counter(), collections.Counter(), collections.Counter()
    for frames, weight in samples:
        names = [name_of(f) for f in frames]
        passes[pass_of(names)] += weight
        phases[phase_of(frames, names)] += weight
        own[symbol_of(frames[-1])] += weight
    data = stacks(path, "--lasti", table)
    expect(f"{name}: samples", data["weight"], sum(w for _, w in samples))

    found = collections.Counter()
    for thread in data["threads"]:
        for part in thread["phases"]:
            found[part["pass"]] += part["weight"]
    expect(f"{name}: passes", dict(sorted(found.items())), dict(sorted(passes.items())))
    for needed in ("forward", "backward", "recompute", "optimizer"):
        expect(f"{name}: enough samples in {needed}", found[needed] >= 20, True)

    told = {p["name"]: p["weight"] for p in data["phases"]}
    kinds = {p["name"]: p["kind"] for p in data["phases"]}
    expect(f"{name}: phases", {p: told.get(p, 0) for p in DECIDED}, {p: phases[p] for p in DECIDED})
    for phase in ("zero3_parameter_wait", "zero3_reduce_wait", "collective_wait"):
        expect(f"{name}: {phase} is a wait", kinds.get(phase, "wait"), "wait")
    expect(f"{name}: nothing is compiled", told.get("compile", 0), 0)

    hot = [f for f in data["functions"] if f["self"]]
    expect(f"{name}: own samples of all innermost frames", {f["frame"]: f["self"] for f in hot}, dict(own))
    expect(f"{name}: the hottest first", [f["self"] for f in hot[:10]], sorted(own.values(), reverse=True)[:10])
    return samples, phases


def check_lines(samples):
    """Each line that py-spy recorded for a function of the table is a line of the table. Printed as instructions, the same
    stacks get the same lines back."""
    lines, file, function = collections.defaultdict(dict), "", ""
    for row in (source / "data" / "instructions" / f"{table}.tsv").read_text().splitlines():
        if row.startswith("#"):
            continue
        cells = row.split("\t")
        file, function = cells[0] or file, cells[1] or function
        lines[file, function].setdefault(int(cells[4]), int(cells[2], 16))
    recorded = set()
    for frames, _ in samples:
        for frame in frames:
            m = re.fullmatch(r"(.+) \((deepspeed/[^():]+):(\d+)\)", frame)
            if m and (m[2], m[1]) in lines:
                recorded.add((m[2], m[1], int(m[3])))
    strange = [r for r in recorded if r[2] not in lines[r[:2]]]
    expect("recorded lines that the table has not", strange, [])
    expect("enough recorded lines", len(recorded) > 150, True)
    # A line may belong to two code objects of one name (lambdas, comprehensions): those have no line of their own.
    once = [r for r in sorted(recorded) if "<lambda>" not in r[1] and "comp>" not in r[1] and "<genexpr>" not in r[1]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instructions.txt"
        path.write_text("".join(f"T;{function} [{lines[file, function][line]:#x}] 1\n" for file, function, line in once))
        data = stacks(path, "--lasti", table)
    found = {(f["file"], f["function"], f["line"]) for f in data["functions"] if f["line_by_table"]}
    # Functions of one name in two files of the table may disagree: no line is given then.
    names = collections.Counter(function for _, function in lines)
    expect("lines of instructions", found, {r for r in once if names[r[1]] == 1})
    expect("almost all of them", len(found) > 0.9 * len(once), True)


everything, waits = [], collections.Counter()
for path in sorted(recordings.glob("*/rank*.collapsed.gz")):
    samples, phases = check_recording(path)
    everything += samples
    waits += phases
for phase in DECIDED:
    expect(f"{phase} was recorded", waits[phase] > 0, True)
expect("recordings", len(list(recordings.glob("*/rank*.collapsed.gz"))), 4)
check_lines(everything)
sys.exit(1 if failed else 0)
