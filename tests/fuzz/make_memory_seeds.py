#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_memory_seeds.py DIR: writes the seeds of the memory snapshots' fuzz target: small snapshots, one for each
thing that PyTorch writes, as pickles of several protocols, JSON and pages."""
import base64
import json
import pickle
import sys
from pathlib import Path

MIB = 1 << 20
BASE = 0x7f0000000000
FORWARD = [{"name": "at::_ops::addmm::call(at::Tensor const&)", "filename": "??", "line": 0},
           {"name": "forward", "filename": "/w/model.py", "line": 3}]
BACKWARD = [{"name": "torch::autograd::generated::MmBackward0::apply(x)", "filename": "??", "line": 0}]
STEP = [{"name": "step", "filename": "/w/torch/optim/adamw.py", "line": 9}]


def block(size, state="inactive", requested=None, frames=(), **more):
    return {"size": size, "requested_size": size if requested is None else requested, "state": state,
            "frames": list(frames), **more}


def segment(address, size, blocks, **more):
    return {"device": 0, "address": address, "total_size": size, "stream": 0, "segment_type": "large",
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks, **more}


def event(action, addr, size, frames=(), **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1700000000000000 + addr % 97,
            "frames": list(frames), **more}


def snapshot(segments, events, **more):
    return {"segments": segments, "device_traces": [events], **more}


SETTINGS = {"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:4", "max_split_size": 200 * MIB,
            "expandable_segments": False, "roundup_power2_divisions": {str(2 ** i): 4 for i in range(16)}}
HALF = [block(10 * MIB, "active_allocated", 10 * MIB - 9, FORWARD), block(10 * MIB)]
WHOLE = snapshot([segment(BASE, 20 * MIB, HALF)],
                 [event("segment_alloc", BASE, 20 * MIB), event("alloc", BASE, 10 * MIB - 9, FORWARD),
                  event("alloc", BASE + 10 * MIB, 5 * MIB, BACKWARD),
                  event("free_requested", BASE + 10 * MIB, 5 * MIB, STEP),
                  event("free_completed", BASE + 10 * MIB, 5 * MIB), event("snapshot", 0, 0)],
                 allocator_settings=SETTINGS, external_annotations=[
                     {"stage": "START", "name": "step", "device": 0, "time_us": 1700000000000001}])
MIDDLE = snapshot([segment(BASE, 20 * MIB, HALF)],
                  [event("free_requested", BASE + 10 * MIB, 5 * MIB, BACKWARD),
                   event("free_completed", BASE + 10 * MIB, 5 * MIB),
                   event("segment_free", BASE + 64 * MIB, 2 * MIB, STEP),
                   event("segment_alloc", BASE + 128 * MIB, 2 * MIB, STEP),
                   event("segment_free", BASE + 128 * MIB, 2 * MIB, STEP),
                   {"action": "oom", "device_free": 7, "size": 12 * MIB, "stream": 0}])
GROWING = snapshot([segment(BASE, 40 * MIB, [block(40 * MIB)], is_expandable=True)],
                   [event("segment_map", BASE, 20 * MIB), event("segment_map", BASE + 20 * MIB, 40 * MIB),
                    event("segment_unmap", BASE + 40 * MIB, 20 * MIB)])
PENDING = snapshot([segment(BASE, 2 * MIB, [block(512, "active_pending_free"), block(2 * MIB - 512)],
                            segment_type="small", stream=7)], [event("free_requested", BASE, 500)])
HOST = {"segments": [], "device_traces": [[], []], "host_segments": [segment(BASE, 4096, [block(4096)])],
        "host_traces": [[event("alloc", BASE, 9)]]}
OLD = [{"device": 0, "address": BASE, "total_size": 2 * MIB, "stream": 0, "blocks": [
    {"size": 2 * MIB, "state": "active_allocated", "history": [{"addr": BASE, "real_size": 9, "frames": FORWARD}]}]}]
NAMED = snapshot([segment(BASE, 4096, [block(4096, "active_allocated", category="gradient")])],
                 [event("alloc", BASE, 4096, category="parameter")])


def main(folder):
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    cases = {"whole": WHOLE, "middle": MIDDLE, "growing": GROWING, "pending": PENDING, "host": HOST, "old": OLD,
             "named": NAMED}
    for number, (name, value) in enumerate(cases.items()):
        for protocol in {number % 6, 4}:
            (out / f"{name}{protocol}.pickle").write_bytes(pickle.dumps(value, protocol=protocol))
        (out / f"{name}.json").write_text(json.dumps(value))
    data = pickle.dumps(MIDDLE, protocol=4)
    data += b"\0" * (3 - len(data) % 3)
    page = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}])
    (out / "page.html").write_text(f"\n<!DOCTYPE html>\n<script>\nconst local_files = {page}\n</script>\n")
    (out / "escaped.json").write_text('{"segments": [], "device_traces": [[{"action": "\\u0061lloc", "addr": 1e3, '
                                      '"size": 5, "frames": [{"name": "\\ud83d\\ude00\\n", "line": NaN}]}]]}')
    (out / "hostile.pickle").write_bytes(b"\x80\x02}X\x08\x00\x00\x00segmentscos\nsystem\nX\x02\x00\x00\x00id\x85Rs.")


if __name__ == "__main__":
    main(sys.argv[1])
