#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unbalanced stages of a pipeline, and what analyze names first: stages.py STEPSCOPE [--runs N] [--clean N].

The engine has no pipeline, so a simulation of its own makes what torch.profiler records of one: 2 to 6 stages of
3 to 8 layers, 4 to 16 micro-batches, GPipe or 1F1B, each pass a few kernels a layer whose times vary, messages by
NCCL kernels that spin until the neighbour is there, waits between streams, the norm of the gradients over all
stages and the optimizer at the end.
In a faulty run one stage has layers of others, up to twice its own; stages differ by 1 % else. The same draw with its
layers in balance shows what the fault costs; one that costs less than 5 % of the step is drawn again. Right is a faulty
run whose first finding is stage_imbalance and names that stage; a false alarm a clean run with that finding, or one of
a late rank, first. The predicted gain of right ones is compared with the cost."""
import argparse
import collections
import gzip
import json
import os
import random
import subprocess
import tempfile

STEPS = 4
KERNELS = ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "flash_fwd_kernel",
           "nvjet_tst_128x256_64x4_2x1_v_bz_TNT", "nvjet_tst_256x128_64x4_1x2_h_bz_TNT")
RECEIVE, SEND = 20, 21  # streams; two more for the way back


class Rank:
    """Rows of one rank; times in us."""

    def __init__(self, number):
        self.number, self.events, self.host, self.calls, self.free = number, [], 0.0, 0, {}

    def row(self, cat, name, ts, dur, tid, **args):
        device = cat in ("kernel", "gpu_memcpy")
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if device else 4000 + self.number,
                            "tid": tid, "ts": round(ts, 3), "dur": round(dur, 3), "args": args})

    def launch(self):
        self.calls += 1
        self.row("cuda_runtime", "cudaLaunchKernel", self.host, 3.0, 1, correlation=self.calls, cbid=211)
        self.host += 5.0
        return self.calls

    def kernel(self, name, start, end, stream, **args):
        """Its row, launched now; when it runs may be said later (ran)."""
        self.row("kernel", name, start, end - start, stream, device=self.number, stream=stream,
                 correlation=self.launch(), **args)
        self.free[stream] = max(self.free[stream], end)
        return self.events[-1]

    def wait(self, stream, on):
        """What is launched next on `stream` waits for what was launched on `on`."""
        self.calls += 1
        self.row("cuda_runtime", "cudaStreamWaitEvent", self.host, 1.0, 1, correlation=self.calls, cbid=147)
        self.events.append({"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": stream,
                            "ts": round(self.host, 3), "dur": 1, "args": {
                                "cuda_sync_kind": "Stream Wait Event", "stream": stream, "correlation": self.calls,
                                "device": self.number, "context": 1, "wait_on_stream": on,
                                "wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": -1}})
        self.host += 2.0

    def ran(self, row, start, end):
        row["ts"], row["dur"] = round(start, 3), round(end - start, 3)
        self.free[row["tid"]] = end

    def message(self, kind, peer, world, start, end, stream, elements):
        name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
        ranks = str(list(range(world)))
        return self.kernel(name, start, end, stream, **{
            "Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements, "Group size": world,
            "dtype": "BFloat16", "Process Group Name": "3", "Process Group Ranks": ranks,
            "Process Group Description": "PIPELINE_MODEL_PARALLEL_GROUP",
            ("Dst Rank" if kind == "send" else "Src Rank"): peer})

    def all_reduce(self, world, start, end):
        self.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", start, end, 30, **{
            "Collective name": "allreduce", "In msg nelems": 1, "Out msg nelems": 1, "Group size": world,
            "dtype": "Float", "Process Group Name": "4", "Process Group Ranks": str(list(range(world))),
            "Process Group Description": "MODEL_PARALLEL_GROUP"})

    def text(self, world):
        groups = [{"pg_name": "3", "pg_desc": "PIPELINE_MODEL_PARALLEL_GROUP", "backend_config": "cuda:nccl",
                   "pg_size": world, "ranks": list(range(world))},
                  {"pg_name": "4", "pg_desc": "MODEL_PARALLEL_GROUP", "backend_config": "cuda:nccl",
                   "pg_size": world, "ranks": list(range(world))}]
        return json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1759300074000000000,
                           "deviceProperties": [{"id": self.number, "name": "NVIDIA H100 80GB HBM3"}],
                           "distributedInfo": {"backend": "nccl", "rank": self.number, "world_size": world,
                                               "pg_count": 2, "pg_config": groups},
                           "traceEvents": self.events})


def order_of(stages, batches, gpipe, stage):
    ahead = batches if gpipe else min(stages - 1 - stage, batches)
    passes = [(True, b) for b in range(ahead)]
    for b in range(batches):
        if b + ahead < batches:
            passes.append((True, b + ahead))
        passes.append((False, b))
    return passes


def simulate(draw, moved):
    """The ranks of a random pipeline, `moved` layers more on stage draw["slow"]; and what a step takes in us."""
    stages, batches, gpipe = draw["stages"], draw["batches"], draw["gpipe"]
    r = random.Random(draw["seed"])
    ranks = [Rank(s) for s in range(stages)]
    layer, noise = r.uniform(500, 2000), r.uniform(0.01, 0.05)
    own = [r.uniform(0.99, 1.01) for s in range(stages)]
    layers = [draw["layers"]] * stages
    others = [s for s in range(stages) if s != draw["slow"]]
    r.shuffle(others)
    for n in range(moved):
        layers[others[n % len(others)]] -= 1
        layers[draw["slow"]] += 1
    forward = layer * draw["layers"]
    transfer, elements = forward * r.uniform(0.01, 0.05), 4096 * r.randint(256, 4096)
    now = 1000.0
    for step in range(STEPS):
        for k in ranks:
            k.host = now + r.uniform(5, 40)
            k.free = collections.defaultdict(lambda at=k.host: at + 20)
        todo = [order_of(stages, batches, gpipe, s) for s in range(stages)]
        made = {}  # (forward, batch, stage): the time of its output, and the row that sends it
        while any(todo):
            went = False
            for s, rank in enumerate(ranks):
                if not todo[s]:
                    continue
                is_forward, batch = todo[s][0]
                source = s - 1 if is_forward else s + 1
                if 0 <= source < stages and (is_forward, batch, source) not in made:
                    continue
                todo[s].pop(0)
                went = True
                streams = (RECEIVE, SEND) if is_forward else (RECEIVE + 2, SEND + 2)
                if 0 <= source < stages:
                    # Both ends are on their streams, the receiver's since its pass before.
                    posted = max(rank.free[7], rank.free[streams[0]])
                    sender = ranks[source]
                    done, row = made[is_forward, batch, source]
                    sent = max(done, sender.free[streams[1]])
                    come = max(posted, sent) + transfer * r.uniform(0.95, 1.2)
                    sender.ran(row, sent, come)
                    rank.wait(streams[0], 7)
                    rank.message("recv", source, stages, posted, come, streams[0], elements)
                    rank.wait(7, streams[0])
                    rank.free[7] = max(rank.free[7], come)
                name = "forward_step" if is_forward else "backward_step"
                begin = rank.host
                for kernel in KERNELS * layers[s]:
                    lasts = layer / len(KERNELS) * own[s] * (1 if is_forward else 2) * r.gauss(1, noise)
                    start = rank.free[7] + 1.5
                    rank.kernel(kernel, start, start + max(lasts, 10), 7)
                rank.row("user_annotation", name, begin, rank.host - begin, 1)
                done, to = rank.free[7], s + 1 if is_forward else s - 1
                row = None
                if 0 <= to < stages:
                    rank.wait(streams[1], 7)
                    row = rank.message("send", to, stages, 0, 0, streams[1], elements)
                made[is_forward, batch, s] = done, row
            assert went
        reduced = max(k.free[7] for k in ranks) + 30
        for k in ranks:
            k.wait(30, 7)
            k.all_reduce(stages, k.free[7] + 2, reduced)
            k.wait(7, 30)
            begin = k.host
            lasts = layer * layers[k.number] * r.uniform(0.2, 0.22)
            k.kernel("multi_tensor_apply_kernel<FusedAdam>", reduced + 2, reduced + lasts, 7)
            k.row("user_annotation", "Optimizer.step#AdamW.step", begin, k.host - begin, 1)
        end = max(k.free[7] for k in ranks) + 15
        for k in ranks:
            k.row("cuda_runtime", "cudaDeviceSynchronize", k.host, end - 5 - k.host, 1, cbid=165)
            k.row("user_annotation", "ProfilerStep#%d" % (step + 3), now, end - now, 1)
        now = end
    return ranks, (now - 1000.0) / STEPS


def analyzed(stepscope, texts):
    with tempfile.TemporaryDirectory() as folder:
        for n, text in enumerate(texts):
            with gzip.open(os.path.join(folder, "rank%d.json.gz" % n), "wt", compresslevel=1) as f:
                f.write(text)
        out = subprocess.run([stepscope, "analyze", folder, "--json", "-"], check=True, capture_output=True)
    return json.loads(out.stdout)["findings"]


def draw_pipeline(r):
    stages, layers = r.randint(2, 6), r.randint(3, 8)
    return {"stages": stages, "layers": layers, "batches": r.randint(4, 16), "gpipe": r.random() < 0.3,
            "slow": r.randrange(stages), "seed": r.randrange(2**31)}


def faulty_run(r):
    """A draw, the layers moved, the ranks and what the fault costs a step in us; and draws that cost too little."""
    cheap = 0
    while True:
        draw = draw_pipeline(r)
        moved = r.randint(1, min(draw["layers"], (draw["layers"] - 1) * (draw["stages"] - 1)))
        ranks, step = simulate(draw, moved)
        cost = step - simulate(draw, 0)[1]
        if cost >= 0.05 * step:
            return draw, moved, ranks, cost, cheap
        cheap += 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stepscope")
    p.add_argument("--runs", type=int, default=100)
    p.add_argument("--clean", type=int, default=50)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    words = p.parse_args()
    r = random.Random(words.seed)
    named, wrong, errors, again = {True: collections.Counter(), False: collections.Counter()}, [], [], 0
    for n in range(words.runs + words.clean):
        faulty, moved = n < words.runs, 0
        if faulty:
            draw, moved, ranks, cost, cheap = faulty_run(r)
            again += cheap
        else:
            draw = draw_pipeline(r)
            ranks, _ = simulate(draw, 0)
        findings = analyzed(words.stepscope, [k.text(draw["stages"]) for k in ranks])
        first = findings[0] if findings else {"id": "nothing", "what": ""}
        right = (first["id"] == "stage_imbalance" and first["what"].startswith("Pipeline stage %d has" % draw["slow"])
                 if faulty else first["id"] not in ("stage_imbalance", "slow_rank"))
        named[faulty][first["id"]] += 1
        if not right:
            wrong.append((faulty, draw, moved, first["id"], first["what"]))
        elif faulty:
            errors.append(first["gain_ns"] / 1e3 / cost - 1)
    print("seed %d; %d draws with a fault that costs less than 5 %% of the step drawn again" % (words.seed, again))
    for faulty in (True, False):
        bad = sum(w[0] == faulty for w in wrong)
        print("%s: %d of %d right; first: %s" % ("unbalanced" if faulty else "clean", sum(named[faulty].values()) - bad,
                                                 sum(named[faulty].values()),
                                                 ", ".join("%s %d" % c for c in named[faulty].most_common())))
    if errors:
        print("gain predicted against the cost: mean |error| %.1f %%, %.1f to %.1f %%" % (
            100 * sum(map(abs, errors)) / len(errors), 100 * min(errors), 100 * max(errors)))
    for w in wrong:
        print("wrong: %d layers moved to stage %d of %s: %s (%s)" % (w[2], w[1]["slow"], w[1], w[3], w[4]))


if __name__ == "__main__":
    main()
