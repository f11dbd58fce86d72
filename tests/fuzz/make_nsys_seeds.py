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
