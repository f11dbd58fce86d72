# SPDX-License-Identifier: Apache-2.0
"""against_torch.py STEPSCOPE SNAPSHOT...: what PyTorch's own torch.cuda._memory_viz computes from snapshots against what
`stepscope memory` says of them: totals of segsum (as it prints them), the bytes of each line of its flame graph summed,
and the live requests at the peak. Needs PyTorch; run by hand."""
import json
import pickle
import subprocess
import sys

from torch.cuda import _memory_viz as viz


class PlainData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is no plain data")


def of_device(snapshot, device):
    return {"segments": [s for s in snapshot["segments"] if s["device"] == device]}


def flame_sums(snapshot):
    """Requested bytes of active blocks."""
    requested = 0
    for line in viz.memory(snapshot, format_flamegraph=lambda text: text).splitlines():
        path, _, size = line.rpartition(" ")
        if ";active" in path and not path.endswith("<gaps>"):
            requested += int(size)
    return requested


def requested_after(snapshot, device, event):
    """The memory that is alive after this number of events, by requests alone, from the end backwards."""
    now = sum(b["requested_size"] for s in snapshot["segments"] if s["device"] == device
              for b in s["blocks"] if b["state"] != "inactive")
    events = snapshot["device_traces"][device] if device < len(snapshot["device_traces"]) else []
    for e in reversed(events[event:]):
        if e["action"] == "alloc":
            now -= e["size"]
        elif e["action"] == "free_completed":
            now += e["size"]
    return now


def check(name, ours, theirs):
    print(f"  {name:<28} {ours!s:>22} {theirs!s:>22} {'equal' if ours == theirs else 'DIFFERENT'}")
    return ours == theirs


def compare(stepscope, path):
    run = subprocess.run([stepscope, "memory", path, "--json", "-"], capture_output=True, check=True)
    with open(path, "rb") as file:
        snapshot = PlainData(file).load()
    good = True
    for device in json.loads(run.stdout)["devices"]:
        own = of_device(snapshot, device["device"])
        end = device["end"]["memory"]
        said = dict(line.split(": ", 1) for line in viz.segsum(own).splitlines() if line.startswith("total_"))
        shown = {key: value.split(" (")[0] for key, value in said.items()}
        size = viz._format_size
        print(f"{path}, device {device['device']}: {device['events']} events, stepscope and torch")
        good &= check("reserved", size(end["reserved_bytes"]), shown["total_reserved"])
        good &= check("requested", size(end["requested_bytes"]), shown["total_allocated"])
        free = end["reserved_bytes"] - end["requested_bytes"]
        good &= check("free, rounding with it", size(free), shown["total_free"])
        good &= check("requested, flame graph", end["requested_bytes"], flame_sums(own))
        peak = device["peak"]
        good &= check("requested at the peak", peak["memory"]["requested_bytes"],
                      requested_after(snapshot, device["device"], peak["event"]))
    return good


if __name__ == "__main__":
    results = [compare(sys.argv[1], path) for path in sys.argv[2:]]
    sys.exit(0 if all(results) else 1)
