#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_nsys_seeds.py DIR: writes the seeds of the fuzz target for exports of Nsight Systems into DIR/nsys: small
databases, and recipes from which nsys_fuzz.cc makes some."""
import random
import sqlite3
import struct
import sys
import tempfile
from pathlib import Path

OUT = Path(sys.argv[1]) / "nsys"
OUT.mkdir(parents=True, exist_ok=True)
PID = 281474976710656 + (7 << 24)
TID = PID + 70


def database(name, *statements):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.sqlite"
        db = sqlite3.connect(path)
        db.execute("PRAGMA page_size=512")
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()
        (OUT / name).write_bytes(path.read_bytes())


STRINGS = ["CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
           "INSERT INTO StringIds VALUES (1,'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),(2,'cudaLaunchKernel_v7000'),"
           "(3,'ncclAllReduce'),(4,'poll'),(5,'libc.so.6'),(6,'ncclCommInitRankConfig')"]
KERNELS = ["CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "
           "globalPid, demangledName, shortName)",
           f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100,150,0,1,7,11,{PID},1,1),(200,260,0,1,7,12,{PID},1,1)"]
CALLS = ["CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId)",
         f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (80,90,0,{TID},11,2),(180,190,0,{TID},12,2)"]


def payload(schema, fields):
    return "x'" + (struct.pack("<QQQQ", 1, (1 << 24) + schema, len(fields), 32) + fields).hex() + "'"


RANGES = ["CREATE TABLE NVTX_EVENTS (start, end, eventType, text TEXT, textId, globalTid, domainId, binaryData)",
          f"INSERT INTO NVTX_EVENTS VALUES (1,5,59,NULL,6,{TID},1,{payload(11, struct.pack('<Qiiq', 99, 2, 1, 0))}),"
          f"(78,95,59,NULL,3,{TID},1,{payload(5, struct.pack('<QQq', 99, 4096, 0))}),"
          f"(70,96,59,'aten::mm, seq = 3, op_id = 9, sizes = [[2, 2], []]',NULL,{TID},0,NULL),"
          f"(60,NULL,60,'iteration 4',NULL,{TID},0,NULL)"]
SESSION = ["CREATE TABLE META_DATA_EXPORT (name, value)",
           "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0')",
           "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs)",
           "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)",
           "CREATE TABLE ANALYSIS_DETAILS (duration, startTime, stopTime)",
           "INSERT INTO ANALYSIS_DETAILS VALUES (1000,5,1005)"]
CHAINS = ["CREATE TABLE COMPOSITE_EVENTS (id, start, cpu, globalTid)",
          f"INSERT INTO COMPOSITE_EVENTS VALUES (1,10,0,{TID}),(2,20,0,{TID})",
          "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth)",
          "INSERT INTO SAMPLING_CALLCHAINS VALUES (1,4,5,0),(1,2,5,1),(2,4,5,0)"]

database("whole", *SESSION, *STRINGS, *KERNELS, *CALLS, *RANGES)
database("kernels", *STRINGS, *KERNELS)
database("host", *SESSION, *STRINGS, *CALLS, *RANGES)
database("chains", *SESSION, *STRINGS, *CHAINS)
database("other", "CREATE TABLE moz_places (id, url)")
database("view", *SESSION, "CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start")
cut = (OUT / "whole").read_bytes()
(OUT / "cut").write_bytes(cut[:len(cut) // 2])
random.seed(5)
for n in range(12):
    (OUT / f"recipe{n}").write_bytes(bytes([0 if n < 6 else 130]) + random.randbytes(40 + 60 * n))

# Useful recipes: the tables and texts are numbered as in nsys_fuzz.cc.
TABLES = ("KERNEL RUNTIME NVTX_EVENTS StringIds MEMCPY MEMSET GRAPH_TRACE SYNCHRONIZATION CUDA_EVENT MEMORY_USAGE "
          "GPU_METRICS INFO_GPU_METRICS INFO_GPU INFO_CUDA_DEVICE SESSION_START ANALYSIS_DETAILS CAPTURE EXPORT "
          "SCHEMA_ENTRIES OSRT OSRT_CALLCHAINS SAMPLING_CALLCHAINS COMPOSITE ThreadNames PROCESSES MPI_RANKS SYSTEM_ENV DIAGNOSTIC").split()
ITERATION, ALL_REDUCE, SEND, RECV, START, END, INIT, SEND_RECV_KERNEL, MM, LAUNCH, MPI_RANK = range(96, 107)
ENVIRONMENT, RANK, COMMUNICATOR_ID = 108, 109, 111
(SUM, RANK_0, RANK_1, TO_0, TO_1, KERNEL_NAME, COMMAND, ARGUMENT, PER_NODE, WORLD, HOSTNAME, LOST, RANKS, GATHER,
 SCATTER, AS_TEXT, NODES_APART) = range(115, 132)
NULL = 255
PROCESS, THREAD = 162, 162  # process 0 and thread 0


def small(number):
    """A number up to 255 that is no small one."""
    return bytes([176, 0, number])


def recipe(name, *tables, first=0):
    text = bytearray([first])
    for table, *rows in tables:
        for at in range(0, len(rows), 5):
            some = rows[at:at + 5]
            text += bytes([TABLES.index(table), 255, len(some)])
            for row in some:
                for value in row:
                    text += value if isinstance(value, bytes) else bytes([value])
    (OUT / name).write_bytes(text)


def calls(*names):
    """One range for each name, 2 ns each, its text and its payload."""
    return ("NVTX_EVENTS", *[(1 + 2 * n, small(2 + 2 * n), small(59), text, NULL, THREAD, 0, blob)
                             for n, (text, blob) in enumerate(names)])


def launches(kernel, *begins):
    return (("RUNTIME", *[(at, at + 1, 0, THREAD, n + 1, 9) for n, at in enumerate(begins)]),
            ("KERNEL", *[(small(60 + 10 * n), small(65 + 10 * n), 0, 0, 7, n + 1, PROCESS, 8, 8)
                         for n in range(len(begins))]),
            ("StringIds", (8, kernel), (9, LAUNCH)))


def group(*inside):
    return calls((INIT, RANK_0), (START, NULL), *inside, (END, NULL))


recipe("group_of_two", group((ALL_REDUCE, SUM), (ALL_REDUCE, SUM)), *launches(KERNEL_NAME, 9, 10))
recipe("part", group((ALL_REDUCE, SUM), (ALL_REDUCE, SUM)), *launches(KERNEL_NAME, 9, 10), first=3)
recipe("group_in_one", group((ALL_REDUCE, SUM), (ALL_REDUCE, SUM)), *launches(KERNEL_NAME, 9))
recipe("group_mixed", group((ALL_REDUCE, SUM), (SEND, TO_1)), *launches(KERNEL_NAME, 9))
recipe("group_to_all", group((SEND, TO_0), (RECV, TO_0), (SEND, TO_1), (RECV, TO_1)), *launches(SEND_RECV_KERNEL, 13))
recipe("group_as_text", group((GATHER, AS_TEXT), (SCATTER, AS_TEXT)), *launches(KERNEL_NAME, 9, 10))
recipe("no_payload", group((ALL_REDUCE, NULL)), *launches(KERNEL_NAME, 7))
recipe("launcher", *launches(KERNEL_NAME, 1),
       ("CAPTURE", (ENVIRONMENT, RANK), (ENVIRONMENT, WORLD), (COMMAND, MPI_RANK),
        (ARGUMENT, PER_NODE), (ARGUMENT, NODES_APART), (ARGUMENT, 2)),
       ("SYSTEM_ENV", (HOSTNAME, ITERATION)), ("DIAGNOSTIC", (1, LOST)))
recipe("environment", *launches(KERNEL_NAME, 1), ("CAPTURE", (ENVIRONMENT, RANK), (ENVIRONMENT, WORLD)))
recipe("named", *launches(KERNEL_NAME, 1), ("PROCESSES", (PROCESS, MPI_RANK)), ("MPI_RANKS", (THREAD, 1)),
       ("NVTX_EVENTS", (1, NULL, small(39), MPI_RANK, NULL, THREAD, 0, NULL)))
recipe("schemas", group((ALL_REDUCE, SUM)), *launches(KERNEL_NAME, 7),
       ("SCHEMA_ENTRIES", (3, 18, COMMUNICATOR_ID, 0, 0), (3, 5, RANKS, 8, 1)))
