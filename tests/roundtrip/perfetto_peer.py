#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_peer.py STEPSCOPE TRACE...: holds the native merged trace against the Chrome JSON of the same traces.

The native file is read by Google's protobuf library with the descriptors of Perfetto's own Python package and paired by the
format's rules (an end closes the innermost slice of its track, in the order of time). Processes, rows, every slice with its
arguments, arrows, readings, instants and the clock must be the same in both. Exit 77: the package is not installed
(pip install perfetto protobuf)."""
import collections
import json
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
    print("skipped: no Python package perfetto")
    sys.exit(77)

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def merged(stepscope, traces, name, folder):
    path = Path(folder) / name
    subprocess.run([stepscope, "analyze", *traces, "--perfetto", path], check=True, stdout=subprocess.DEVNULL)
    return path.read_bytes()


def nanoseconds(microseconds, base):
    return int(Decimal(microseconds) * 1000) + base


def spelled(value):
    """An argument as a text: lists are texts in the native file."""
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    if isinstance(value, str):
        try:
            inner = json.loads(value)
            return json.dumps(inner) if isinstance(inner, (list, dict)) else value
        except ValueError:
            return value
    return value


def contents():
    return {kind: collections.Counter() for kind in ("rows", "slices", "instants", "readings", "flows", "ranks")}


def chrome(text):
    trace = json.loads(text, parse_float=Decimal)
    base = trace["baseTimeNanoseconds"]
    out = contents()
    processes, threads, streams, flows = {}, {}, {}, collections.defaultdict(collections.Counter)
    for e in trace["traceEvents"]:
        if e["ph"] == "M" and e["name"] == "process_name":
            processes[e["pid"]] = e["args"]["name"]
        elif e["ph"] == "M" and e["name"] == "thread_name":
            threads[e["pid"], e["tid"]] = e["args"]["name"]
    for e in trace["traceEvents"]:
        process = processes.get(e.get("pid"))
        # Further rows of a stream have their own ids.
        tid = e.get("tid", 0) % 100_000_000 if process and ": GPU " in process else e.get("tid")
        if e.get("cat") == "stepscope_finding":
            tid = None  # rows of findings have no number in the native file
        if e["ph"] == "X":
            arguments = {k: spelled(v) for k, v in e["args"].items() if k != "rank"}
            out["slices"][process, tid, e.get("cat", "other"), e["name"], nanoseconds(e["ts"], base),
                          int(Decimal(e["dur"]) * 1000), json.dumps(arguments, sort_keys=True, default=float)] += 1
            out["rows"][process, tid] = 1
        elif e["ph"] == "i":
            arguments = {k: v for k, v in e["args"].items() if k != "rank"}
            out["instants"][process, tid, e["name"], nanoseconds(e["ts"], base), json.dumps(arguments, sort_keys=True)] += 1
        elif e["ph"] == "C":
            for metric, value in e["args"].items():
                out["readings"][process, metric, nanoseconds(e["ts"], base), float(value)] += 1
        elif e["ph"] in "sf":
            flows[e["id"]][process, tid, nanoseconds(e["ts"], base)] += 1
    for flow, ends in flows.items():
        for end, times in ends.items():
            out["flows"][(flow, *end)] = times
    for rank in trace["stepscopeRanks"]:
        out["ranks"][json.dumps(rank, sort_keys=True, default=float)] += 1
    return out, base


class Native:
    """Perfetto's rules, as its documentation states them."""

    def __init__(self, text):
        self.trace = pb.Trace.FromString(text)
        self.tracks, self.out, self.problems = {}, contents(), []
        self.texts = collections.defaultdict(dict)
        self.realtime = None
        self.trace.DiscardUnknownFields()
        if self.trace.ByteSize() != len(text):
            self.problems.append("fields that Perfetto does not know")
        events = []
        for n, packet in enumerate(self.trace.packet):
            if packet.sequence_flags & 1:
                self.texts.clear()
            for kind in ("event_categories", "event_names", "debug_annotation_names"):
                for entry in getattr(packet.interned_data, kind):
                    self.texts[kind][entry.iid] = entry.name
            for entry in packet.interned_data.debug_annotation_string_values:
                self.texts["strings"][entry.iid] = entry.str.decode()
            if packet.HasField("clock_snapshot"):
                clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
                self.realtime = clocks[1] - clocks[6]
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                events.append((packet.timestamp, n, packet.track_event, self.arguments(packet.track_event),
                               self.texts["event_names"].get(packet.track_event.name_iid),
                               [self.texts["event_categories"][i] for i in packet.track_event.category_iids]))
        self.pair(sorted(events, key=lambda e: e[:2]))

    def arguments(self, event):
        found = {}
        for a in event.debug_annotations:
            value = getattr(a, a.WhichOneof("value"))
            if a.WhichOneof("value") == "string_value_iid":
                value = self.texts["strings"][value]
            found[self.texts["debug_annotation_names"][a.name_iid]] = spelled(value)
        return found

    def row(self, uuid):
        """The process's name and the row's number."""
        track, tid = self.tracks[uuid], None
        while True:
            if track.HasField("thread"):
                tid = track.thread.tid
            elif tid is None and track.description.startswith("tid "):
                tid = int(track.description[4:])
            if track.HasField("process"):
                return track.process.process_name, tid
            track = self.tracks[track.parent_uuid]

    def pair(self, events):
        open_slices = collections.defaultdict(list)
        for time, _, event, arguments, name, categories in events:
            process, tid = self.row(event.track_uuid)
            if event.type == BEGIN:
                open_slices[event.track_uuid].append((time, name or "", categories[0], arguments))
                for flow in event.flow_ids:
                    self.out["flows"][flow, process, tid, time] += 1
            elif event.type == END:
                if not open_slices[event.track_uuid]:
                    self.problems.append("an end without a begin")
                    continue
                start, name, category, arguments = open_slices[event.track_uuid].pop()
                self.out["slices"][process, tid, category, name, start, time - start,
                                   json.dumps(arguments, sort_keys=True)] += 1
                self.out["rows"][process, tid] = 1
            elif event.type == COUNTER:
                metric = self.tracks[event.track_uuid].name
                self.out["readings"][process, metric, time, event.double_counter_value] += 1
            elif name == "rank metadata":
                self.out["ranks"][json.dumps(json.loads(arguments["stepscopeRanks"]), sort_keys=True)] += 1
            else:
                self.out["instants"][process, tid, name, time, json.dumps(arguments, sort_keys=True)] += 1
        if any(open_slices.values()):
            self.problems.append("a begin without an end")


def main():
    stepscope, traces = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        left, base = chrome(merged(stepscope, traces, "a.json", folder))
        native = Native(merged(stepscope, traces, "a.pftrace", folder))
    problems = list(native.problems)
    if base and native.realtime != 0:
        problems.append(f"the clock is off UNIX time by {native.realtime} ns")
    for kind, wanted in left.items():
        found = native.out[kind]
        for what, sign in ((wanted - found, "only in JSON"), (found - wanted, "only in the native file")):
            problems += [f"{kind}, {sign}: {key}" for key in list(what)[:3]]
    print(", ".join(f"{sum(c.values())} {kind}" for kind, c in left.items()), "-", f"{len(native.trace.packet)} packets:",
          "the same" if not problems else f"{len(problems)} differences")
    for problem in problems[:12]:
        print(" ", problem[:400])
    return 1 if problems else 0


sys.exit(main())
