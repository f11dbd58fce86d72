#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_pftrace.py STEPSCOPE TRACE...: writes Chrome traces of torch.profiler once more as its .pftrace has them, and
holds the budgets of every step against each other.

As PyTorch lays it out (torch/profiler, cupti_monitor, 2026): processes and threads first; no categories; one table of
names; all begins of a kind of activity, then all their ends; a call's arguments as debug annotations; work of a device
either as such slices too or as GPU render stages, one hardware queue a stream, arguments as texts. Encoded by Google's
library. Exit 77: the package is not installed (pip install perfetto protobuf)."""
import collections
import gzip
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

WORK = {"kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "gpu_user_annotation": 4}
STAGES = ("Kernel", "Memcpy", "Memset", "Annotation")


class Writer:
    def __init__(self, stages):
        self.trace, self.names, self.stages = pb.Trace(), {}, stages
        self.processes, self.rows, self.queues = {}, {}, {}

    def track(self, pid, tid, process_name, thread_name):
        if pid not in self.processes:
            uuid = self.processes[pid] = len(self.processes) + len(self.rows) + 1
            d = self.trace.packet.add().track_descriptor
            d.uuid = uuid
            d.process.pid = pid if isinstance(pid, int) else 1_000_000 + uuid
            d.process.process_name = process_name or str(pid)
        if (pid, tid) not in self.rows:
            uuid = self.rows[pid, tid] = len(self.processes) + len(self.rows) + 1
            d = self.trace.packet.add().track_descriptor
            d.uuid = uuid
            d.parent_uuid = self.processes[pid]
            d.thread.pid = pid if isinstance(pid, int) else 1_000_000 + self.processes[pid]
            d.thread.tid = tid if isinstance(tid, int) else 1_000_000 + uuid
            d.thread.thread_name = thread_name or str(tid)
        return self.rows[pid, tid]

    def name(self, text):
        return self.names.setdefault(text, len(self.names) + 1)

    def annotate(self, annotation, value):
        if isinstance(value, bool):
            annotation.bool_value = value
        elif isinstance(value, int):
            annotation.int_value = value if -2**63 <= value < 2**63 else -1
        elif isinstance(value, (float, Decimal)):
            annotation.double_value = float(value)
        elif isinstance(value, dict):
            for key, inner in value.items():
                self.annotate(annotation.dict_entries.add(name=key), inner)
        elif isinstance(value, list):
            for inner in value:
                self.annotate(annotation.array_values.add(), inner)
        else:
            annotation.string_value = "null" if value is None else str(value)

    def group(self, slices):
        for start, _, uuid, name, arguments in slices:
            p = self.trace.packet.add(timestamp=start, trusted_packet_sequence_id=1, sequence_flags=2)
            p.track_event.type = 1
            p.track_event.track_uuid = uuid
            p.track_event.name_iid = self.name(name)
            for key, value in arguments.items():
                self.annotate(p.track_event.debug_annotations.add(name=key), value)
        for _, end, uuid, _, _ in slices:
            p = self.trace.packet.add(timestamp=end, trusted_packet_sequence_id=1)
            p.track_event.type = 2
            p.track_event.track_uuid = uuid

    def stage(self, start, end, kind, name, gpu, stream, arguments):
        p = self.trace.packet.add(timestamp=start, trusted_packet_sequence_id=1, sequence_flags=2)
        e = p.gpu_render_stage_event
        e.event_id = int(arguments.get("correlation", 0))
        e.duration = end - start
        e.gpu_id = gpu
        e.hw_queue_iid = self.queues.setdefault(stream, 100 + len(self.queues))
        e.stage_iid = WORK[kind]
        e.name_iid = self.name(name)
        comms = {k: v for k, v in arguments.items() if k[0].isupper() or k == "dtype"}
        for key in ("correlation", "bytes"):
            if arguments.get(key):
                e.extra_data.add(name=key, value=str(arguments[key]))
        e.extra_data.add(name="device id", value=str(gpu))
        e.extra_data.add(name="stream id", value=str(stream))
        if "Collective name" in comms:
            e.extra_data.add(name="comms", value=json.dumps(comms, default=float))

    def text(self):
        head = pb.Trace()
        p = head.packet.add(trusted_packet_sequence_id=1, sequence_flags=1)
        for text, iid in self.names.items():
            p.interned_data.event_names.add(iid=iid, name=text)
        for iid, text in enumerate(STAGES, 1):
            p.interned_data.gpu_specifications.add(iid=iid, name=text)
        for stream, iid in self.queues.items():
            p.interned_data.gpu_specifications.add(iid=iid, name=f"stream {stream:04d}")
        descriptors = [p for p in self.trace.packet if p.HasField("track_descriptor")]
        events = [p for p in self.trace.packet if not p.HasField("track_descriptor")]
        return pb.Trace(packet=[*descriptors, *head.packet, *events]).SerializeToString()


def load(path):
    text = gzip.open(path).read() if str(path).endswith(".gz") else Path(path).read_bytes()
    trace = json.loads(text, parse_float=Decimal)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


def convert(trace, stages):
    base = int(trace.get("baseTimeNanoseconds", 0))
    writer, processes, threads = Writer(stages), {}, {}
    kinds = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        if e.get("ph") == "M" and e["name"] == "process_name":
            processes[e["pid"]] = e["args"]["name"]
        elif e.get("ph") == "M" and e["name"] == "thread_name":
            threads[e["pid"], e["tid"]] = e["args"]["name"]
    for e in trace["traceEvents"]:
        kind = e.get("cat", "")
        if e.get("ph") != "X" or kind == "Trace":
            continue
        start = int(Decimal(e["ts"]) * 1000) + base
        end = start + max(int(Decimal(e.get("dur", 0)) * 1000), 0)
        arguments = e.get("args") or {}
        if kind in WORK and stages:
            kinds["stages"].append((start, end, kind, e["name"], int(e["pid"]),
                                    int(arguments.get("stream", e["tid"])), arguments))
            continue
        if kind == "gpu_user_annotation":
            continue  # only the stages have them
        uuid = writer.track(e["pid"], e["tid"], processes.get(e["pid"]), threads.get((e["pid"], e["tid"])))
        group = "host" if kind in ("cpu_op", "user_annotation", "python_function", "") else kind
        kinds[group].append((start, end, uuid, e["name"], arguments))
    for kind, slices in kinds.items():
        if kind == "stages":
            for slice_ in slices:
                writer.stage(*slice_)
        else:
            writer.group(slices)
    return writer.text()


def budgets(stepscope, files, folder):
    path = Path(folder) / "answer.json"
    ran = subprocess.run([stepscope, "analyze", *files, "--json", path], stdout=subprocess.DEVNULL, text=True,
                         stderr=subprocess.PIPE, check=False)
    if ran.returncode != 0:
        print(ran.stderr)
        return {}
    answer = json.loads(path.read_text())
    return {(r["rank"], s["index"]): {"wall_ns": s["wall_ns"], **s["budget_ns"]} for r in answer["ranks"]
            for s in r["steps"]}


def main():
    stepscope, traces = sys.argv[1], sys.argv[2:]
    failed = 0
    for stages in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for n, path in enumerate(traces):
                files.append(Path(folder) / f"rank{n}.pftrace")
                files[-1].write_bytes(convert(load(path), stages))
            wanted, found = budgets(stepscope, traces, folder), budgets(stepscope, files, folder)
        differ = [k for k in sorted({*wanted, *found}) if wanted.get(k) != found.get(k)]
        print(f"{'stages' if stages else 'slices'}: {len(wanted)} steps, {len(differ)} differ")
        for key in differ[:3]:
            print(f"  rank {key[0]} step {key[1]}: JSON {wanted.get(key)}\n    .pftrace {found.get(key)}")
        failed += bool(differ) or not wanted
    return 1 if failed else 0


sys.exit(main())
