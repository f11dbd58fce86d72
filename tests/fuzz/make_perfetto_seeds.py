#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_perfetto_seeds.py DIR: writes the seeds of the fuzz target for Perfetto traces into DIR/perfetto. The messages are
encoded by Google's library, from the descriptors of Perfetto's own Python package (pip install perfetto protobuf)."""
import sys
import zlib
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

OUT = Path(sys.argv[1]) / "perfetto"
OUT.mkdir(parents=True, exist_ok=True)
EPOCH = 1_700_000_000_000_000_000
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def write(name, trace, cut=None):
    (OUT / name).write_bytes(trace.SerializeToString()[:cut])


def event(trace, kind, track, time, name=None, category=None, sequence=1, flow=None, **arguments):
    packet = trace.packet.add(timestamp=time, trusted_packet_sequence_id=sequence)
    e = packet.track_event
    e.type = kind
    e.track_uuid = track
    if name is not None:
        e.name = name
    if category is not None:
        e.categories.append(category)
    if flow is not None:
        e.flow_ids.append(flow)
    for key, value in arguments.items():
        annotate(e.debug_annotations.add(name=key.replace("_", " ")), value)
    return packet


def annotate(annotation, value):
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        annotation.int_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    elif isinstance(value, str):
        annotation.string_value = value
    elif isinstance(value, dict):
        for key, inner in value.items():
            annotate(annotation.dict_entries.add(name=key), inner)
    else:
        for inner in value:
            annotate(annotation.array_values.add(), inner)


def process(trace, uuid, pid, name):
    d = trace.packet.add().track_descriptor
    d.uuid = uuid
    d.process.pid = pid
    d.process.process_name = name


def thread(trace, uuid, parent, pid, tid, name):
    d = trace.packet.add().track_descriptor
    d.uuid = uuid
    d.parent_uuid = parent
    d.thread.pid = pid
    d.thread.tid = tid
    d.thread.thread_name = name


def row(trace, uuid, parent, name, description=None, counter=False):
    d = trace.packet.add().track_descriptor
    d.uuid = uuid
    d.parent_uuid = parent
    d.name = name
    if description:
        d.description = description
    if counter:
        d.counter.unit_multiplier = 3


def host_and_gpu(prefix=""):
    trace = pb.Trace()
    process(trace, 1, 40, prefix + "python")
    thread(trace, 2, 1, 40, 41, "main")
    process(trace, 3, 41, prefix + "GPU 0")
    row(trace, 4, 3, "stream 7")
    return trace


plain = host_and_gpu()
event(plain, BEGIN, 2, EPOCH, "ProfilerStep#3", "user_annotation")
event(plain, BEGIN, 2, EPOCH + 5, "aten::mm", "cpu_op", External_id=7, Input_Dims=[[8, 16], []], Input_type=["float", ""])
event(plain, BEGIN, 2, EPOCH + 6, "cudaLaunchKernel", "cuda_runtime", flow=9, correlation=9, cbid=211)
event(plain, END, 2, EPOCH + 8)
event(plain, END, 2, EPOCH + 9)
event(plain, END, 2, EPOCH + 90)
event(plain, BEGIN, 4, EPOCH + 20, "ncclDevKernel_AllReduce", "kernel", flow=9, correlation=9, stream=7, device=0,
      Collective_name="allreduce", In_msg_nelems=64, Group_size=8, Process_Group_Name="0", dtype="Float")
event(plain, END, 4, EPOCH + 40)
event(plain, INSTANT, 2, EPOCH + 7, "[memory]", "cpu_instant_event", Addr=64, Bytes=-512, Device_Type=1, Device_Id=0,
      Total_Allocated=4096)
write("plain", plain)
write("cut", plain, -5)

interned = pb.Trace()
p = interned.packet.add(trusted_packet_sequence_id=1, sequence_flags=1)
for i, text in enumerate(["a", "b", "c"]):
    p.interned_data.event_names.add(iid=i + 1, name=text)
    p.interned_data.event_categories.add(iid=i + 1, name=["cpu_op", "kernel", "x"][i])
    p.interned_data.debug_annotation_names.add(iid=i + 1, name=["External id", "Input Dims", "stream"][i])
p.interned_data.debug_annotation_string_values.add(iid=1, str=b"[[1, 2]]")
p.trace_packet_defaults.track_event_defaults.track_uuid = 2
p.trace_packet_defaults.timestamp_clock_id = 64
for clock, time in ((6, 1000), (1, EPOCH), (64, 5)):
    p.clock_snapshot.clocks.add(clock_id=clock, timestamp=time, is_incremental=clock == 64,
                                unit_multiplier_ns=1000 if clock == 64 else 0)
thread(interned, 2, 0, 1, 2, "t")
for i in range(3):
    p = interned.packet.add(timestamp=i, trusted_packet_sequence_id=1, sequence_flags=2)
    p.track_event.type = BEGIN
    p.track_event.name_iid = i + 1
    p.track_event.category_iids.append(i + 1)
    p.track_event.debug_annotations.add(name_iid=1, uint_value=i)
    p.track_event.debug_annotations.add(name_iid=2, string_value_iid=1)
for _ in range(3):
    p = interned.packet.add(timestamp=4, trusted_packet_sequence_id=1, sequence_flags=2)
    p.track_event.type = END
interned.packet.add(trusted_packet_sequence_id=1, previous_packet_dropped=1)
event(interned, BEGIN, 2, 9, "later").sequence_flags = 2
write("interned", interned)

torch = host_and_gpu()
for name, time, arguments in (("aten::mm", 0, {"Record_function_id": 0, "External_id": 1}),
                              ("aten::add", 5, {"External_id": 2}), ("ProfilerStep#1", 30, {"Ev_Idx": 1})):
    event(torch, BEGIN, 2, EPOCH + time, name, **arguments)
for time in (28, 9, 80):
    event(torch, END, 2, EPOCH + time)
for time in (10, 20):
    event(torch, BEGIN, 2, EPOCH + time, "cudaLaunchKernel", cbid=211, correlation=time)
for time in (20, 25):
    event(torch, END, 2, EPOCH + time)
event(torch, BEGIN, 4, EPOCH + 2, "Stream Wait Event", cuda_sync_kind="x", stream=7, wait_on_stream=-1)
event(torch, END, 4, EPOCH + 3)
p = torch.packet.add(trusted_packet_sequence_id=1, sequence_flags=1)
for iid, name in ((1, "Kernel"), (2, "Memcpy"), (3, "Memset"), (4, "Annotation"), (100, "stream 7"), (101, "queue")):
    p.interned_data.gpu_specifications.add(iid=iid, name=name)
p.interned_data.event_names.add(iid=1, name="gemm")
d = p.interned_data.gpu_counter_descriptors.add(iid=1)
d.counter_descriptor.specs.add(counter_id=0, name="Power (W)")
for stage in (1, 2, 3, 4):
    g = torch.packet.add(timestamp=EPOCH + 10 * stage, trusted_packet_sequence_id=1, sequence_flags=2)
    g = g.gpu_render_stage_event
    g.event_id = stage
    g.duration = 4
    g.gpu_id = 1
    g.hw_queue_iid = 100 + stage % 2
    g.stage_iid = stage
    g.name_iid = 1
    g.extra_data.add(name="correlation", value=str(10 * stage))
    g.extra_data.add(name="stream id", value="7")
    g.extra_data.add(name="bytes", value="512")
    g.extra_data.add(name="comms", value='{"Collective name": "allreduce", "Process Group Name": "0", "In msg nelems": 4}')
c = torch.packet.add(timestamp=EPOCH + 50, trusted_packet_sequence_id=1).gpu_counter_event
c.counter_descriptor_iid = 1
c.counters.add(counter_id=0, double_value=350.5)
c.counters.add(counter_id=1, int_value=3)
write("torch", torch)

ranks = pb.Trace()
for rank in (0, 1):
    process(ranks, 10 + rank, 1 + rank, f"rank {rank}: host")
    thread(ranks, 20 + rank, 10 + rank, 1 + rank, 5, "")
    row(ranks, 30 + rank, 20 + rank, "thread 5", "tid 5")
    event(ranks, INSTANT, 10 + rank, 5, "rank metadata", "stepscope",
          stepscopeRanks='{"distributedInfo": {"rank": %d, "world_size": 2}}' % rank)
    event(ranks, BEGIN, 20 + rank, 10, "a", "cpu_op")
    event(ranks, BEGIN, 30 + rank, 15, "b", "cpu_op")
    event(ranks, END, 20 + rank, 20)
    event(ranks, END, 30 + rank, 30)
write("ranks", ranks)

counters = pb.Trace()
row(counters, 1, 0, "power", counter=True)
event(counters, COUNTER, 1, 5).track_event.counter_value = 4
event(counters, COUNTER, 1, 6).track_event.double_counter_value = 0.5
event(counters, BEGIN, 2, 7, "gemm", "cuda_profiler_range", dram=0.25, sm=3, device=0)
event(counters, END, 2, 9)
write("counters", counters)

odd = pb.Trace()
row(odd, 1, 2, "a")
row(odd, 2, 1, "b")
event(odd, END, 1, 1)
event(odd, BEGIN, 1, 5, "x", "other", **{"Input_Dims": {"a": [True, 2.5, {"b": "c"}]}, "stream": "7"})
event(odd, INSTANT, 0, 6)
event(odd, 0, 1, 6)  # unspecified
packet = event(odd, BEGIN, 1, 1 << 63, "late")
packet = event(odd, BEGIN, 1, 7, "y")
packet.timestamp_clock_id = 99
packed = odd.packet.add()
packed.compressed_packets = zlib.compress(plain.SerializeToString())
write("odd", odd)

(OUT / "framing").write_bytes(plain.SerializeToString()[:60] + b"\x12\x03abc\x18\x01" + b"\x0a\xff\xff\xff\xff\x0f")
(OUT / "group").write_bytes(plain.SerializeToString() + b"\x0b\x00")
(OUT / "json").write_bytes(b'\n{"traceEvents": []}')
