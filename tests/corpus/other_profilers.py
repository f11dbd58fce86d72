# SPDX-License-Identifier: Apache-2.0
"""Recordings of other profilers than PyTorch's: Nsight Systems, rocprofv3, XLA."""

import cProfile
import json
import sqlite3

INPUTS = {}
MS = 1_000_000  # ns


def file(name):
    def register(make):
        INPUTS[name] = make
        return make

    return register


# ---- Nsight Systems: the tables of an SQLite export --------------------------------------------------------------------
PID = 281474976710656 + (7 << 24)
TID = PID + 70


class Export:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.names = {}
        self.run("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        self.run("CREATE TABLE META_DATA_EXPORT (name, value)")
        self.run("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0')")
        self.run("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs)")
        self.run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)")
        self.run("CREATE TABLE ANALYSIS_DETAILS (duration, startTime, stopTime)")
        self.run("INSERT INTO ANALYSIS_DETAILS VALUES (100000000,5,100000005)")
        self.run("CREATE TABLE TARGET_INFO_GPU (id, name, totalMemory)")
        self.run("INSERT INTO TARGET_INFO_GPU VALUES (0,'NVIDIA A100-SXM4-40GB',42405855232)")
        self.run(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId)"
        )

    def run(self, text, values=()):
        self.db.execute(text, values)

    def name(self, text):
        if text not in self.names:
            self.names[text] = len(self.names) + 1
            self.run("INSERT INTO StringIds VALUES (?,?)", (self.names[text], text))
        return self.names[text]

    def call(self, start, end, name, correlation=0):
        self.run(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?)",
            (start, end, TID, correlation, self.name(name)),
        )

    def kernels(self):
        self.run(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "
            "globalPid, demangledName, shortName)"
        )

    def kernel(self, start, end, name, correlation):
        self.run(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,?,?)",
            (start, end, correlation, PID, self.name(name), self.name(name)),
        )

    def ranges(self):
        self.run(
            "CREATE TABLE NVTX_EVENTS (start, end, eventType, text TEXT, textId, globalTid, domainId)"
        )

    def range(self, start, end, text):
        self.run("INSERT INTO NVTX_EVENTS VALUES (?,?,59,?,NULL,?,0)", (start, end, text, TID))

    def close(self):
        self.db.commit()
        self.db.close()


@file("nsys_without_kernels.sqlite")
def nsys_without_kernels(path):
    export = Export(path)
    export.call(1 * MS, 20 * MS, "cuInit")
    export.call(30 * MS, 31 * MS, "cuStreamCreate")
    export.close()


@file("nsys_only_ranges.sqlite")
def nsys_only_ranges(path):
    export = Export(path)
    export.ranges()
    for n in range(4):
        export.range((1 + 10 * n) * MS, (11 + 10 * n) * MS, f"iteration {n}")
    export.close()


def nsys(path, steps, graph=False):
    export = Export(path)
    export.kernels()
    if steps:
        export.ranges()
    correlation = 10
    for n in range(4):
        begin = (1 + 10 * n) * MS
        device = begin + 20_000
        for k in range(4):
            correlation += 1
            call = begin + k * 20_000
            export.call(
                call,
                call + 8_000,
                "cudaGraphLaunch_v10000" if graph else "cudaLaunchKernel_v7000",
                correlation,
            )
            export.kernel(
                device,
                device + 2 * MS,
                "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
                correlation,
            )
            device += 2 * MS
        if steps:
            export.range(begin, begin + 10 * MS, f"iteration {n}")
    export.close()


INPUTS["nsys_steps.sqlite"] = lambda path: nsys(path, True)
INPUTS["nsys_window.sqlite"] = lambda path: nsys(path, False)


# One kernel on managed memory: 200 page faults move pages while it runs.
@file("nsys_managed.sqlite")
def nsys_managed(path):
    export = Export(path)
    export.kernels()
    export.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, "
        "globalPid, bytes, copyKind, srcKind, dstKind, migrationCause)"
    )
    export.call(1 * MS, 21 * MS, "cudaMallocManaged_v6000")
    export.call(30 * MS, 31 * MS, "cudaLaunchKernel_v7000", 9)
    export.kernel(31 * MS, 90 * MS, "add", 9)
    for n in range(200):
        begin = 32 * MS + n * 200_000
        export.run(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,7,0,?,65536,11,7,7,2)",
            (begin, begin + 10_000, PID),
        )
    export.close()


# A memset after the context was created, in half a second.
# The host computes between its calls. Only the calls have rows.
@file("nsys_host_computes.sqlite")
def nsys_host_computes(path):
    export = Export(path)
    export.kernels()
    export.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
        "bytes, copyKind, srcKind, dstKind)"
    )
    for n in range(10):
        begin = (1 + 40 * n) * MS
        export.call(begin, begin + 50_000, "cuMemcpyHtoDAsync_v2", 100 + n)
        export.run(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,7,?,?,1000000,1,1,2)",
            (begin + 60_000, begin + 8 * MS, 100 + n, PID),
        )
        export.call(begin + 60_000, begin + 80_000, "cuLaunchKernel", 200 + n)
        export.kernel(begin + 8 * MS, begin + 9 * MS, "kmeans", 200 + n)
        export.call(begin + 90_000, begin + 9 * MS, "cuStreamSynchronize", 300 + n)
    export.close()


@file("nsys_start_up.sqlite")
def nsys_start_up(path):
    export = Export(path)
    export.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, "
        "globalPid, bytes, memKind)"
    )
    export.call(1 * MS, 120 * MS, "cudaFree_v3020")
    export.call(400 * MS, 401 * MS, "cudaMemsetAsync_v3020", 9)
    export.run(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,0,1,7,9,?,64,2)",
        (401 * MS, 401 * MS + 1500, PID),
    )
    export.close()


@file("nsys_capture_empty.sqlite")
def nsys_capture_empty(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("CREATE TABLE TARGET_INFO_GPU (id, name, totalMemory)")
    db.commit()
    db.close()


@file("nsys_empty.sqlite")
def nsys_empty(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE other (x)")
    db.commit()
    db.close()


@file("rocpd_results.db")
def rocpd(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE rocpd_kernel_dispatch (id)")
    db.commit()
    db.close()


@file("ascend_pytorch_profiler_0.db")
def ascend_database(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE CANN_API (startNs, endNs)")
    db.commit()
    db.close()


@file("folder_of_ascend")
def folder_of_ascend(path):
    path.mkdir()
    ascend_database(path / "ascend_pytorch_profiler_0.db")


def text(name, lines):
    INPUTS[name] = lambda path: path.write_text(lines, encoding="utf-8")


text("nvprof.txt", "epoch 1\n==7== NVPROF is profiling process 7, command: ./train\n==7== Profiling result:\n")
text(
    "cprofile.txt",
    "   612 function calls in 0.700 seconds\n\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n",
)
text(
    "simple_profiler.txt",
    "FIT Profiler Report\n\nAction  \t|  Mean duration (s)\t|Num calls \t|\nbackward \t|  0.5 \t|10 \t|\n",
)
text(
    "kernel_details.csv",
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n1,MatMul7,MatMul,AI_CORE,10.0,5.0\n",
)
text(
    "step_trace_time.csv",
    "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n7,100.0,50.0,5.0,55.0,20.0\n",
)


@file("program.prof")
def program_prof(path):
    profile = cProfile.Profile()
    profile.runcall(json.dumps, [1])
    profile.dump_stats(path)


@file("nsys_export.json")
def nsys_export(path):
    path.write_text(
        '{"data":["a","b"]}\n{"Type":48,"CudaEvent":{"startNs":"1","endNs":"2"}}\n',
        encoding="utf-8",
    )


# ---- rocprofv3 ---------------------------------------------------------------------------------------------------------
def rocprof(path, calls=True, marks=True):
    kinds = [
        {"kind": "NONE", "operations": []},
        {"kind": "HIP_RUNTIME_API", "operations": ["hipFree", "hipLaunchKernel"]},
        {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
        {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
        {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "KERNEL_DISPATCH_COMPLETE"]},
    ]
    kernels, api, markers, texts = [], [], [], []
    correlation = 0
    for n in range(4):
        begin = (1 + 10 * n) * MS
        for k in range(4):
            correlation += 1
            api.append(
                {
                    "kind": 1,
                    "operation": 1,
                    "thread_id": 41,
                    "correlation_id": {"internal": correlation, "external": 0},
                    "start_timestamp": begin + k * 20_000,
                    "end_timestamp": begin + k * 20_000 + 8_000,
                }
            )
            start = begin + 30_000 + k * 2 * MS
            kernels.append(
                {
                    "kind": 4,
                    "operation": 1,
                    "thread_id": 41,
                    "stream_id": {"handle": 5},
                    "correlation_id": {"internal": correlation, "external": 0},
                    "start_timestamp": start,
                    "end_timestamp": start + 2 * MS,
                    "dispatch_info": {
                        "agent_id": {"handle": 92},
                        "queue_id": {"handle": 1},
                        "kernel_id": 7,
                    },
                }
            )
        correlation += 1
        texts.append({"key": correlation, "value": f"iteration {n}"})
        markers.append(
            {
                "kind": 2,
                "operation": 1,
                "thread_id": 41,
                "correlation_id": {"internal": correlation},
                "start_timestamp": begin,
                "end_timestamp": begin + 10 * MS - 1000,
            }
        )
    record = {
        "metadata": {"pid": 40, "node": {"hostname": "n1"}},
        "strings": {"buffer_records": kinds, "marker_api": texts},
        "agents": [
            {"id": {"handle": 90}, "type": 1, "name": "EPYC"},
            {
                "id": {"handle": 92},
                "type": 2,
                "name": "gfx942",
                "product_name": "AMD Instinct MI300X",
            },
        ],
        "kernel_symbols": [
            {
                "kernel_id": 7,
                "kernel_name": "gemm.kd",
                "formatted_kernel_name": "Cijk_Alik_Bljk_BBS_BH_MT128x128x64_MI32x32x8x1_SN",
            }
        ],
        "buffer_records": {
            "kernel_dispatch": kernels,
            **({"hip_api": api} if calls else {}),
            **({"marker_api": markers} if marks else {}),
        },
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [record]}), encoding="utf-8")


INPUTS["rocprof_steps.json"] = rocprof
INPUTS["rocprof_without_calls.json"] = lambda path: rocprof(path, calls=False, marks=False)
INPUTS["rocprof_without_marks.json"] = lambda path: rocprof(path, marks=False)


# ---- XLA: protocol buffers by the numbers of tsl/profiler/protobuf/xplane.proto -----------------------------------------
def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def named(field, key, text):
    return data(field, number(1, key) + data(2, number(1, key) + data(2, text)))


def event(key, offset_ns, duration_ns, *statistics):
    return data(
        4,
        number(1, key)
        + number(2, offset_ns * 1000)
        + number(3, duration_ns * 1000)
        + b"".join(statistics),
    )


def line(key, text, *events):
    return data(
        3, number(1, key) + data(2, text) + number(3, 1_763_900_000_000_000_000) + b"".join(events)
    )


def plane(text, *rest):
    return data(1, number(1, 1) + data(2, text) + b"".join(rest))


def correlated(n):
    return data(4, number(1, 2) + number(4, n))


def xla(path, call, calls_plane, steps=True, devices=1, tensorflow=False):
    """Four steps of four kernels a device; the host launches them in the first tenth of each step."""
    host, on_device, marks = [], [[] for _ in range(devices)], []
    correlation = 0
    for n in range(4):
        begin = n * 10 * MS
        if steps:
            marks.append(event(1, begin, 10 * MS - 1000, data(4, number(1, 5) + number(4, n))))
        for k in range(4):
            for d in range(devices):
                correlation += 1
                host.append(
                    event(
                        2, begin + 1000 + (k * devices + d) * 20_000, 8_000, correlated(correlation)
                    )
                )
                on_device[d].append(
                    event(3, begin + 400_000 + k * 2 * MS, 2 * MS, correlated(correlation))
                )
    if tensorflow:
        marks.append(event(4, 500, 400))
    names = [
        named(4, 1, "train"),
        named(4, 2, call),
        named(4, 3, "gemm_fusion_dot"),
        *([named(4, 4, "ExecutorState::Process")] if tensorflow else []),
        named(5, 2, "correlation_id"),
        named(5, 5, "step_num"),
    ]
    out = plane("/host:CPU", line(11, "main", *marks, *([] if calls_plane else host)), *names)
    if calls_plane:
        out += plane(calls_plane, line(11, "main", *host), *names)
    for d in range(devices):
        out += plane(f"/device:GPU:{d}", line(13, "Stream #13(Compute)", *on_device[d]), *names)
    path.write_bytes(out)


INPUTS["jax_cuda.xplane.pb"] = lambda path: xla(path, "cuLaunchKernel", "/host:CUPTI")
INPUTS["jax_rocm_calls_plane.xplane.pb"] = lambda path: xla(
    path, "hipModuleLaunchKernel", "/host:ROCTRACER"
)
INPUTS["jax_rocm_host_plane.xplane.pb"] = lambda path: xla(path, "hipModuleLaunchKernel", None)
INPUTS["jax_window.xplane.pb"] = lambda path: xla(
    path, "cuLaunchKernel", "/host:CUPTI", steps=False
)
INPUTS["tensorflow_window.xplane.pb"] = lambda path: xla(
    path, "cuLaunchKernel", "/host:CUPTI", steps=False, tensorflow=True
)
INPUTS["jax_four_devices.xplane.pb"] = lambda path: xla(
    path, "cuLaunchKernel", "/host:CUPTI", devices=4
)


@file("tpu.xplane.pb")
def tpu(path):
    path.write_bytes(
        plane("/device:TPU:0", line(1, "XLA Ops", event(1, 0, 5)), named(4, 1, "fusion"))
    )


@file("cut.xplane.pb")
def cut(path):
    path.write_bytes(
        plane("/host:CPU", line(11, "main", event(1, 0, 5)), named(4, 1, "train"))[:30]
    )
