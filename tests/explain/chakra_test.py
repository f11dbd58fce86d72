#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chakra traces and GOAL schedules of simulated jobs, read by readers of their own: chakra_test.py STEPSCOPE [FOLDER].

Each job (jobs.py) is written as torch.profiler writes it. `analyze` makes both files. The readers below share nothing
with the program: a decoder of the wire format of protocol buffers, and one of GOAL's lines. They hold the files
against what must hold in any: nodes wait for earlier nodes only, each node of a device waits for something, the
members of a group run the same collectives, each message has two ends, and a replay takes as long as the recorded
steps. With FOLDER the traces in it are used instead."""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import jobs_draw
import jobs_kineto
import jobs_training

CLOSE = 0.02
COMP, SEND, RECV, COLL = 4, 5, 6, 7


def expect(condition, what):
    if not condition:
        raise SystemExit("chakra_test: " + what)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(field, value) of a message; bytes for what has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        expect(kind in (0, 2), "a field of wire type %d" % kind)
        value, at = varint(data, at)
        if kind == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def nodes_of(path):
    """The nodes of one rank's file: dictionaries with id, type, us, deps and attributes."""
    with open(path, "rb") as f:
        data = f.read()
    at, messages = 0, []
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        at += size
    expect(dict(fields(messages[0]))[1] == b"0.0.4", "the first message is the metadata")
    found = []
    for message in messages[1:]:
        node = {"id": 0, "us": 0, "deps": [], "name": ""}
        for field, value in fields(message):
            if field == 1:
                node["id"] = value
            elif field == 2:
                node["name"] = value.decode()
            elif field == 3:
                node["type"] = value
            elif field == 5:
                node["deps"] += packed(value) if isinstance(value, bytes) else [value]
            elif field == 7:
                node["us"] = value
            elif field == 10:
                attribute = dict(fields(value))
                name = attribute.pop(1).decode()
                (node[name],) = attribute.values()
        found.append(node)
    return found


def replay(ranks, groups):
    """When the last node ends, in us; ranks are lists of nodes."""
    meetings = collections.defaultdict(list)
    number = collections.Counter()
    key_of = {}
    for r, nodes in enumerate(ranks):
        for n in nodes:
            if n["type"] == COLL:
                group = n["pg_name"].decode()
                key_of[r, n["id"]] = key = ("group", group, number[r, group])
                number[r, group] += 1
                meetings[key].append((r, n["id"]))
            elif n["type"] in (SEND, RECV):
                key_of[r, n["id"]] = key = ("message", n["comm_src"], n["comm_dst"], n["comm_tag"])
                meetings[key].append((r, n["id"]))
    for key, members in meetings.items():
        all_members = len(groups[key[1]]) if key[0] == "group" else 2
        expect(len(members) == all_members, "%s has %d members" % (key, len(members)))
        expect(len({r for r, _ in members}) == all_members, "%s has a rank twice" % (key,))
        if key[0] == "group":
            kinds = {(ranks[r][i].get("comm_type", 0), ranks[r][i]["comm_size"]) for r, i in members}
            expect(len(kinds) == 1, "%s is not the same collective everywhere: %s" % (key, kinds))
    by_id = [{n["id"]: n for n in nodes} for nodes in ranks]
    missing, after = {}, collections.defaultdict(list)
    ready, came, last = collections.defaultdict(float), collections.Counter(), collections.defaultdict(float)
    work = []
    for r, nodes in enumerate(ranks):
        for n in nodes:
            missing[r, n["id"]] = len(n["deps"])
            for d in n["deps"]:
                after[r, d].append((r, n["id"]))
            if not n["deps"]:
                work.append((r, n["id"]))
    done, end = 0, 0.0

    def finish(place, at):
        nonlocal done, end
        done += 1
        at += by_id[place[0]][place[1]]["us"]
        end = max(end, at)
        for p in after[place]:
            ready[p] = max(ready[p], at)
            missing[p] -= 1
            if not missing[p]:
                work.append(p)

    while work:
        place = work.pop()
        key = key_of.get(place)
        if key is None:
            finish(place, ready[place])
            continue
        came[key] += 1
        last[key] = max(last[key], ready[place])
        if came[key] == len(meetings[key]):
            for member in meetings[key]:
                finish(member, last[key])
    expect(done == sum(len(nodes) for nodes in ranks), "nodes that never begin")
    return end


def check_chakra(folder):
    with open(os.path.join(folder, "groups.json"), encoding="utf-8") as f:
        groups = json.load(f)
    ranks = [nodes_of(os.path.join(folder, "job.%d.et" % r))
             for r in range(sum(name.endswith(".et") for name in os.listdir(folder)))]
    for nodes in ranks:
        for place, n in enumerate(nodes):
            expect(n["id"] == place, "ids are places")
            expect(all(d < n["id"] for d in n["deps"]), "a node waits for a later one")
            if not n["is_cpu_op"]:
                expect(n["deps"], "nothing leads to %s" % n["name"])
            else:
                expect(n["type"] == COMP, "the host communicates")
    return replay(ranks, groups)


def check_goal(path):
    """When the last operation of the schedule ends on a network without latency, in us."""
    ranks, at = [], None
    with open(path, encoding="utf-8") as f:
        count = int(f.readline().split()[1])
        for line in f:
            if line.startswith("rank"):
                at = {}
                ranks.append(at)
            elif m := re.match(r"l(\d+): calc (\d+)(?: cpu \d+)?$", line):
                at[int(m[1])] = ["calc", int(m[2]), None, None, []]
            elif m := re.match(r"l(\d+): (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)(?: cpu \d+)?$", line):
                at[int(m[1])] = [m[2], 0, int(m[4]), int(m[5]), []]
            elif m := re.match(r"l(\d+) requires l(\d+)$", line):
                expect(int(m[2]) < int(m[1]), "an operation waits for a later one")
                at[int(m[1])][4].append(int(m[2]))
            else:
                expect(line.strip() in ("", "}"), "the line %r" % line)
    expect(count == len(ranks), "as many ranks as promised")
    sends, receives = collections.defaultdict(list), collections.defaultdict(list)
    for r, operations in enumerate(ranks):
        for label, (what, _, peer, tag, _) in operations.items():
            if what == "send":
                sends[r, peer, tag].append((r, label))
            elif what == "recv":
                receives[peer, r, tag].append((r, label))
    expect({k: len(v) for k, v in sends.items()} == {k: len(v) for k, v in receives.items()}, "sends without receives")
    source = {b: a for key, places in sends.items() for a, b in zip(places, receives[key])}
    ends, todo = {}, [(r, label) for r, operations in enumerate(ranks) for label in operations]
    after, missing = collections.defaultdict(list), {}
    for place in todo:
        before = [(place[0], b) for b in ranks[place[0]][place[1]][4]]
        if place in source:
            before.append(source[place])
        missing[place] = len(before)
        for b in before:
            after[b].append(place)
    work = [p for p in todo if not missing[p]]
    begin = collections.defaultdict(int)
    while work:
        place = work.pop()
        ends[place] = begin[place] + ranks[place[0]][place[1]][1]
        for p in after[place]:
            begin[p] = max(begin[p], ends[place])
            missing[p] -= 1
            if not missing[p]:
                work.append(p)
    expect(len(ends) == len(todo), "operations that never begin")
    return max(ends.values()) / 1e3


def one(stepscope, traces):
    with tempfile.TemporaryDirectory(prefix="chakra") as folder:
        et, goal, bytes_goal = (os.path.join(folder, n) for n in ("et", "steps.goal", "bytes.goal"))
        run = subprocess.run([stepscope, "analyze", traces, "--brief", "--chakra", et, "--goal", goal,
                              "--goal-recorded-times"], capture_output=True, text=True)
        expect(run.returncode == 0, "analyze: " + run.stderr)
        chakra, goal_us = check_chakra(et), check_goal(goal)
        subprocess.run([stepscope, "analyze", traces, "--goal", bytes_goal], capture_output=True, check=True)
        check_goal(bytes_goal)
    return chakra, goal_us


def check_plan(stepscope):
    """Messages between stages carry a micro-batch's activations in 16 bits."""
    tokens, hidden, micro_batches = 2048, 4096, 8
    with tempfile.TemporaryDirectory(prefix="chakra") as folder:
        subprocess.run([stepscope, "predict", "llama-3-8b", "--machine", "h100_sxm_80gb", "--gpus", "4", "--tp", "2",
                        "--pp", "2", "--global-batch", str(micro_batches), "--seq", str(tokens), "--zero", "1",
                        "--chakra", folder], capture_output=True, check=True)
        check_chakra(folder)
        for r in range(4):
            sizes = [n["comm_size"] for n in nodes_of(os.path.join(folder, "job.%d.et" % r)) if n["type"] == SEND]
            expect(sizes == [tokens * hidden * 2] * micro_batches, "rank %d sends %s" % (r, sizes))


def main():
    stepscope = sys.argv[1]
    if len(sys.argv) > 2:
        print("%-40s chakra %12.1f us  goal %12.1f us" % (sys.argv[2], *one(stepscope, sys.argv[2])))
        return
    check_plan(stepscope)
    for number in range(6):
        r = random.Random("chakra/%d" % number)
        while True:
            job = jobs_draw.draw_job(r, ("mixed", "bubble", "compute_bound")[number % 3], 8)
            job.style["param_comms"], job.record = True, True
            try:
                ranks, graph, _, step = jobs_training.simulate(job)
                break
            except RuntimeError:  # such a program would hang
                continue
        with tempfile.TemporaryDirectory(prefix="chakra") as folder:
            jobs_kineto.write_traces(job, ranks, graph, folder)
            chakra, goal = one(stepscope, folder)
        first = min(graph.begin[r.steps[0][0]] for r in ranks)
        last = max(graph.end[n] for r in ranks for n in r.last.values())
        truth = last - first
        what = "tp %d pp %d cp %d dp %d %s" % (job.tp, job.pp, job.cp, job.dp, job.mode)
        print("%-30s %d steps of %8.1f us: recorded %10.1f  chakra %+5.2f %%  goal %+5.2f %%" % (
            what, job.steps, step, truth, 100 * (chakra / truth - 1), 100 * (goal / truth - 1)))
        for name, us in (("chakra", chakra), ("goal", goal)):
            expect(abs(us / truth - 1) < CLOSE, "%s: %s replays %.1f us as %.1f" % (what, name, truth, us))


if __name__ == "__main__":
    main()
