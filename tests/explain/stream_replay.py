#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A replay of one GPU's trace that shares nothing with the program: stream_replay.py TRACE... [--json].

It is written from how a GPU works, not from the program's graph:

  stream     Operations of a stream run in the order of their launch, one after the other. An operation that begins
             before the one before it has ended (programmatic dependent launch) still follows it: what it does until
             then does not count, so the earlier one is as long as the stream stands for it.
  launch     An operation begins no earlier than its call has handed it over.
  wait       A stream that stands idle although its next operation was handed over long ago waits for an event: for the
             operation of another stream that ended last before. A kernel of NCCL waits for what was launched last
             on another stream before it.
  call       A call that waits (copies to pageable memory, synchronisation) returns after the operations it waits
             for. A launch waits for room if hundreds of operations are queued.
  host       Between two such calls the host works, and from the last one to the end of the last step. All threads
             together are one host, since PyTorch's threads take turns.

The time that an operation begins later than all of this belongs to the condition that came last: to the launch
(latency), to the stream (the gap between two kernels) or to the awaited operation. A change makes compute or the host
faster and keeps the rest.

A step ends with the last operation that it launched. The time of a step is the mean from one end to the next; of one
step, from its first operation to its last or to the end of its annotation.

Prints for each trace the measured step and what `compute:2` and `host_free` save of it."""
import argparse
import bisect
import collections
import gzip
import json
import re
import sys

NEVER = float("-inf")
SOON = 20.0  # µs from the end of an awaited operation to what waited for it
LONG_CALL = 20.0  # µs: a launch that takes longer, and five times the usual, may wait for room
QUEUED = 200  # operations launched and not ended, at least, when a launch waits for room
WAITS = re.compile(r"Synchronize|EventWait|QueueFinish|Memcpy(?!.*Async)")
LOADS = re.compile(r"^enumerate\(DataLoader\)|DataLoaderIter|^\[pl\].*(next|fetch)")
KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "copy", "memset": "copy"}


class Operation:
    __slots__ = ("start", "end", "name", "stream", "correlation", "call", "compute", "before", "waits", "gap", "reach",
                 "latency", "later", "step", "new_start", "new_end")


class Call:
    __slots__ = ("start", "end", "name", "thread", "correlation", "operations", "blocks", "waits", "returns", "own",
                 "work", "kept", "new_start", "new_end")


def events_of(path):
    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        tree = json.loads(file.read().decode("utf-8", "replace"), strict=False)
    events = tree["traceEvents"] if isinstance(tree, dict) else tree
    return [e for e in events if e.get("ph") == "X" and "ts" in e]


def category(event):
    return str(event.get("cat", "")).lower()


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


class Replay:
    """The operations and calls of one GPU, with what each waits for."""

    def __init__(self, events):
        first = min(float(e["ts"]) for e in events)
        self.steps = []  # start on the host
        self.loading = []
        self.operations, self.calls = [], []
        for event in events:
            start, length = float(event["ts"]) - first, float(event.get("dur", 0))
            kind, name, words = category(event), str(event.get("name", "")), event.get("args") or {}
            if kind in KINDS:
                self.operations.append(self.operation(start, length, name, KINDS[kind], event, words))
            elif "runtime" in kind or "driver" in kind:
                self.calls.append(self.call(start, length, name, event, words))
            elif name.startswith("ProfilerStep") and "gpu" not in kind:
                self.steps.append((start, start + length))
            elif LOADS.search(name) and "gpu" not in kind:
                self.loading.append((start, start + length))
        self.steps = sorted(set(self.steps))
        self.operations.sort(key=lambda o: (o.start, o.end))
        self.calls.sort(key=lambda c: c.start)
        self.join_calls()
        self.leave_steps()
        self.order_streams()
        self.find_waiting_calls()
        self.find_waiting_streams()
        self.find_delays()

    @staticmethod
    def operation(start, length, name, kind, event, words):
        o = Operation()
        o.start, o.end, o.name = start, start + length, name
        o.stream = (words.get("device", event.get("pid")), words.get("stream", event.get("tid")))
        o.correlation = words.get("correlation")
        o.compute = kind == "kernel" and not re.search("nccl|rccl", name, re.I)
        o.call, o.before, o.waits, o.step = None, None, [], -1
        o.gap = o.reach = o.latency = o.later = 0.0
        return o

    @staticmethod
    def call(start, length, name, event, words):
        c = Call()
        c.start, c.end, c.name = start, start + length, name
        c.thread, c.correlation = (event.get("pid"), event.get("tid")), words.get("correlation")
        c.operations, c.waits, c.returns = [], [], 0.0
        c.blocks = bool(WAITS.search(name))
        return c

    def join_calls(self):
        by_correlation = {c.correlation: c for c in self.calls if c.correlation}
        for o in self.operations:
            o.call = by_correlation.get(o.correlation)
            if o.call is None:
                continue
            o.call.operations.append(o)
            # A copy of pageable memory holds its caller, who copies too, until about its end.
            if "Pageable" in o.name and 2 * (min(o.call.end, o.end) - o.start) > o.end - o.start:
                o.call.blocks = True
        self.calls = [c for c in self.calls if c.operations or c.blocks]

    def leave_steps(self):
        """Numbers the step that launched each operation, and leaves out what is outside all."""
        if not self.steps:
            self.steps = [(min([c.start for c in self.calls] + [o.start for o in self.operations]), NEVER)]
        starts = [s for s, _ in self.steps]
        for o in self.operations:
            o.step = bisect.bisect_right(starts, o.call.start) - 1 if o.call else -1
        inside = [o.start for o in self.operations if o.step >= 0]
        self.first = min(inside or [o.start for o in self.operations])
        for c in self.calls:
            c.new_start = c.start  # before the first step
        self.calls = [c for c in self.calls if bisect.bisect_right(starts, c.start) > 0]

    def order_streams(self):
        """In order of launch, where launches are known; the earlier operation ends where the later begins."""
        last = {}
        for o in self.operations:
            before = last.get(o.stream)
            o.before = before
            if before is not None and before.end > o.start:
                before.end = o.start
            last[o.stream] = o

    def find_waiting_calls(self):
        usual = quantile([c.end - c.start for c in self.calls if c.operations and not c.blocks], 0.1)
        self.usual_call = usual
        ends = sorted(o.end for o in self.operations)
        by_end = sorted(self.operations, key=lambda o: o.end)
        launched = 0
        older = sum(1 for o in self.operations if o.call is None)
        for c in self.calls:
            launched += len(c.operations)
            queued = older + launched - bisect.bisect_right(ends, c.end)
            full = (c.operations and not c.blocks and c.end - c.start > max(LONG_CALL, 5 * usual) and queued >= QUEUED)
            if not c.blocks and not full:
                continue
            # The last operation of each stream that ends within the call and was launched by then.
            latest = {}
            at = bisect.bisect_right(ends, c.end + 1)
            for i in range(at - 1, -1, -1):
                o = by_end[i]
                if o.end <= c.start:
                    break
                if o.call is None or o.call.start <= c.start:
                    latest.setdefault(o.stream, o)
            own = [o for o in c.operations if o.end <= c.end + 1 or "Pageable" in o.name]
            c.waits = list(latest.values()) + (own if c.blocks else [])

    def find_waiting_streams(self):
        by_end = sorted(self.operations, key=lambda o: o.end)
        ends = [o.end for o in by_end]
        # Calls are numbered in their order, also those before the recording.
        launched = lambda o: o.correlation or 0
        in_order = sorted(self.operations, key=launched)
        last = collections.OrderedDict()
        for o in in_order:
            if not o.compute and re.search("nccl|rccl", o.name, re.I):
                others = [b for s, b in last.items() if s != o.stream and b.end <= o.start + 1]
                if others:
                    o.waits.append(others[-1])
            last.pop(o.stream, None)
            last[o.stream] = o
        for o in self.operations:
            handed = o.call.start + self.usual_call if o.call else NEVER
            ready = max(handed, o.before.end if o.before else NEVER)
            if ready == NEVER or o.start - ready <= SOON:
                continue
            at = bisect.bisect_right(ends, o.start + 1)
            for i in range(at - 1, -1, -1):
                b = by_end[i]
                if o.start - b.end > SOON or b.end <= ready:
                    break
                if b.stream != o.stream and launched(b) < launched(o):
                    o.waits.append(b)
                    break

    def find_delays(self):
        """Gives the time that an operation begins later than its conditions to the last of them."""
        idle = [o.start - o.call.start for o in self.operations
                if o.call and o.start >= o.call.start and (o.before is None or o.before.end <= o.call.start)]
        usual_latency = quantile(idle, 0.1)
        gaps = [o.start - o.before.end for o in self.operations
                if o.before and o.call and o.call.start + usual_latency < o.before.end]
        usual_gap = max(0.0, quantile(gaps, 0.5))
        for o in self.operations:
            stream = o.before.end if o.before else NEVER
            launch = o.call.start if o.call else NEVER
            other = max((w.end for w in o.waits), default=NEVER)
            o.latency = min(usual_latency, max(0.0, o.start - launch)) if o.call else 0.0
            o.gap = min(usual_gap, max(0.0, o.start - stream)) if o.before else 0.0
            o.later = 0.0
            when = {"launch": launch + o.latency, "stream": stream + o.gap, "other": other}
            last = max(when, key=when.get)
            if when[last] == NEVER:
                continue
            rest = o.start - when[last]
            if last == "launch":
                o.latency += rest
            elif last == "stream":
                o.gap += rest
            else:
                o.later = rest
        done = 0.0
        for i, c in enumerate(self.calls):
            c.work = max(0.0, c.start - done) if i else 0.0
            c.kept = sum(max(0.0, min(c.start, b) - max(done, a)) for a, b in self.loading) if i else 0.0
            awaited = max((o.end for o in c.waits), default=NEVER)
            c.own = c.end - c.start
            if awaited > c.start:
                c.returns = c.end - awaited
                c.own = min(self.usual_call, c.own)
            else:
                c.waits = []
            done = max(done, c.end)

    def run(self, compute=1.0, host=1.0):
        """New instants of all operations and calls, with kernels and host faster by these factors."""
        calls = iter(self.calls)
        now = self.calls[0].start if self.calls else 0.0
        for o in self.operations:
            o.new_end = None
        for c in calls:
            now += c.kept + (c.work - c.kept) / host
            c.new_start = now
            for o in sorted(c.operations, key=lambda o: o.start):
                self.place(o, compute, host)
            c.new_end = now + c.own / host
            for o in c.waits:
                if o.new_end is None:
                    self.place(o, compute, host)
                c.new_end = max(c.new_end, o.new_end + c.returns)
            now = c.new_end
        for o in self.operations:
            if o.new_end is None:
                self.place(o, compute, host)
        return self.step_time(host)

    def place(self, o, compute, host):
        todo = [o]
        while todo:
            o = todo[-1]
            needs = [b for b in ([o.before] if o.before else []) + o.waits if b.new_end is None]
            needs = [b for b in needs if b not in todo]
            if needs:
                todo.extend(needs)
                continue
            todo.pop()
            if o.new_end is not None:
                continue
            conditions = [w.new_end + o.later for w in o.waits if w.new_end is not None]
            if o.before is not None and o.before.new_end is not None:
                conditions.append(o.before.new_end + o.gap)
            if o.call is not None:
                conditions.append(o.call.new_start + o.latency / host)
            length = o.end - o.start
            o.new_start = max(conditions) if conditions else o.start
            o.new_end = o.new_start + (length / compute if o.compute else length)

    def step_time(self, host=1.0):
        ends = {}
        for o in self.operations:
            if o.step >= 0:
                ends[o.step] = max(ends.get(o.step, NEVER), o.new_end)
        if len(ends) > 1:
            first, last = min(ends), max(ends)
            return (ends[last] - ends[first]) / (last - first)
        end = max(o.new_end for o in self.operations if o.start >= self.first)
        if self.calls:
            done = max(c.end for c in self.calls)
            end = max(end, max(c.new_end for c in self.calls) + max(0.0, self.steps[-1][1] - done) / host)
        return end - min(o.new_start for o in self.operations if o.start >= self.first)

    def busy(self):
        """Share of the time from the first step's first operation to the end in which the device works."""
        total, end = 0.0, self.first
        for o in self.operations:
            if o.start >= self.first:
                total += max(0.0, o.end - max(o.start, end))
                end = max(end, o.end)
        return total / (max(end, self.steps[-1][1]) - self.first)


def saved(path):
    """(share of the time in which the device works, step in µs, what compute:2 and host_free save of it), or None
    without a device."""
    events = events_of(path)
    if not any(category(e) in KINDS for e in events):
        return None
    replay = Replay(events)
    step = replay.run()
    return replay.busy(), step, 1 - replay.run(compute=2) / step, 1 - replay.run(host=float("inf")) / step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    parser.add_argument("--json", action="store_true", help="one line of JSON a trace")
    flags = parser.parse_args()
    for path in flags.traces:
        answer = saved(path)
        if answer is None:
            print("%-60s no device" % path[-60:])
            continue
        busy, step, compute, host = answer
        if flags.json:
            print(json.dumps({"file": path, "busy": busy, "step_us": step, "compute:2": compute, "host_free": host}))
        else:
            print("%-60s busy %5.1f %%  step %10.1f µs  compute:2 %5.1f %%  host_free %5.1f %%"
                  % (path[-60:], 100 * busy, step, 100 * compute, 100 * host))


if __name__ == "__main__":
    main()
