#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`whatif compute:2` and `host_free` compared with doing it and with another replay: stream_replay_test.py STEPSCOPE.

Each job below is a program for one GPU: host work, launches on streams, events, calls that wait. A simulator runs it as
it is and writes what a profiler records. The same simulator runs it with kernels twice as fast, and with a host that
takes no time: that is the truth. The replay of stream_replay.py and the program must both be within 3 points of it.
Shared traces of one GPU that works at least 80 % of the time are compared too, where there are any; there the truth is
the other replay."""
import json
import os
import subprocess
import sys
import tempfile

import stream_replay

POINTS = 0.03
STEPS = 6
LATENCY, CALL, GAP, EARLY, BACK = 6.0, 5.0, 1.0, 1.5, 10.0  # µs


def expect(condition, what):
    if not condition:
        raise SystemExit("stream_replay_test: " + what)


class Gpu:
    """Runs a program: `compute` and `host` times as fast. Streams run in order, with room for `room` launches."""

    def __init__(self, compute=1.0, host=1.0, room=1000):
        self.compute, self.host, self.room = compute, host, room
        self.now, self.id = 0.0, 0
        self.events, self.ends, self.queue = [], {}, []
        self.last_end = 0.0
        self.step_ends = []

    def row(self, category, name, start, end, tid=1, **words):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if "stream" in words else 1, "tid": tid,
                            "ts": start, "dur": end - start, "args": words})

    def work(self, us):
        begin = self.now
        self.now += us / self.host
        self.row("cpu_op", "aten::work", begin, self.now)

    def run(self, name, us, stream, earliest, correlation, early=0.0):
        """One operation on a stream."""
        before = self.ends.get(stream, 0.0)
        start = max(earliest, before + GAP - (GAP + early if early else 0.0))
        copy = name.startswith("Mem")
        end = start + (us if copy or "nccl" in name else us / self.compute)
        self.ends[stream] = end
        self.row("gpu_memcpy" if copy else "kernel", name, start, end, tid=stream, stream=stream, device=0,
                 correlation=correlation)
        self.queue.append(end)
        self.last_end = max(self.last_end, end)
        return end

    def launch(self, name, us, stream=7, after=0.0, early=False, call="cudaLaunchKernel"):
        """Returns the end; `after`: the stream waits until then."""
        self.id += 1
        begin = self.now
        self.now += CALL / self.host
        if len(self.queue) >= self.room:
            self.now = max(self.now, sorted(self.queue)[len(self.queue) - self.room])
        self.row("cuda_runtime", "cudaLaunchKernelExC" if early else call, begin, self.now, correlation=self.id)
        earliest = max(self.now - CALL / self.host + (CALL + LATENCY) / self.host, after + 2.0)
        return self.run(name, us, stream, earliest, self.id, EARLY if early else 0.0)

    def graph(self, kernels, gap):
        """One launch of kernels that follow each other."""
        self.id += 1
        begin = self.now
        self.now += 3 * CALL / self.host
        self.row("cuda_runtime", "cudaGraphLaunch", begin, self.now, correlation=self.id)
        earliest = begin + (3 * CALL + LATENCY) / self.host
        for name, us in kernels:
            earliest = self.run(name, us, 7, earliest, self.id) + gap

    def item(self, call="cudaMemcpyAsync", name="Memcpy DtoH (Device -> Pageable)"):
        """A copy to the host, through a call that returns when it is there."""
        self.id += 1
        begin = self.now
        end = self.run(name, 2.0, 7, begin + (CALL + LATENCY) / self.host, self.id)
        self.now = end + BACK
        self.row("cuda_runtime", call, begin, self.now, correlation=self.id)

    def synchronize(self, call):
        begin = self.now
        self.now = max(begin + 3.0 / self.host, self.last_end + BACK)
        self.row("cuda_runtime", call, begin, self.now)

    def step(self, number, program):
        begin = self.now
        self.last_end = 0.0
        program(self)
        self.row("user_annotation", "ProfilerStep#%d" % number, begin, self.now)
        self.step_ends.append(self.last_end)

    def step_time(self):
        return (self.step_ends[-1] - self.step_ends[0]) / (len(self.step_ends) - 1)


def reads_its_loss(gpu):
    for _ in range(3):
        gpu.work(20)
        gpu.launch("sm90_xmma_gemm", 10000)
    gpu.item()
    gpu.work(3000)


def reads_on_amd(gpu):
    for k in range(40):
        gpu.work(15)
        gpu.launch("Cijk_gemm_%d" % k, 120, call="hipLaunchKernel")
    gpu.item("hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)")
    gpu.work(400)


def synchronizes(gpu):
    for k in range(60):
        gpu.work(12)
        gpu.launch("gemm_%d" % k, 40)
    gpu.synchronize("cudaDeviceSynchronize")
    gpu.work(300)


def launches_slowly(gpu):
    """The device is as fast as its host: twice as fast, it waits."""
    for k in range(200):
        gpu.work(30)
        gpu.launch("gemm_%d" % k, 33)


def launches_early(gpu):
    for k in range(30):
        gpu.work(5)
        gpu.launch("prepare", 3.1)
        gpu.launch("flash_fwd_%d" % k, 95, early=True)
        gpu.launch("gemm_%d" % k, 60)
    gpu.work(700)


def fills_the_queue(gpu):
    for k in range(400):
        gpu.work(6)
        gpu.launch("gemm_%d" % k, 50)


def launches_graphs(gpu):
    gpu.work(100)
    gpu.graph([("gemm_%d" % k, 150) for k in range(40)], 40)
    gpu.work(50)


def communicates(gpu):
    """Collectives on a stream of their own wait for the gradients; the optimizer waits for them."""
    for k in range(40):
        gpu.work(10)
        gpu.launch("forward_%d" % k, 60)
    done = 0.0
    for k in range(40):
        gpu.work(10)
        end = gpu.launch("backward_%d" % k, 120)
        if k % 10 == 9:
            done = gpu.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 500, stream=20, after=end)
    for k in range(10):
        gpu.work(10)
        gpu.launch("adam_%d" % k, 80, after=done)


JOBS = [reads_its_loss, reads_on_amd, synchronizes, launches_slowly, launches_early, fills_the_queue, launches_graphs,
        communicates]


def simulate(job, **faster):
    gpu = Gpu(room=256 if job is fills_the_queue else 1000, **faster)
    for step in range(STEPS):
        gpu.step(step, job)
    return gpu


def asked(stepscope, path):
    """What the program answers: the least and the largest saved share, None where it does not answer."""
    done = subprocess.run([stepscope, "whatif", path, "--change", "compute:2", "--change", "host_free", "--json", "-"],
                          capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout) if done.stdout else {}
    said = answer.get("scenarios", [])
    if len(said) != 2:
        return [None, None]
    return [None if a["step_ns"] is None else
            [1 - s / answer["baseline_ns"] for s in (a["step_ns"], a["shortest_step_ns"] or a["step_ns"])]
            for a in said]


def check(name, answers, truth, tolerance=POINTS):
    for change, answer, true in zip(("compute:2", "host_free"), answers, truth):
        expect(answer is not None, "%s: no answer to %s" % (name, change))
        least, most = answer
        expect(least - tolerance <= true <= most + tolerance,
               "%s: %s saves %.1f %%, not %.1f to %.1f %%" % (name, change, 100 * true, 100 * least, 100 * most))


def in_words(answers):
    return " ".join("-" if a is None else "%5.1f" % (100 * a[0]) for a in answers)


def made_jobs(stepscope):
    with tempfile.TemporaryDirectory() as folder:
        for job in JOBS:
            base = simulate(job)
            true = [1 - simulate(job, compute=2.0).step_time() / base.step_time(),
                    1 - simulate(job, host=1e9).step_time() / base.step_time()]
            path = os.path.join(folder, job.__name__ + ".pt.trace.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
                           "traceEvents": base.events}, file)
            other = stream_replay.saved(path)[2:]
            ours = asked(stepscope, path)
            print("%-18s true %5.1f %5.1f  replay %5.1f %5.1f  stepscope %s"
                  % (job.__name__, *(100 * t for t in true), *(100 * o for o in other), in_words(ours)))
            check(job.__name__ + " (stream_replay)", [(o, o) for o in other], true)
            check(job.__name__, ours, true)


def shared_traces(stepscope):
    here = os.path.dirname(os.path.abspath(__file__))
    data = os.path.join(here, "..", "..", "..", "shared", "data")
    if not os.path.exists(os.path.join(data, "runs.tsv")):
        print("no shared traces")
        return
    with open(os.path.join(data, "runs.tsv"), encoding="utf-8") as table:
        runs = [line.rstrip("\n").split("\t") for line in table][1:]
    for run, ranks, file in runs:
        path = os.path.join(data, "traces", file)
        if ranks != "1" or os.path.getsize(path) > 2_000_000:
            continue
        found = stream_replay.saved(path)
        if found is None or found[0] < 0.8:
            continue
        answers = asked(stepscope, path)
        print("%-60s replay %5.1f %5.1f  stepscope %s"
              % (run[:60], *(100 * t for t in found[2:]), in_words(answers)))
        if None not in answers:
            check(run, answers, found[2:])


if __name__ == "__main__":
    made_jobs(sys.argv[1])
    shared_traces(sys.argv[1])
