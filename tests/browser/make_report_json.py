#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a synthetic `stepscope analyze --json` report (docs/reference/json/analyze.md) of any ranks x steps, deterministic by seed.

Every sum that the contract promises holds: categories and phases sum to the step's wall time, ranks to their steps,
MFU terms to the step and to 100 %. Names carry `<`, `&`, quotes and markup on purpose.
"""
import argparse
import json
import pathlib
import random
import re

def terms():
    """The terms of docs/reference/terms.md in the shape of the report's `terms`."""
    found, group = {}, None
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/terms.md"
    for line in page.read_text(encoding="utf-8").splitlines():
        name = re.match(r"`terms\.(\w+)`", line)
        if name:
            group = found[name[1]] = {}
        elif line.startswith("## "):
            group = None
        row = re.match(r"\| `([^`]+)` \| ([^|]+) \| ([^|]*) \|$", line)
        if row and group is not None:
            label = re.sub(r" \(without a device: .*\)$", "", row[2])
            group[row[1]] = {"label": label, "brief": None, "explanation": row[3], "unit": None}
    return found


CATEGORIES = ["compute", "comm_overlapped", "comm_exposed_wait", "comm_exposed_transfer", "comm_exposed_unsplit",
              "copy_exposed", "idle_data", "idle_host", "idle_sync", "idle_launch", "idle_dependency",
              "idle_unexplained", "not_recorded"]
SHARES = [0.50, 0.12, 0.07, 0.09, 0.004, 0.015, 0.02, 0.11, 0.03, 0.02, 0.008, 0.01, 0.003]
PHASES = {"forward": 0.29, "backward": 0.47, "recompute": 0.06, "optimizer": 0.09, "data": 0.03, "other": 0.06}
KERNELS = [
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", "matmul", 900e3),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x256_32x3_nt_align8>"
     "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x256_32x3_nt_align8::Params)", "matmul", 610e3),
    ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false>, true>"
     "(pytorch_flash::Flash_fwd_params)", "attention", 420e3),
    ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<true & false>", "attention", 700e3),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(\"tanh\")>", "elementwise", 60e3),
    ("triton_poi_fused_add_mul_silu_3", "elementwise", 45e3),
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>", "norm", 38e3),
    ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>",
     "optimizer", 800e3),
    ("void at::native::embedding_dense_backward<c10::BFloat16>", "embedding", 90e3),
    ("cunn_SoftMaxForward<8, float, '\"><img src=x onerror=alert(1)>'>", "loss", 120e3),
    ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication", 2100e3),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication", 2600e3),
    ("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>", "copy", 30e3),
]

SHORT_NAMES = {KERNELS[2][0]: "flash_fwd_kernel", KERNELS[4][0]: "vectorized_elementwise_kernel",
               KERNELS[10][0]: "ncclDevKernel_AllGather_RING_LL", KERNELS[11][0]: "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"}


def split(total, weights):
    """Integers in the proportion of `weights` that sum to `total` exactly."""
    whole = sum(weights)
    parts = [int(total * w / whole) for w in weights]
    parts[0] += total - sum(parts)
    return parts


def step_of(rng, rank, index, start, slow):
    wall = int(412e6 * rng.uniform(0.985, 1.02)) + (int(8e6) if index % 5 == 4 else 0)
    weights = [s * rng.uniform(0.9, 1.1) for s in SHARES]
    if rank == slow:
        weights[2] *= 0.05
        weights[7] *= 2.2
    return {"index": index, "name": f"ProfilerStep#{index}", "start_ns": start, "wall_ns": wall,
            "budget_ns": dict(zip(CATEGORIES, split(wall, weights))),
            "phases_ns": dict(zip(PHASES, split(wall, [p * rng.uniform(0.97, 1.03) for p in PHASES.values()])))}


def summed(dicts):
    total = {}
    for d in dicts:
        for key, value in d.items():
            total[key] = total.get(key, 0) + value
    return total


def phases_over(steps):
    rows = []
    for phase in PHASES:
        values = [s["phases_ns"][phase] for s in steps]
        mean = sum(values) / max(1, len(values))
        rows.append({"phase": phase, "steps": len(values), "mean_ns": round(mean), "min_ns": min(values, default=0),
                     "max_ns": max(values, default=0),
                     "stdev_ns": round((sum((v - mean) ** 2 for v in values) / max(1, len(values))) ** 0.5),
                     "communication_ns": round(mean / 5)})
    return rows


def kernels_of(rng, steps):
    rows = []
    for copy in range(12):
        for name, kind, mean in KERNELS:
            count = len(steps) * rng.choice([2, 32, 64, 96])
            each = int(mean * rng.uniform(0.3, 1.1) / (1 + copy))
            flops = each * count * 520e3 * rng.uniform(0.6, 1) if kind in ("matmul", "attention") else None
            moved = each * count * 2.1 * rng.uniform(0.5, 1) if kind in ("elementwise", "norm") else None
            rows.append({"name": name if copy == 0 else f"{name} #{copy}", "class": kind, "count": count,
                         "total_ns": each * count, "mean_ns": each, "min_ns": int(each * 0.8), "max_ns": int(each * 1.7),
                         "flops": flops, "tflops": flops and flops / (each * count) / 1e3, "bytes": moved,
                         "gb_per_s": moved and moved / (each * count),
                         "tensor_core": (copy != 3) if kind == "matmul" else None,
                         "counters": {"dram_read_bytes": 123456.0} if copy == 0 and kind == "matmul" else {}})
    total = sum(r["total_ns"] for r in rows)
    for row in rows:
        row["share"] = row["total_ns"] / total
    rows.sort(key=lambda r: -r["total_ns"])
    classes = {}
    for row in rows:
        c = classes.setdefault(row["class"], {"class": row["class"], "count": 0, "total_ns": 0})
        c["count"] += row["count"]
        c["total_ns"] += row["total_ns"]
    for c in classes.values():
        c["share"] = c["total_ns"] / total
    return rows, sorted(classes.values(), key=lambda c: -c["total_ns"])


def operators_of(rng, steps):
    rows = []
    for i, (name, kind) in enumerate([("aten::mm", "matmul"), ("aten::addmm", "matmul"), ("aten::bmm", "matmul"),
                                      ("aten::_scaled_dot_product_flash_attention", "attention"),
                                      ("aten::native_layer_norm", "norm"), ("aten::gelu", "elementwise"),
                                      ("aten::_fused_adamw_", "optimizer"), ("aten::copy_", "copy"),
                                      ("FlashAttnFunc<\"causal\" & 'gqa'>", "attention")] * 8):
        calls = len(steps) * rng.choice([1, 32, 96])
        device = int(calls * rng.uniform(30e3, 900e3))
        flops = device * 480e3 if kind in ("matmul", "attention") else None
        rows.append({"name": name, "class": kind, "shape": f"[{256 << (i % 5)}, 4096] [4096, {1024 * (1 + i % 7)}]",
                     "dtype": "bf16", "calls": calls, "host_self_ns": calls * 9200, "device_ns": device,
                     "mean_ns": device // calls, "min_ns": device // calls // 2, "max_ns": device // calls * 2,
                     "flops": flops, "tflops": flops and 480.0, "bytes": None,
                     "gb_per_s": None if flops else rng.uniform(300, 2400),
                     "peak_share": flops and 0.485, "bandwidth_share": None if flops else rng.uniform(0.1, 0.7),
                     "bound": "compute" if flops else "memory"})
    total = sum(r["device_ns"] for r in rows)
    for row in rows:
        row["share"] = row["device_ns"] / total
    return sorted(rows, key=lambda r: -r["device_ns"])


def ranges_of(steps):
    def node(name, kind, device, children=()):
        return {"name": name, "kind": kind, "count": 32 * len(steps), "host_ns": device * 2 // 3, "device_ns": device,
                "children": list(children)}
    layers = [node(f"layers.{i} <Block>", "module", 9_000_000, [
        node("attn: Attention", "module", 4_000_000, [node("aten::mm", "operator", 2_500_000, [
            node(KERNELS[2][0], "kernel", 2_400_000)]), node("aten::gelu", "operator", 700_000)]),
        node("mlp & \"gate\"", "module", 4_600_000)]) for i in range(24)]
    return [node("forward", "phase", 230_000_000, [node("Transformer", "module", 220_000_000, layers)]),
            node("backward", "phase", 380_000_000, [node("autograd::engine", "annotation", 360_000_000)]),
            node("optimizer", "phase", 70_000_000, [node("Optimizer.step#AdamW.step", "annotation", 69_000_000)])]


def gaps_of(rng, rank, budget, steps):
    rows = []
    for cause in CATEGORIES[6:]:
        total = budget[cause]
        largest = [{"start_ns": rng.choice(steps)["start_ns"] + rng.randrange(300_000_000), "wall_ns": total // (9 + 3 * i),
                    "host_activity": rng.choice(["aten::item > cudaStreamSynchronize", "enumerate(DataLoader)#next",
                                                 "python: <module 'train'>.log_metrics & more", "cudaLaunchKernel"]),
                    "culprit": "aten::item" if cause == "idle_sync" else None} for i in range(5)]
        rows.append({"cause": cause, "total_ns": total, "count": rng.randrange(20, 900), "largest": largest})
    return sorted(rows, key=lambda r: -r["total_ns"])


def memory_of(rng, steps, gib):
    points, base = [], 38 * gib
    for s in steps:
        for i in range(80):
            rise = i / 32 if i < 32 else max(0.0, 1 - (i - 32) / 40)
            allocated = int(base + 26 * gib * rise * rng.uniform(0.98, 1.0))
            points.append({"time_ns": s["start_ns"] + s["wall_ns"] * i // 80, "allocated_bytes": allocated,
                           "reserved_bytes": 70 * gib})
    peak = max(points, key=lambda p: p["allocated_bytes"])
    composition = dict(zip(["parameters", "gradients", "optimizer", "activations", "temporary", "unknown"],
                           split(peak["allocated_bytes"], [0.16, 0.15, 0.3, 0.33, 0.04, 0.02])))
    return {"devices": [{"device": "cuda:0", "peak_allocated_bytes": peak["allocated_bytes"],
                         "peak_reserved_bytes": 70 * gib, "peak_time_ns": peak["time_ns"],
                         "running_at_peak": "aten::mm < backward of layers.23", "headroom_bytes": 10 * gib,
                         "composition_bytes": composition, "composition_inferred": True,
                         "phases": [{"phase": p, "at_start_bytes": base, "at_end_bytes": base + d * gib,
                                     "change_bytes": d * gib, "peak_allocated_bytes": base + 26 * gib,
                                     "reserved_bytes": None if p == "optimizer" else 70 * gib,
                                     "not_allocated_bytes": None if p == "optimizer" else 44 * gib - base,
                                     "not_allocated_share": None if p == "optimizer" else 0.2}
                                    for p, d in (("forward", 26), ("backward", -24), ("optimizer", -2))],
                         "timeline": points}],
            "copies": [{"direction": "HtoD", "pinned": True, "count": 40, "bytes": 3_200_000_000,
                        "total_ns": 130_000_000, "gb_per_s": 24.6},
                       {"direction": "DtoH", "pinned": False, "count": 12, "bytes": 48_000, "total_ns": 310_000,
                        "gb_per_s": 0.155}]}


def rank_of(rng, rank, args, slow):
    steps, at = [], int(rank * 1000)
    for index in range(12, 12 + args.steps):
        steps.append(step_of(rng, rank, index, at, slow))
        at += steps[-1]["wall_ns"]
    budget = summed(s["budget_ns"] for s in steps)
    wall = sum(s["wall_ns"] for s in steps)
    kernels, classes = kernels_of(rng, steps)
    comm = wall - budget["compute"] - sum(budget[c] for c in CATEGORIES[5:])
    busy = comm + budget["compute"] + budget["copy_exposed"]
    return {
        "rank": rank, "rank_source": "metadata", "device": "cuda", "gpu_name": "NVIDIA H100 80GB HBM3", "role": "all",
        "steps": steps, "budget_ns": budget, "phases_ns": summed(s["phases_ns"] for s in steps),
        "outside_ns": {"before": 1_200_000, "after": 800_000, "between": 0},
        "gpu_window": {"device": "0", "start_ns": steps[0]["start_ns"], "end_ns": at, "comm_ns": comm,
                       "compute_ns": budget["compute"] + budget["comm_overlapped"], "copy_ns": budget["copy_exposed"],
                       "overlap_ns": budget["comm_overlapped"], "busy_ns": busy, "idle_ns": wall - busy},
        "phases": phases_over(steps), "gaps": gaps_of(rng, rank, budget, steps),
        "overlap": {"ratio": 0.43 + rank * 0.001, "efficiency": 0.71, "compute_ns": int(wall * 0.62),
                    "comm_ns": int(wall * 0.28), "overlap_ns": int(wall * 0.12), "step_ns": wall,
                    "no_overlap_ns": int(wall * 1.12), "perfect_overlap_ns": int(wall * 0.84),
                    "schedule_bound_ns": int(wall * 0.9),
                    "contention": [{"name": k["name"], "shape": "[4096, 4096]", "alone_ns": k["mean_ns"],
                                    "overlapped_ns": int(k["mean_ns"] * (1.08 + 0.05 * i)), "slowdown": 1.08 + 0.05 * i,
                                    "count": k["count"], "lost_ns": k["count"] * i * 1000}
                                   for i, k in enumerate(kernels[:6])]},
        "kernels": kernels, "kernel_classes": classes, "operators": operators_of(rng, steps),
        "ranges": ranges_of(steps),
        "host": {"launches": 3120 * args.steps, "launch_ns": 17_400_000 * args.steps, "empty_queue_launches": 412,
                 "slack_p10_ns": 4_100, "slack_p50_ns": 310_000, "slack_p90_ns": 4_200_000, "queue_mean": 31.4,
                 "queue_max": 512, "launch_bound": rank == slow, "sync_ns": 12_000_000,
                 "sync_calls": [{"name": "cudaStreamSynchronize", "count": 40, "total_ns": 9_000_000},
                                {"name": "cudaDeviceSynchronize", "count": 10, "total_ns": 3_000_000}],
                 "allocator_ns": 800_000, "allocator_calls": [{"name": "cudaMalloc", "count": 3, "total_ns": 800_000}],
                 "data_ns": 9_100_000, "gc_ns": 2_000_000, "overhead_ns": 1_500_000, "negative_latencies": 0},
        "memory": memory_of(rng, steps, 1 << 30)}


def collectives_of(rng, args):
    rows = []
    kinds = [("all_gather", 5, 330), ("reduce_scatter", 5, 310), ("all_reduce", 4, 290), ("broadcast", 2, 60)]
    for name, sizes, top in kinds:
        for i in range(sizes):
            size = 1 << (14 + 4 * i)
            bus = top * size / (size + 3e6) * rng.uniform(0.92, 1.04)
            count = args.steps * rng.choice([1, 32, 64])
            wait = rng.randrange(2_000_000, 90_000_000)
            rows.append({"name": name, "group": "tp<0>" if name == "all_reduce" else "default_pg",
                         "dimension": "tp" if name == "all_reduce" else "dp", "group_size": args.ranks, "dtype": "bf16",
                         "count": count, "matched": count, "bytes": size, "algbw_gb_per_s": bus * 0.57,
                         "busbw_gb_per_s": bus, "link_share": bus / 450,
                         "transfer_ns": int(count * size / (bus * 0.57)), "wait_ns": wait, "exposed_ns": wait // 2,
                         "duration_ns": int(count * size / (bus * 0.57)) + wait, "skew_ns": wait // count,
                         "last_rank": args.ranks // 2, "last_rank_share": 0.62, "clock_uncertainty_ns": 1800})
    rows.append(dict(rows[0], name="barrier", group="unknown", dimension="unknown", dtype=None, bytes=None,
                     algbw_gb_per_s=None, busbw_gb_per_s=None, link_share=None, transfer_ns=None))
    return rows


def groups_of(ranks):
    """Pairs of neighbours. The pair of the late rank transfers at a third of the rate of the others."""
    slow = len(ranks) // 2 // 2
    return [{"name": f"tp{g}", "description": None, "dimension": "tp", "size": 2, "ranks": [2 * g, 2 * g + 1],
             "rates": [{"name": "all_reduce", "bytes": 1 << 20, "count": 40, "transfer_ns": 30_000 if g == slow else 10_000,
                        "busbw_gb_per_s": 33.0 if g == slow else 100.0, "of_siblings": 1 / 3 if g == slow else 1.0}]}
            for g in range(len(ranks) // 2)] if len(ranks) > 2 else []


def timeline_of(rng, ranks, rows_a_step):
    names = [k[0] for k in KERNELS] + ["aten::item", "cudaLaunchKernel", "Memcpy HtoD (Pinned -> Device)"]
    tracks, steps = [], []
    for r in ranks:
        made = {"compute": [], "communication": [], "copy": [], "host": []}
        for s in r["steps"]:
            steps.append({"rank": r["rank"], "index": s["index"], "start_ns": s["start_ns"], "wall_ns": s["wall_ns"]})
            at, end = s["start_ns"], s["start_ns"] + s["wall_ns"]
            pitch = s["wall_ns"] / rows_a_step
            while at < end - pitch * 2:
                k = rng.randrange(10)
                dur = int(pitch * rng.uniform(0.3, 1.1))
                made["compute"].append([at, dur, KERNELS[k][1], k, s["index"]])
                if rng.random() < 0.16:
                    made["communication"].append([at + dur // 3, int(pitch * rng.uniform(0.5, 2.4)), "communication",
                                                  rng.choice([10, 11]), s["index"]])
                if rng.random() < 0.4:
                    made["host"].append([max(0, at - dur), dur, "other", rng.choice([13, 14]), s["index"]])
                at += dur + int(pitch * rng.choice([0.01, 0.02, 0.05, 0.6]))
            made["copy"].append([s["start_ns"] + 40_000, 3_100_000, "copy", 15, s["index"]])
        for label, kind in (("stream 7", "compute"), ("stream 20 (nccl)", "communication"), ("copies", "copy"),
                            ("main thread", "host")):
            tracks.append({"rank": r["rank"], "label": label, "kind": kind, "rows": made[kind]})
    return {"origin_ns": 0, "tracks": tracks, "names": names, "steps": steps, "truncated": False}


def recording_of(ranks):
    return {"lacks": [{"fact": "memory", "what": "events of the allocator", "record": "profile_memory=True",
                       "findings": ["memory_near_limit", "fragmentation"]}],
            "ranks": [{"rank": r["rank"], "format": "kineto", "clock": "unix",
                       "rows": {"cpu_op": 81_000, "runtime": 42_000, "kernel": 21_000}, "launches": 20_400,
                       "lost_launches": 3 if r["rank"] == 1 else 0, "device_rows": 21_000, "loose_rows": 4,
                       "graph_launches": 0, "graph_rows": 0, "outside_rows": 0, "overlapping_rows": 0,
                       "shaped_operators": 64_000, "memory_events": 0, "collectives": 640, "in_named_groups": 640,
                       "messages": 0, "addressed_messages": 0, "stepping_processes": 1, "lost_steps": [],
                       "steps": [{"index": s["index"], "launches": 1020, "lost_launches": 0, "device_rows": 1050}
                                 for s in r["steps"]],
                       "start_up": {"total_ns": 3_200_000, "idle_ns": 0,
                                    "spans": [{"kind": "library", "what": "aten::mm", "start_ns": 10, "ns": 3_200_000}]},
                       "notes": {}} for r in ranks]}


def mfu_of(step):
    weights = [("mfu", 35.2), ("recompute", 4.1), ("kernel_inefficiency", 14.8), ("memory_bound_compute", 9.8),
               ("exposed_transfer", 10.7), ("exposed_wait", 6.9), ("exposed_copy", 1.2), ("pipeline_bubble", 0.0),
               ("idle_data", 0.8), ("idle_host", 12.1), ("idle_sync", 2.0), ("idle_launch", 1.5), ("idle_dependency", 0.6),
               ("idle_unexplained", 0.2), ("not_recorded", 0.1)]
    parts = split(step, [w for _, w in weights])
    terms = [{"name": n, "ns": ns, "percent": 100.0 * ns / step, "gpu_hours_per_day": 1536 * ns / step,
              "money_per_day": 1536 * 2.5 * ns / step} for (n, _), ns in zip(weights, parts)]
    return {"convention": "causal attention counted half", "peak_flops": 989.4e12,
            "peak_source": "data/machines/h100-sxm.json: bf16 dense", "model_flops_per_step": 9.2e15,
            "executed_flops_per_step": 1.03e16, "mfu": terms[0]["percent"] / 100, "hfu": 0.393,
            "conventions": [{"name": "causal attention counted half", "model_flops_per_step": 9.2e15, "mfu": 0.352},
                            {"name": "full attention", "model_flops_per_step": 9.9e15, "mfu": 0.379}],
            "step_ns": step, "contention_ns": step // 200, "terms": terms, "warnings": ["flops_mismatch: executed FLOPs lie 3 % below the model's"]}


def expected_of(step, ranks):
    shares = [("host", 4, 12), ("data_comm", 5, 11), ("matmul", 47, 49), ("norm", 3, 6), ("elementwise", 9, 8),
              ("loss", 2, 2), ("optimizer", 3, 3), ("attention", 12, 9)]
    classes = [{"class": c, "expected_ns": e * step / 100, "recompute_ns": 0, "measured_ns": m * step / 100,
                "ratio": m / e, "gap_ns": (m - e) * step / 100} for c, e, m in shares]
    inner = [c for c in classes if c["class"] in ("norm", "elementwise", "embedding", "loss")]
    together = {k: sum(c[k] for c in inner) for k in ("expected_ns", "measured_ns", "gap_ns")}
    together["ratio"] = together["measured_ns"] / together["expected_ns"]
    operators = [{"name": "aten::mm", "class": "matmul", "shape": "[[4096, 4096], [4096, 14336]]", "dtype": "bf16",
                  "calls": 640, "expected_ns": 81e6, "measured_ns": 102e6, "ratio": 102 / 81},
                 {"name": "aten::fill_", "class": "elementwise", "shape": "[[1]]", "dtype": "bf16", "calls": 9,
                  "expected_ns": 0.01, "measured_ns": 18e3, "ratio": 1.8e6}]
    by_class = [{"class": "matmul", "expected_ns": 81e6, "measured_ns": 102e6, "ratio": 102 / 81, "unknown_ns": 3e6},
                {"class": "attention", "expected_ns": 0, "measured_ns": 0, "ratio": None, "unknown_ns": 9e6}]
    return {"machine": "H100-80GB SXM", "sentences": ["The step takes 1.18 × what the model expects on H100-80GB SXM."],
            "step": {"model": "llama-3-8b", "plan": {"tp": 1}, "plan_words": "DP 8, ZeRO-3",
                     "expected_ns": sum(c["expected_ns"] for c in classes),
                     "measured_ns": sum(c["measured_ns"] for c in classes), "pointwise": together, "classes": classes,
                     "ranks": [{"rank": r["rank"], "measured_ns": {c: m * step / 100 for c, _, m in shares}}
                               for r in ranks]},
            "ranks": [{"rank": 0, "classes": by_class, "operators": operators}],
            "collectives": [{"name": "all_gather", "dimension": "dp", "group": "dp", "group_size": 8, "bytes": 436e6,
                             "calls": 320, "expected_ns": 310e6, "measured_ns": 390e6, "ratio": 39 / 31,
                             "with_wait": False}],
            "assumptions": ["scale_up.timing.hop_ll_us = 0.75, as of most machines"]}


def stragglers_of(rng, ranks, slow):
    rows = []
    for r in ranks:
        late = [{"index": s["index"], "late_ns": int(rng.uniform(0, 4e6) + (31e6 * rng.uniform(0.7, 1.2)
                                                                          if r["rank"] == slow else 0))}
                for s in r["steps"]]
        total = sum(x["late_ns"] for x in late)
        rows.append({"rank": r["rank"], "role": "all", "late_ns": total,
                     "late_share": total / max(1, sum(s["wall_ns"] for s in r["steps"])),
                     "last_count": 640 if r["rank"] == slow else 3, "collectives": 700,
                     "persistence": 1.0 if r["rank"] == slow else 0.0, "upper_bound_ns": total // max(1, len(late)),
                     "significant": r["rank"] == slow,
                     "cause": "host: aten::item blocks before every reduce-scatter" if r["rank"] == slow else "",
                     "steps": late})
    return sorted(rows, key=lambda r: -r["late_ns"])


def job_of(ranks, args):
    every = [s for r in ranks for s in r["steps"]]
    walls = [max(s["wall_ns"] for s in every if s["index"] == 12 + i) for i in range(args.steps)]
    mean = sum(walls) / len(walls)
    per_rank = {c: [r["budget_ns"][c] / len(r["steps"]) for r in ranks] for c in CATEGORIES}
    spread = {}
    for c, values in per_rank.items():
        centre = sum(values) / len(values)
        worst = max(values)
        spread[c] = {"mean_ns": round(centre), "worst_ns": round(worst), "worst_rank": ranks[values.index(worst)]["rank"],
                     "stdev_ns": round((sum((v - centre) ** 2 for v in values) / len(values)) ** 0.5)}
    return {"ranks": len(ranks), "world_size": len(ranks), "clocks_comparable": True, "clock_uncertainty_ns": 1800,
            "steps": [{"index": 12 + i, "wall_ns": w, "start_ns": ranks[0]["steps"][i]["start_ns"], "ranks": len(ranks)}
                      for i, w in enumerate(walls)],
            "missing_steps": [], "cut_steps": [], "step_mean_ns": round(mean), "step_min_ns": min(walls), "step_max_ns": max(walls),
            "step_stdev_ns": round((sum((w - mean) ** 2 for w in walls) / len(walls)) ** 0.5),
            "budget_ns": {c: round(sum(v) / len(v)) for c, v in per_rank.items()}, "spread": spread,
            "budget_per_day": {},
            "phases": phases_over(every)}


def findings_of(step):
    return [{"id": "slow_rank", "what": "Rank 1 holds the others back",
             "evidence": ["31 ms more compute than rank 0", "last of its role in 40 of 64 collectives"],
             "key": "straggler_rank", "sort": "fault", "under": None,
             "place": {"rank": 1, "start_ns": 1000000, "ns": 2000000}, "advice": "Compare its clocks with a peer's",
             "places": [{"rank": 1, "start_ns": 1000, "ns": 400_000_000}],
             "gain_ns": round(0.08 * step), "gain_from": "rank_as_peers@1", "confidence": "high"},
            {"id": "too_few_steps", "what": "Only 2 steps are recorded", "evidence": [], "place": None,
             "key": "too_few_steps", "sort": "opportunity", "under": None, "places": [],
             "advice": "Record at least three steps", "gain_ns": None, "gain_from": None, "confidence": "medium"}]


def explanation_of(ranks, step, steps):
    length = round(step * steps)
    shares = [(1, "matmul", 0.5), (1, "host", 0.2), (0, "all_reduce", 0.2), (0, "unexplained", 0.1)]
    return {"baseline_ns": round(step), "replay_error": 0.004, "step_variation": 0.021, "held_out_steps": 4,
            "unexplained_share": 0.1, "refused": False, "residual_share": 0.012,
            "graph": {"nodes": 120000, "edges": 170000, "joined_calls": 640, "unjoined_calls": 2, "removed_edges": 0,
                      "negative_delays": 0},
            "critical_path": {
                "length_ns": length, "residual_ns": length // 10, "unlaunched_ns": 0, "not_recorded_ns": 0, "unjoined_ns": 0,
                "nodes": 9000,
                "shares": [{"rank": r, "what": w, "phase": "forward", "ns": round(length * p), "percent": 100 * p}
                           for r, w, p in shares],
                "longest": [{"rank": 1, "what": "matmul", "name": "<gemm>", "start_ns": 5000000, "ns": 900000}],
                "hops": [{"from": 1, "to": 0, "count": 12}],
                "ranks": [{"rank": r["rank"], "on_path_ns": length // 2 if r["rank"] < 2 else 0, "slack_ns": 1000 * r["rank"]}
                          for r in ranks]},
            "blame": [{"rank": 1, "what": "matmul", "name": "<gemm>", "excess": True, "wait_ns": 31000000, "collectives": 40,
                       "worst_ns": 1200000, "worst_at_ns": 9000000}],
            "scenarios": [{"name": "rank_as_peers@1", "words": "rank 1 works as its peers do", "step_ns": round(0.92 * step),
                           "saved_ns": round(0.08 * step), "speedup": 1.087, "remove": None, "add": None, "nodes": 400},
                          {"name": "no_waiting", "words": "no waiting for peers", "step_ns": round(0.97 * step),
                           "saved_ns": round(0.03 * step), "speedup": 1.03, "remove": 0.2, "add": 0.3, "nodes": 64}]}


def buckets_of(ranks):
    rows = []
    for r in ranks[:4]:
        for s in r["steps"][:2]:
            for b in range(6):
                ready = s["start_ns"] + 180_000_000 + b * 25_000_000
                rows.append({"rank": r["rank"], "step": s["index"], "bucket": b, "bytes": 25 << 20, "ready_ns": ready,
                             "launched_ns": ready + 900_000, "done_ns": ready + 31_000_000, "exposed_ns": b * 900_000})
    return rows


def units_of():
    """Block 2 comes late, the rest in time."""
    units = [{"unit": f"block {u}", "pass": p, "fetches": 40, "hits": 40 - late, "late": late, "misses": 0,
              "late_ns": late * 100_000, "transfer_ns": 21_000_000, "ahead": 1, "hidden_by": 2 if late else 0}
             for u, p, late in ((2, "backward", 30), (2, "forward", 10), (0, "forward", 0), (1, "forward", 0))]
    return {"source": "FSDP2", "sentence": "40 of 160 fetches came after their unit was needed: 40 issued too late, "
            "0 only when nothing was left to compute",
            "units": units, "fetches": [], "reduces": [],
            "reductions": [{"unit": f"block {u}", "count": 40, "exposed_ns": u * 500_000, "lag_ns": 30_000_000} for u in (2, 1, 0)]}


def report(args):
    rng = random.Random(args.seed)
    slow = args.ranks // 2
    ranks = [rank_of(rng, r, args, slow) for r in range(args.ranks)]
    job = job_of(ranks, args)
    return {
        "schema": "stepscope.analyze/1", "version": "0.1.0", "origin_unix_ns": "1718900000123456789",
        "terms": terms(),
        "answer": {"bound_by": "host", "culprit": f"rank {slow} arrives 31 ms late: aten::item blocks in "
                   "cudaStreamSynchronize before every reduce-scatter",
                   "sentence": f"A step takes {job['step_mean_ns'] / 1e6:.0f} ms and is bound by the host. 35.2 % of the "
                               "bf16 peak becomes model FLOPs (MFU, causal attention counted half)."},
        "inputs": [{"path": f"traces/rank{r:03}.pt.trace.json.gz", "format": "kineto", "rank": r, "clock": "unix",
                    "bytes": 18_400_000, "text_bytes": 240_000_000, "events": 812_345, "truncated": r == 1,
                    "notes": {"repaired_string": 2} if r == 1 else {}, "error": None} for r in range(args.ranks)],
        "warnings": ["No module ranges: record with with_modules=True to see time by module.",
                     "Rank 1 is truncated: its last step is left out."],
        "recording": recording_of(ranks), "ranks": ranks, "job": job, "collectives": collectives_of(rng, args),
        "groups": groups_of(ranks),
        "collective_mismatches": [{"group": "default_pg", "ordinal": 412, "ranks": [1], "what": "all_gather on rank 1, "
                                   "reduce_scatter on the others"}],
        "dimensions": [{"dimension": d, "count": 640, "bytes": b, "wait_ns": w, "transfer_ns": t, "exposed_ns": e}
                       for d, b, w, t, e in (("dp", 91e9, 210e6, 390e6, 300e6), ("tp", 12e9, 40e6, 120e6, 90e6))],
        "ddp_buckets": buckets_of(ranks), "unit_waits": units_of(), "stragglers": stragglers_of(rng, ranks, slow),
        "mfu": mfu_of(job["step_mean_ns"]), "expected": expected_of(job["step_mean_ns"], ranks), "findings": findings_of(job["step_mean_ns"]),
        "explanation": explanation_of(ranks, job["step_mean_ns"], args.steps), "short_names": SHORT_NAMES, "timeline": timeline_of(rng, ranks, args.timeline_rows)}


def reduced(data, variant):
    """The same report with what a poorer recording lacks taken away."""
    if variant == "no_mfu":
        data["mfu"] = None
    elif variant == "cpu_only":
        data["mfu"] = data["expected"] = None
        for r in data["ranks"]:
            r.update(device="cpu", gpu_name=None, gpu_window=None, overlap=None, memory=None, kernels=[],
                     kernel_classes=[])
    elif variant == "no_clocks":
        data["job"].update(clocks_comparable=False, clock_uncertainty_ns=None, world_size=None)
        data.update(stragglers=[], origin_unix_ns="0", dimensions=[], ddp_buckets=[], groups=[])
        for c in data["collectives"]:
            c.update(wait_ns=None, transfer_ns=None, skew_ns=None, last_rank=None, last_rank_share=None, busbw_gb_per_s=None,
                     algbw_gb_per_s=None, link_share=None, clock_uncertainty_ns=None)
    elif variant == "bare":
        for r in data["ranks"]:
            r.update(steps=[], budget_ns={}, phases_ns={}, phases=[], gaps=[], overlap=None, kernels=[], kernel_classes=[],
                     operators=[], ranges=[], memory=None, gpu_window=None)
        data.update(collectives=[], groups=[], collective_mismatches=[], dimensions=[], ddp_buckets=[], unit_waits=None, stragglers=[], mfu=None,
                    expected=None, timeline=None, findings=[], explanation=None)
        data["job"].update(steps=[], phases=[], step_mean_ns=None, step_min_ns=None, step_max_ns=None, step_stdev_ns=None)
    elif variant == "zero_ranks":
        data["recording"] = {"lacks": [], "ranks": []}
        data["inputs"] = [dict(data["inputs"][0], rank=None, events=0, error="broken.json: byte 17: expected a value; "
                               "is it <JSON>?")]
        data.update(ranks=[], collectives=[], groups=[], collective_mismatches=[], dimensions=[], ddp_buckets=[], unit_waits=None, stragglers=[],
                    mfu=None, expected=None, timeline=None, answer={"bound_by": "unexplained", "sentence": None, "culprit": None})
        data["job"].update(ranks=0, world_size=None, steps=[], phases=[], budget_ns={}, spread={}, step_mean_ns=None,
                           step_min_ns=None, step_max_ns=None, step_stdev_ns=None)
    return data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--timeline-rows", type=int, default=160, help="compute rows of a rank and step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", default="full",
                        choices=["full", "no_mfu", "cpu_only", "no_clocks", "bare", "zero_ranks"])
    parser.add_argument("output")
    args = parser.parse_args()
    with open(args.output, "w", encoding="utf-8") as out:
        json.dump(reduced(report(args), args.variant), out, separators=(",", ":"))


if __name__ == "__main__":
    main()
