#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""counts_test.py STEPSCOPE SOURCE: every file of stacks/ in the shared collection, counted here in a few lines and by
`stepscope stacks --json`: weight of each thread and of each innermost frame. Files that are no profiles must be refused.
Prints the table; exit 77 where the collection is not there."""
import collections
import json
import os
import re
import subprocess
import sys
from pathlib import Path

program, source = sys.argv[1], Path(sys.argv[2])
shared = Path(os.environ.get("STEPSCOPE_SHARED", source / ".." / "shared")) / "data" / "stacks"
if not shared.is_dir():
    print(f"skipped: no {shared}")
    sys.exit(77)


def text_of(raw):
    for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if raw.startswith(mark):
            return raw[2:].decode(name)
    return raw.decode("utf-8", "replace")


def collapsed(text):
    for line in text.splitlines():
        m = re.fullmatch(r"(.+?)[ \t]+(\d+)", line)
        if m and not line.startswith("#"):
            yield "all threads", [f for f in m[1].split(";") if f][-1], float(m[2])


def perf(text):
    for record in re.split(r"\n\s*\n", "\n".join(x for x in text.splitlines() if not x.startswith("#"))):
        lines = [x for x in record.splitlines() if x.strip()]
        if not lines:
            continue
        who = re.match(r"(\S.*?)\s+(\d+)(/\d+)?\s", lines[0])
        leaf = None
        if len(lines) > 1:
            m = re.match(r"\s*[0-9a-f]+ (.+) \((.*)\)$", lines[1])
            library = m[2] if m[2].startswith("[") else m[2].split("/")[-1]
            leaf = f"{re.sub(r'[+]0x[0-9a-f]+$', '', m[1])} ({library})"
        yield f"{who[1]}-{who[2]}{who[3] or ''}", leaf, 1.0


def frame_text(frames, i):
    if i >= len(frames) or not frames[i].get("name"):
        return f"frame {i}"
    f = frames[i]
    place = f.get("file") or ""
    if place and f.get("line"):
        place += f":{f['line']}"
    return f["name"] + (f" ({place})" if place else "")


def speedscope(text):
    data = json.loads(text)
    frames = data["shared"]["frames"]
    for p in data["profiles"]:
        scale = {"seconds": 1e9, "milliseconds": 1e6, "microseconds": 1e3}.get(p["unit"], 1)
        if p["type"] == "sampled":
            for s, w in zip(p["samples"], p["weights"]):
                yield p["name"], frame_text(frames, s[-1]) if s else None, w * scale
            continue
        open_, last = [], None
        for e in p["events"] + [{"type": "end", "at": p["endValue"]}]:
            at = e["at"] if last is None else max(e["at"], last)
            if open_ and at > last:
                yield p["name"], frame_text(frames, open_[-1]), (at - last) * scale
            last = at
            if e["type"] == "O":
                open_.append(e["frame"])
            elif e["type"] == "C" and e["frame"] in open_:
                while open_.pop() != e["frame"]:
                    pass


def dump(text):
    thread, n = None, 0
    for line in text.splitlines():
        m = re.match(r'(Thread \S+) \(.*\)(: (".*"))?', line)
        if m:
            thread, n = m[1] + (f" {m[3]}" if m[3] else ""), 0
        elif thread and line.startswith("    ") and n == 0:
            n = 1
            yield thread, line.strip(), 1.0


def counts(rows):
    threads, leaves = collections.Counter(), collections.Counter()
    for thread, leaf, weight in rows:
        threads[thread] += weight
        if leaf is not None:
            leaves[leaf] += weight
    return ({k: round(v, 3) for k, v in threads.items() if v}, {k: round(v, 3) for k, v in leaves.items() if v})


def reader_of(path, text):
    if path.suffix == ".json":
        return speedscope if "speedscope.app/file-format-schema" in text else None
    if "pyspy_dump" in path.name:
        return dump
    return perf if "perf.txt" in path.name else collapsed


failed = 0
for path in sorted(shared.rglob("*")):
    if not path.is_file():
        continue
    text = text_of(path.read_bytes())
    reader = reader_of(path, text)
    run = subprocess.run([program, "stacks", str(path), "--json", "-"], capture_output=True, text=True)
    name = path.relative_to(shared)
    if reader is None:
        good = run.returncode == 1 and "; " in run.stderr and path.name in run.stderr
        print(f"{'ok    ' if good else 'FAILED'} {str(name):58} refused: {run.stderr.strip().split(': ', 2)[-1][:90]}")
        failed += not good
        continue
    threads, leaves = counts(reader(text))
    if run.returncode != 0:
        print(f"FAILED {name}: {run.stderr.strip()}")
        failed += 1
        continue
    data = json.loads(run.stdout)
    found = collections.Counter()
    for t in data["threads"]:
        found[t["name"]] += t["weight"]
    ours = {k: round(v, 3) for k, v in found.items()}
    own = {f["frame"]: round(f["self"], 3) for f in data["functions"] if f["self"]}
    few = len(data["functions"]) < 500
    wrong = [k for k in (leaves if few else own) if abs(own.get(k, 0) - leaves.get(k, 0)) > 1e-6 * max(1, leaves.get(k, 0))]
    good = ours == threads and not wrong and round(data["weight"], 3) == round(sum(threads.values()), 3)
    print(f"{'ok    ' if good else 'FAILED'} {str(name):58} {data['inputs'][0]['format']:12} "
          f"{len(threads)} threads, weight {sum(threads.values()):.15g} {data['unit']}, {len(leaves)} innermost frames")
    if not good:
        failed += 1
        print("  ours  ", dict(list(ours.items())[:5]), "\n  python", dict(list(threads.items())[:5]), "\n  frames", wrong[:3])


# The slide of a ZeRO-3 profile after optical reading, with the instruction table of DeepSpeed 0.16.7: the collection's
# table of its calls, and the program's own.
def slide(table):
    run = subprocess.run([program, "stacks", str(shared.parent.parent / "seeds" / "deepspeed_zero3_profile_slide.txt"),
                          "--lasti", table, "--json", "-"], capture_output=True, text=True)
    data = json.loads(run.stdout)
    told = {(t["name"], w["pass"], w["phase"]): w["weight"] for t in data["threads"] for w in t["phases"]}
    threads = {t["name"]: t["weight"] for t in data["threads"]}
    lines = {f["function"]: (f["file"], f["line"]) for f in data["functions"] if f["line_by_table"]}
    file, line = lines.get("PartitionedParameterCoordinator.fetch_sub_module", ("", 0))
    explained = {p["name"]: p["explanation"] for p in data["phases"]}
    return [
        ("total", data["weight"], 23578),
        ("thread 1", threads.get("pt_autograd_1"), 1330),
        ("thread 0", threads.get("pt_autograd_0"), 1912),
        ("reduction", told.get(("pt_autograd_0", "backward", "zero3_reduce")), 637),
        ("source file", file.split("/")[-1], "partitioned_param_coordinator.py"),
        ("source line", line, 332),
    ], told.get(("pt_autograd_1", "recompute", "zero3_fetch_throttle")), explained


calls = shared.parent.parent / "facts" / "deepspeed_v0.16.7_lasti_cpython311.tsv"
own = "deepspeed-0.16.7-cpython3.11"
for table in (str(calls), own):
    rows, throttle, explained = slide(table)
    if table == own:  # which names the sources, so their lines have a meaning
        rows += [("throttle", throttle, 545),
                 ("its sentence", "(Event.synchronize)" in explained.get("zero3_fetch_throttle", ""), True)]
    for what, found, wanted in rows:
        print(f"{'ok    ' if found == wanted else 'FAILED'} slide, {Path(table).name}: {what}: {found}")
        failed += found != wanted


def rows_of(path):
    file, function = "", ""
    for row in path.read_text().splitlines():
        if not row.startswith("#"):
            cells = row.split("\t")
            file, function = cells[0] or file, cells[1] or function
            yield file, function, int(cells[2], 16), int(cells[3], 16), int(cells[4])


# Each call of the collection's table, within an interval of the program's own.
intervals = collections.defaultdict(list)
for file, function, first, last, line in rows_of(source / "data" / "instructions" / f"{own}.tsv"):
    intervals[file, function].append((first, last, line))
wanted = list(rows_of(calls))
found = sum(any(a <= first and last <= b and there == line for a, b, there in intervals[f"deepspeed/{file}", function])
            for file, function, first, last, line in wanted)
good = found == len(wanted) > 200
print(f"{'ok    ' if good else 'FAILED'} {found} of {len(wanted)} calls of {calls.name} are in {own} with the same line")
failed += not good
sys.exit(1 if failed else 0)
