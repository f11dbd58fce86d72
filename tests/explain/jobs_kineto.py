# SPDX-License-Identifier: Apache-2.0
"""Traces of simulated ranks as torch.profiler writes them: one JSON file per rank."""
import gzip
import json
import os

from jobs_simulation import BACKWARD, COMPUTE, MAIN
from jobs_training import CALLS

BASE_NS = 1759300074000000000
CALLED = {  # category, name, cbid of runtime and driver calls
    "launch": ("cuda_runtime", "cudaLaunchKernel", 211), "launch_driver": ("cuda_driver", "cuLaunchKernel", 307),
    "comm": ("cuda_runtime", "cudaLaunchKernelExC", 430), "comm_driver": ("cuda_driver", "cuLaunchKernelEx", 652),
    "copy": ("cuda_runtime", "cudaMemcpyAsync", 41), "event_record": ("cuda_runtime", "cudaEventRecord", 135),
    "event_wait": ("cuda_runtime", "cudaStreamWaitEvent", 147),
    "stream_sync": ("cuda_runtime", "cudaStreamSynchronize", 131),
    "device_sync": ("cuda_runtime", "cudaDeviceSynchronize", 165),
    "event_sync": ("cuda_runtime", "cudaEventSynchronize", 137), "free": ("cuda_runtime", "cudaFree", 22)}
HIP = {"cudaLaunchKernelExC": "hipExtLaunchKernel", "cuLaunchKernelEx": "hipExtLaunchKernel",
       "cuLaunchKernel": "hipModuleLaunchKernel", "cudaMemcpyAsync": "hipMemcpyWithStream"}


def comm_kernel(kind, old):
    name = CALLS[kind][2]
    if old:
        return "ncclKernel_%s_RING_%s(ncclDevComm*, unsigned long, ncclWork*)" % (
            name, "SIMPLE_Sum_int8_t" if name == "SendRecv" else "LL_Sum___nv_bfloat16")
    if name in ("AllReduce", "ReduceScatter"):
        name += "_Sum_bf16_RING_LL"
    elif name != "SendRecv":
        name += "_RING_LL"
    return "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)" % name


def origin_of(job):
    """The first instant of the simulation in nanoseconds, as the files count them."""
    return 2629566610048195 + (BASE_NS if job.style["base"] == "old" else 0)


class Writer:
    """Text of one rank's trace."""

    def __init__(self, job, rank, graph):
        self.job, self.rank, self.graph, self.style = job, rank, graph, job.style
        n = rank.number
        self.pid, self.device = 4000 + 7 * n, n % 8
        self.tids = (self.pid, self.pid + 421)
        offset, drift = job.clock[n]
        self.shift, self.rate = offset * 1000.0, 1000.0 * (1.0 + drift)
        self.origin = origin_of(job)
        self.out, self.described = [], {}
        self.amd = self.style["device"][0].startswith("AMD")

    def ns(self, us):
        return round(us * self.rate + self.shift) + self.origin

    def event(self, cat, name, pid, tid, begin, end, args):
        a, b = self.ns(begin), self.ns(max(begin, end))
        self.out.append('{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%d.%03d,"dur":%d.%03d%s}' % (
            cat, name, pid, tid, a // 1000, a % 1000, (b - a) // 1000, (b - a) % 1000,
            ',"args":{%s}' % args if args else ""))

    def comm_args(self, args):
        """What PyTorch says of a collective."""
        if args is None:
            return ""
        kind, g, elements, n, peer = args
        text = self.described.get((kind, g.index, elements, peer))
        if text is None:
            size = len(g.ranks)
            into = elements // size if kind == "all_gather" else elements
            out = elements // size if kind == "reduce_scatter" else elements
            fields = {"Collective name": CALLS[kind][3], "In msg nelems": into, "Out msg nelems": out,
                      "Group size": size, "dtype": "BFloat16"}
            if self.style["rich"]:
                fields.update({"In split size": "[]", "Out split size": "[]"})
            if self.style["rank_args"]:
                stride = g.ranks[1] - g.ranks[0]
                fields["Rank"] = self.rank.number
                if all(b - a == stride for a, b in zip(g.ranks, g.ranks[1:])) and stride > 0:
                    fields.update({"Global rank start": g.ranks[0], "Global rank stride": stride})
            fields["Process Group Name"] = g.name
            fields["Process Group Description"] = g.desc
            listed = ", ".join(map(str, g.ranks[:30]))
            fields["Process Group Ranks"] = "[%s%s]" % (listed, ", ..." if size > 30 else "")
            if peer is not None and self.style["peers"]:
                fields["Dst Rank" if kind == "send" else "Src Rank"] = peer
            text = self.described[kind, g.index, elements, peer] = json.dumps(fields)[1:-1]
        return text + (', "Seq": %d' % n if self.style["seq"] else "")

    def host_row(self, row):
        cat, name, thread, a, off, b, back, args = row
        begin, end = self.graph.end[a] + off, self.graph.end[b] + back
        text, category = "", "cpu_op"
        if cat == "op":
            ext, seq = args if isinstance(args, tuple) else (args, None)
            text = '"External id": %d' % ext
            if seq is not None and self.style["sequence"]:
                text += ', "Sequence number": %d, "Fwd thread id": %d' % (seq, int(thread == BACKWARD))
            if self.style["nested"]:
                begin, end, name = self.outer_ops(name, begin, end, thread, ext, text)
        elif cat == "runtime":
            call, ext = args
            if name == "launch_comm":
                name = "comm_driver" if self.style["driver_launch"] else "comm"
            category, name, cbid = CALLED[name]
            text = '"cbid": %d, "correlation": %d' % (cbid, call)
            if self.amd:
                category, name = "cuda_runtime", HIP.get(name, name.replace("cuda", "hip"))
            if ext is not None:
                text += ', "External id": %d' % ext
            if self.style["flows"] and cbid in (211, 307, 430, 652, 41):
                self.flow("s", call, self.pid, self.tids[thread], begin)
        elif cat == "comms":
            ext, record = args
            text = '"External id": %d, %s' % (ext, self.comm_args(record))
        elif cat == "comm_op":
            ext, _ = args
            name = CALLS[name][0]
            text = '"External id": %d' % ext
        elif cat == "comm_note":
            category, name = "user_annotation", self.note(name, args[1])
        else:
            category = cat
        self.event(category, name, self.pid, self.tids[thread], begin, end, text)

    def outer_ops(self, name, begin, end, thread, ext, text):
        """Rows of the operators around the one that launches; where that one begins, where it ends, its name."""
        outer = "autograd::engine::evaluate_function: "
        names = [name]
        if name.startswith(outer):
            grad = name[len(outer):]
            names = [name, grad, "aten::mm" if grad == "MmBackward0" else "aten::%s_backward" % grad[:-9].lower()]
        elif name == "aten::mm" and thread == MAIN:
            names = ["aten::linear", "aten::matmul", name]
        for n, around in enumerate(names[:-1]):
            self.event("cpu_op", around, self.pid, self.tids[thread], begin + 0.04 * n, end - 0.04 * n,
                       text.replace('"External id": %d' % ext, '"External id": %d' % (ext + 10**7 * (n + 1)), 1))
        inside = 0.04 * (len(names) - 1)
        return begin + inside, end - inside, names[-1]

    def note(self, kind, args):
        text = CALLS[kind][1]
        if "%" in text:
            _, g, _, _, peer = args
            text %= (g.ranks.index(self.rank.number), g.ranks.index(peer))
        return text

    def flow(self, ph, call, pid, tid, at):
        ns = self.ns(at)
        self.out.append('{"ph":"%s","id":%d,"pid":%d,"tid":%d,"ts":%d.%03d,"cat":"ac2g","name":"ac2g"%s}' % (
            ph, call, pid, tid, ns // 1000, ns % 1000, ',"bp":"e"' if ph == "f" else ""))

    def device_row(self, row):
        cat, name, stream, a, b, call, ext, args, _ = row
        begin, end = self.span(row)
        if cat == "cuda_sync":
            self.event("cuda_sync", "Stream Wait Event", self.device, stream, end - 1.0, end - 0.4,
                       '"cuda_sync_kind": "Stream Wait Event", "stream": %d, "correlation": %d, "device": %d, '
                       '"context": 1, "wait_on_stream": %d, "wait_on_cuda_event_record_corr_id": %d, '
                       '"wait_on_cuda_event_id": %d' % (stream, call, self.device, name, ext, ext % 1000 + 1))
            return
        text = '"External id": %d, "device": %d, "context": 1, "stream": %d, "correlation": %d' % (
            ext, self.device, stream, call)
        if cat == "gpu_memcpy":
            text += ', "bytes": %d, "memory bandwidth (GB/s)": %.3f' % (args, args / max(end - begin, 0.1) / 1e3)
        elif cat == "comm":
            if self.style["gpu_notes"]:
                self.event("gpu_user_annotation", self.note(name, args), self.device, stream, begin - 0.001,
                           end + 0.001, '"External id": %d' % ext)
            name = ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)" if self.amd else
                    comm_kernel(name, self.style["old_nccl"]))
            said = self.comm_args(args)
            text += ", " + said if said else ""
        if cat != "gpu_memcpy" and self.style["rich"]:
            grid = 24 if cat == "comm" else 64 + len(name) * 8
            text += (', "queued": 0, "registers per thread": 96, "shared memory": 49152, "blocks per SM": %.4f, '
                     '"warps per SM": %.4f, "grid": [%d, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %%": 25'
                     % (grid / 132.0, grid / 16.5, grid))
        if self.style["flows"]:
            self.flow("f", call, self.device, stream, begin)
        self.event("gpu_memcpy" if cat == "gpu_memcpy" else "kernel", name, self.device, stream, begin, end, text)

    def span(self, row):
        """When a row of the device begins and ends."""
        _, _, _, a, b = row[:5]
        return (self.graph.begin[b] if a == b else self.graph.end[a]), self.graph.end[b]

    def text(self):
        job, rank, graph = self.job, self.rank, self.graph
        first, last = job.late.get(rank.number, 0), job.steps - (rank.number in job.short) - 1
        begin, end = graph.end[rank.steps[first][0]], graph.end[rank.steps[last][1]]
        whole = last == job.steps - 1  # the last call of a capture waits for the device
        for row in rank.rows:
            at = graph.end[row[3]]
            if begin <= at and (at < end or whole):
                self.host_row(row)
        ends = end
        for row in rank.device_rows:
            at = self.span(row)
            if at[0] >= begin and row[8] <= last:
                self.device_row(row)
                ends = max(ends, at[1])
        if self.style["gpu_notes"]:
            for step in range(first, last + 1):
                spans = [self.span(row) for row in rank.device_rows if row[8] == step and row[2] == COMPUTE
                         and row[0] == "kernel"]
                self.event("gpu_user_annotation", "ProfilerStep#%d" % (job.first_step + step), self.device, COMPUTE,
                           spans[0][0] - 0.001, spans[-1][1] + 0.001, "")
        self.frame(begin - 20, max(ends, graph.end[rank.host] if whole else ends) + 20)
        head = self.head()
        return json.dumps(head)[:-1] + ', "traceEvents": [\n' + ",\n".join(self.out) + "\n]}\n"

    def frame(self, begin, end):
        """Rows about the capture itself."""
        a, b = self.ns(begin), self.ns(end)
        for pid, label in ((self.pid, "CPU"), (self.device, "GPU %d" % self.device)):
            for name, arg, value in (("process_name", "name", "python"), ("process_labels", "labels", label)):
                self.out.append('{"name":"%s","ph":"M","ts":%d.%03d,"pid":%d,"tid":0,"args":{"%s":"%s"}}' % (
                    name, a // 1000, a % 1000, pid, arg, value))
        self.out.append('{"ph":"X","cat":"Trace","ts":%d.%03d,"dur":%d.%03d,"pid":"Spans","tid":"PyTorch Profiler",'
                        '"name":"PyTorch Profiler (0)","args":{"Op count": 0}}' % (
                            a // 1000, a % 1000, (b - a) // 1000, (b - a) % 1000))
        for at, name in ((a, "Iteration Start: PyTorch Profiler"), (b, "Record Window End")):
            self.out.append('{"name":"%s","ph":"i","s":"g","pid":"Traces","tid":"Trace PyTorch Profiler",'
                            '"ts":%d.%03d}' % (name, at // 1000, at % 1000))

    def head(self):
        job, n = self.job, self.rank.number
        name, major, minor, sms, memory = self.style["device"]
        head = {"schemaVersion": 1, "deviceProperties": [
            {"id": d, "name": name, "totalGlobalMem": memory, "computeMajor": major, "computeMinor": minor,
             "numSms": sms} for d in range(min(8, job.world))]}
        info = {"backend": "nccl", "rank": n, "world_size": job.world}
        if self.style["config"] != "none":
            mine = [g for g in job.groups if n in g.members]
            world = [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo,cuda:nccl",
                      "pg_size": job.world, "ranks": list(range(job.world))}]
            config = world + [{"pg_name": g.name, "pg_desc": g.desc, "backend_config": "cuda:nccl",
                               "pg_size": len(g.ranks), "ranks": list(g.ranks)} for g in mine if g.name != "0"]
            if self.style["config"] == "strings":
                for c in config:
                    c["ranks"] = str(c["ranks"])
            info.update({"pg_count": len(config), "pg_config": config, "nccl_version": "2.27.5"})
        head["distributedInfo"] = info
        head["displayTimeUnit"] = "ms"
        if self.style["base"] == "new":
            head["baseTimeNanoseconds"] = BASE_NS
        return head


def file_name(job, n):
    name = {"worker": "worker%d.pt.trace.json" % n, "rank_trace": "rank%d_trace.json" % n,
            "host_pid": "node%02d_%d.1759302704%03d.pt.trace.json" % (n // 8, 4000 + 7 * n, n),
            "rank": "rank_%04d.json" % n}[job.style["files"]]
    return name + (".gz" if job.style["gzip"] else "")


def write_traces(job, ranks, graph, folder):
    os.makedirs(folder, exist_ok=True)
    for rank in ranks:
        text = Writer(job, rank, graph).text().encode()
        with open(os.path.join(folder, file_name(job, rank.number)), "wb") as f:
            f.write(gzip.compress(text, 1, mtime=0) if job.style["gzip"] else text)
