#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_xplane_seeds.py DIR: writes the seeds of the fuzz target for profiles of XLA into DIR/xplane, by the wire format of
protocol buffers and the numbers of tsl/profiler/protobuf/xplane.proto."""
import sys
from pathlib import Path

OUT = Path(sys.argv[1]) / "xplane"
OUT.mkdir(parents=True, exist_ok=True)


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


def name(field, key, text):
    return data(field, number(1, key) + data(2, number(1, key) + data(2, text)))


def event(key, offset, duration, *statistics):
    return data(4, number(1, key) + number(2, offset) + number(3, duration) + b"".join(statistics))


def line(key, text, begin, *events):
    return data(3, number(1, key) + data(2, text) + number(3, begin) + b"".join(events))


def plane(text, *rest):
    return data(1, number(1, 1) + data(2, text) + b"".join(rest))


correlation = data(4, number(1, 2) + number(4, 77))
host = plane("/host:CPU", line(11, "main", 1000, event(1, 0, 900000, data(4, number(1, 5) + number(4, 3))),
                               event(2, 10000, 80000), event(3, 1, 2, data(4, number(1, 6) + number(7, 5)))),
             name(4, 1, "train"), name(4, 2, "$model.py:12 loss"), name(4, 3, "dot"), name(5, 5, "step_num"),
             name(5, 6, "hlo_op"))
calls = plane("/host:CUPTI", line(11, "main", 1000, event(1, 200000, 10000, correlation)),
              name(4, 1, "cuLaunchKernel"), name(5, 2, "correlation_id"))
device = plane("/device:GPU:1", line(13, "Stream #13(Compute)", 1000, event(1, 300000, 100000, correlation),
                                     event(2, 450000, 5000, data(4, number(1, 3) + data(5, "kind:x size:4")))),
               line(99, "XLA Modules", 1000, event(1, 3, 4)), name(4, 1, "fusion_3"), name(4, 2, "MemcpyH2D"),
               name(5, 2, "correlation_id"), name(5, 3, "memcpy_details"))
environment = plane("Task Environment", data(6, number(1, 4) + number(3, 1_763_900_000_000_000_000)),
                    name(5, 4, "profile_start_time"))
whole = host + calls + device + environment + data(4, "n1")
(OUT / "whole").write_bytes(whole)
(OUT / "cut").write_bytes((host + device)[:-40])
(OUT / "device").write_bytes(device)
(OUT / "tpu").write_bytes(plane("/device:TPU:0", line(1, "XLA Ops", 0, event(1, 0, 5)), name(4, 1, "fusion")))
