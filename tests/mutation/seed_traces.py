# SPDX-License-Identifier: Apache-2.0
"""Small traces of a job, deterministic: what torch.profiler and Nsight Systems write of a few steps."""
import json
import os
import random
import sqlite3
import struct
import tempfile

BASE_NS = 1_711_964_646_000_000_000
STEPS = 3


def kineto(rank, ranks, late=0, sharded=False):
    """Three steps of one rank: forward, backward with collectives on a second stream, optimizer, memory events."""
    out, r = [], random.Random(rank)
    at = 1000.0 + 7 * rank
    count = [100]

    def row(cat, name, tid, begin, length, **args):
        out.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if tid < 100 else 10, "tid": tid,
                    "ts": round(begin, 3), "dur": round(length, 3), "args": args})

    def launch(host, device, length, kernel, stream=7, **args):
        count[0] += 1
        row("cuda_runtime", "cudaLaunchKernel", 110, host, 4, cbid=211, correlation=count[0])
        row("kernel", kernel, stream, device, length, device=0, context=1, stream=stream, correlation=count[0],
            **{"External id": count[0], "queued": 0, "grid": [8, 1, 1], "block": [128, 1, 1],
               "registers per thread": 64, **args})
        out.append({"ph": "s", "id": count[0], "pid": 10, "tid": 110, "ts": host, "cat": "ac2g", "name": "ac2g"})
        out.append({"ph": "f", "id": count[0], "pid": 0, "tid": stream, "ts": device, "cat": "ac2g", "name": "ac2g",
                    "bp": "e"})

    def collective(host, device, length, kind, name, n, seq):
        launch(host, device, length, "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)" % name, 20,
               **{"Collective name": kind, "In msg nelems": n, "Out msg nelems": n, "Group size": ranks,
                  "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg",
                  "Process Group Ranks": str(list(range(ranks))), "Seq": seq})

    for step in range(STEPS):
        begin, mine = at, at + (300 if rank == late else 0) + r.random()
        row("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 110, mine, 40)
        for layer in range(3):
            t = mine + 50 + 100 * layer
            row("user_annotation", "FSDP::forward (layer%d)" % layer if sharded else "forward layer%d" % layer, 110, t, 90)
            row("cpu_op", "aten::linear", 110, t + 1, 30, **{
                "External id": count[0] + 1, "Sequence number": 10 * step + layer, "Fwd thread id": 0,
                "Input Dims": [[64, 128], [128, 128], [128]], "Input type": ["c10::BFloat16"] * 3,
                "Ev Idx": count[0]})
            launch(t + 5, t + 20, 60, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n")
            if sharded:
                collective(t + 12, t + 30, 50, "_allgather_base", "AllGather_RING_LL", 4096, 20 * step + layer)
            launch(t + 40, t + 82, 9, "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>")
        for layer in range(3):
            t = mine + 360 + 100 * layer
            row("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 120, t, 60,
                **{"Sequence number": 10 * step + 2 - layer, "Fwd thread id": 1})
            launch(t + 5, t + 20, 75, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n")
            collective(t + 40, t + 96 if rank == late else t - 150, 60 if rank == late else 306, "allreduce",
                       "AllReduce_Sum_bf16_RING_LL", 1 << 20, 20 * step + 10 + layer)
        t = mine + 900
        row("user_annotation", "Optimizer.step#AdamW.step", 110, t, 90)
        launch(t + 5, t + 20, 40, "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>")
        row("cuda_runtime", "cudaStreamSynchronize", 110, t + 60, 25, cbid=131, correlation=count[0] + 5000)
        row("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 7, t + 70, 3, device=0, stream=7, bytes=4,
            **{"memory bandwidth (GB/s)": 0.01})
        row("cuda_sync", "Stream Wait Event", 20, t + 71, 1, stream=20, wait_on_stream=7, wait_on_cuda_event_record_corr_id=3)
        for bytes_ in (4096, -4096):
            out.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 10, "tid": 110,
                        "ts": t + 80, "args": {"Total Reserved": 1 << 20, "Total Allocated": 8192, "Device Id": 0,
                                               "Device Type": 1, "Addr": 139637976727552, "Bytes": bytes_}})
        row("user_annotation", "ProfilerStep#%d" % (step + 2), 110, begin, 1000 + 300)
        at += 1310
    out.append({"ph": "M", "name": "process_name", "ts": 0, "pid": 10, "tid": 0, "args": {"name": "python"}})
    out.append({"ph": "M", "name": "thread_name", "ts": 0, "pid": 10, "tid": 110, "args": {"name": "thread 110 (python)"}})
    head = {"schemaVersion": 1, "deviceProperties": [{
        "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_000_000_000, "computeMajor": 9,
        "computeMinor": 0, "numSms": 132}], "cuda_runtime_version": 12040, "record_shapes": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks, "pg_count": 1, "nccl_version": "2.22.3",
                            "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
                                           "pg_size": ranks, "ranks": list(range(ranks))}]},
        "host_name": "node%d" % (rank // 2), "baseTimeNanoseconds": BASE_NS}
    text = json.dumps(head)[:-1] + ', "traceEvents": [\n'
    return (text + ",\n".join(json.dumps(row) for row in out) + "\n]}\n").encode()


# Nsight Systems

def blob(schema, fields):
    return struct.pack("<QQQQ", 1, (1 << 24) + schema, len(fields), 32) + fields


def nsys(rank, ranks):
    """The export of one process: kernels, calls, NVTX ranges of steps, operators and NCCL, samples."""
    pid = 281474976710656 + ((7 + rank) << 24)
    tid = pid + 70
    tables = {
        "StringIds (id INTEGER PRIMARY KEY, value TEXT)": [
            (1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"), (2, "cudaLaunchKernel_v7000"), (3, "ncclAllReduce"),
            (4, "poll"), (5, "libc.so.6"), (6, "ncclCommInitRankConfig"), (7, "sm90_xmma_gemm_bf16"), (8, "MPI Rank %d" % rank)],
        "META_DATA_EXPORT (name TEXT, value TEXT)": [("EXPORT_SCHEMA_VERSION", "3.25.0")],
        "TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)": [(BASE_NS,)],
        "ANALYSIS_DETAILS (duration, startTime, stopTime)": [(9_000_000, 0, 9_000_000)],
        "TARGET_INFO_GPU (id, name TEXT, totalMemory, smCount)": [(0, "NVIDIA H100 80GB HBM3", 85_000_000_000, 132)],
        "ThreadNames (nameId, priority, globalTid)": [(8, 0, tid)]}
    kernels, calls, ranges, copies, waits = [], [], [], [], []
    ranges.append((1, 5, 59, None, 6, tid, 1, blob(11, struct.pack("<Qiiq", 99, ranks, rank, 1))))
    number = 10
    for step in range(STEPS):
        begin = 1_000_000 + 1_500_000 * step
        ranges.append((begin, begin + 1_400_000, 59, "iteration %d" % step, None, tid, 0, None))
        for layer in range(3):
            at, number = begin + 100_000 * layer + 1000 * rank, number + 1
            ranges.append((at, at + 60_000, 59, "aten::mm, seq = %d, op_id = %d, sizes = [[64, 64], [64, 64]]" % (layer, number),
                           None, tid, 0, None))
            calls.append((at + 10, at + 3000, 0, tid, number, 2, 0))
            kernels.append((at + 20_000, at + 90_000, 0, 1, 7, number, pid, 7, 7, 8, 1, 1, 128, 1, 1))
        at, number = begin + 400_000, number + 1
        ranges.append((at - 1000, at + 9000, 59, None, 3, tid, 1, blob(5, struct.pack("<QQq", 99, 4096, 0))))
        calls.append((at, at + 3000, 0, tid, number, 2, 0))
        kernels.append((at + 20_000, at + 500_000, 0, 1, 9, number, pid, 1, 1, 8, 1, 1, 128, 1, 1))
        number += 1
        calls.append((at + 600_000, at + 700_000, 0, tid, number, 2, 0))
        copies.append((at + 610_000, at + 690_000, 0, 1, 7, number, pid, 4096, 1, 0, 2))
        waits.append((at + 700_000, at + 720_000, 0, 1, 7, number, pid, 2))
    tables["CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, "
           "globalPid INT, demangledName INT, shortName INT, gridX, gridY, gridZ, blockX, blockY, blockZ)"] = kernels
    tables["CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT, "
           "returnValue INT)"] = calls
    tables["CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, "
           "globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT)"] = copies
    tables["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT, streamId INT, "
           "correlationId INT, globalPid INT, syncType INT)"] = waits
    tables["NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT, "
           "binaryData BLOB)"] = ranges
    tables["COMPOSITE_EVENTS (id, start, cpu, globalTid)"] = [(n, 100_000 * n, 0, tid) for n in range(1, 9)]
    tables["SAMPLING_CALLCHAINS (id, symbol, module, stackDepth)"] = [
        (n, symbol, 5, depth) for n in range(1, 9) for depth, symbol in enumerate((4, 2))]
    return database(tables)


def database(tables):
    handle, path = tempfile.mkstemp(suffix=".sqlite")
    os.close(handle)
    try:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA page_size=512")
        db.execute("BEGIN")
        for form, rows in tables.items():
            db.execute("CREATE TABLE " + form)
            if rows:
                db.executemany("INSERT INTO %s VALUES (%s)" % (form.split()[0], ",".join("?" * len(rows[0]))), rows)
        db.execute("COMMIT")
        db.close()
        with open(path, "rb") as file:
            return file.read()
    finally:
        os.unlink(path)
