# SPDX-License-Identifier: Apache-2.0
"""Random training jobs: shapes, process groups, sizes, hosts, captures; and faults that cost enough."""
import dataclasses
import hashlib

from jobs_job import Fault, Group, Job
from jobs_layer import AMD, chance, draw_ends, draw_layer, elements
from jobs_simulation import COMPUTE, Noise
import jobs_training

ACCUSED = ("slow_rank", "late_host", "data_loader", "throttling", "pauses", "outlier_step", "slow_group",
           "stage_imbalance", "sync_calls")
BOUNDS = ("launch_bound", "exposed_communication", "bubble")
KINDS = ACCUSED + BOUNDS
HEALTHY = ("compute_bound", "memory_bound", "mixed")
LEAST = 0.05  # share of the step that a fault costs at least
DOMINANT = {"launch_bound": 0.35, "exposed_communication": 0.4, "bubble": 0.3}  # and a bound


def places(job):
    return [(pp, dp, cp, tp) for pp in range(job.pp) for dp in range(job.dp) for cp in range(job.cp)
            for tp in range(job.tp)]


def draw_shape(r, job, kind, most):
    sizes = [n for n in (4, 8, 8, 8, 16, 16, 16, 32, 64, 128, 256) if n <= most]
    job.world = r.choice(sizes)
    left = job.world
    job.tp = job.pp = job.cp = job.ep = 1
    if kind in ("stage_imbalance", "bubble") or chance(r, 0.35):
        job.pp = r.choice([n for n in (2, 4, 4, 8) if n <= left and (n < 8 or left >= 16)])
    left //= job.pp
    if chance(r, 0.6) and left > 1:
        job.tp = r.choice([n for n in (2, 2, 4, 4, 8) if n <= left])
    left //= job.tp
    if chance(r, 0.2) and left > 1:
        job.cp = r.choice([n for n in (2, 2, 4) if n <= left])
    job.dp = left // job.cp
    if chance(r, 0.2) and job.dp > 1:
        job.ep = r.choice([n for n in (2, 4, 8) if n <= job.dp])
    job.layout = "tp-cp-pp-dp" if chance(r, 0.12) else "tp-cp-dp-pp"
    job.stages = [0] * job.world
    for pp, dp, cp, tp in places(job):
        job.stages[job.rank_at(pp, dp, cp, tp)] = pp
    shared = job.dp * job.cp
    job.mode = "none" if shared == 1 else r.choice(("ddp", "zero1", "ddp", "zero1", "fsdp") if job.pp > 1 else
                                                   ("ddp", "fsdp", "fsdp", "zero1"))
    job.shards = shared
    if job.mode == "fsdp" and shared >= 4 and job.cp == 1 and chance(r, 0.25):
        job.shards = shared // 2 if chance(r, 0.5) else 2


DESCRIPTIONS = {
    "megatron": {"tp": "TENSOR_MODEL_PARALLEL_GROUP", "cp": "CONTEXT_PARALLEL_GROUP", "dp": "DATA_PARALLEL_GROUP",
                 "ep": "EXPERT_MODEL_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
                 "mp": "MODEL_PARALLEL_GROUP", "replica": "INTER_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP"},
    "mesh": {"tp": "mesh_tp", "cp": "mesh_cp", "dp": "mesh_dp_shard_cp", "ep": "mesh_ep", "pp": "mesh_pp",
             "mp": "mesh_pp_tp", "replica": "mesh_dp_replicate"}}


def draw_groups(r, job):
    """Process groups, named in one of the ways of PyTorch: a number each, a number for all groups that were split off
    at once, or a hash of the members."""
    sets = {}

    def add(dim, key, rank):
        sets.setdefault((dim,) + key, []).append(rank)

    for pp, dp, cp, tp in places(job):
        rank = job.rank_at(pp, dp, cp, tp)
        add("tp", (pp, dp, cp), rank)
        add("cp", (pp, dp, tp), rank)
        shard = dp * job.cp + cp
        add("dp", (pp, tp, shard // job.shards), rank)
        add("replica", (pp, tp, shard % job.shards), rank)
        add("ep", (pp, tp, cp, dp // job.ep), rank)
        add("pp", (dp, cp, tp), rank)
        if job.pp * job.tp > 1:
            add("mp", (dp, cp), rank)
    if job.mode == "none":
        sets = {k: v for k, v in sets.items() if k[0] != "dp"}
    naming = r.choice(("numbers", "numbers", "shared", "hash", "words"))
    describing = r.choice(("megatron", "megatron", "mesh", "mesh", "undefined"))
    order = ["tp", "cp", "dp", "replica", "ep", "pp", "mp"]
    if chance(r, 0.3):
        r.shuffle(order)
    job.groups, number = [], r.choice((1, 1, 2, 5))
    for dim in order:
        found = [v for k, v in sets.items() if k[0] == dim]
        for n, ranks in enumerate(found):
            ranks = ranks if dim == "pp" else sorted(ranks)
            if naming == "hash":
                name = hashlib.sha1((dim + str(ranks)).encode()).hexdigest()
            elif naming == "words":
                name = "%s%d" % (dim, n)
            else:
                name = str(number)
            if naming == "numbers":
                number += 1
            desc = DESCRIPTIONS[describing][dim] if describing != "undefined" else "undefined"
            if len(ranks) == job.world and dim in ("dp", "tp") and naming == "numbers" and chance(r, 0.6):
                name, desc = "0", "default_pg"
            if len(ranks) > 1:
                job.groups.append(Group(len(job.groups), name, dim, desc, ranks))
        number += naming == "shared"
    job.naming = naming
    one_stream = chance(r, 0.5)  # one for all calls of a group, as before PyTorch 2.7
    streams = {}
    for g in job.groups:
        kinds = [k for k in jobs_training.CALLS] + ["up", "down"] + [(k, f) for k in ("send", "recv") for f in (0, 1)]
        for k in kinds:
            part = k if g.dim == "pp" or g.dim == "dp" and not one_stream else ""
            g.stream[k] = streams.setdefault((g.dim, part), 20 + 4 * len(streams))


def draw_sizes(r, job, kind):
    """Layers, micro-batches and steps within a budget of kernels; transfers of gradients and messages."""
    job.cp_style = r.choice(("all_gather", "all_gather", "all_to_all", "ring"))
    draw_layer(r, job, kind)
    draw_ends(r, job)
    kernels = 150 if job.world <= 32 else 90 if job.world <= 64 else 45
    budget = kernels / (len(job.forward) + len(job.backward))  # layers times micro-batches
    if kind == "launch_bound":
        budget *= 1.5
    job.gpipe = chance(r, 0.35)
    if job.pp > 1:
        most = max(job.pp, int(budget) // 2)
        job.batches = r.randint(job.pp, min(most, 3 * job.pp))
        if kind == "bubble":
            job.batches = r.randint(max(1, job.pp // 2), job.pp)
        elif kind != "stage_imbalance":
            job.batches = max(job.batches, min(most, 2 * job.pp))
        least = 2
    else:
        job.batches = r.choice((1, 1, 1, 2, 2, 3, 4)) if kind != "sync_calls" else r.choice((2, 3, 4))
        least = 3
    layers = max(least, min(8, int(budget / job.batches)))
    job.layers = [r.randint(least, layers)] * job.pp
    if job.pp > 1 and kind != "stage_imbalance" and chance(r, 0.3):  # the last stage has a layer less for the head
        job.layers = [n + 1 for n in job.layers[:-1]] + job.layers[-1:]
        head, us = job.head[:2], sum(p[3] for p in job.forward if p[0] != "comm")
        job.head = head + (us * r.uniform(0.95, 1.0),)
    long = kind in ("throttling", "outlier_step", "pauses")
    job.steps = r.randint(6, 10) if long else r.randint(4, 8)
    job.first_step = r.choice((1, 2, 3, 5, 10, 100, 1001))
    big, quiet = kind == "exposed_communication", kind in ("launch_bound", "bubble")
    job.overlap = not big and chance(r, 0.75)
    share = r.uniform(0.5, 1.5) if big else r.uniform(0.02, 0.1) if quiet else \
        r.uniform(0.2, 0.8) if job.overlap else r.uniform(0.05, 0.3)
    job.gather_us = max(12.0, job.layer_us * share)
    job.bucket_us = job.gather_us * r.uniform(1.0, 1.8)
    job.replica_us = job.gather_us * r.uniform(0.3, 0.8)
    job.grad_width = r.choice((1.0, 1.0, 2.0))
    rate = r.uniform(3e3, 2e4)  # bytes/us between nodes
    job.unit_elements, job.replica_elements = elements(job.gather_us, rate), elements(job.replica_us, rate / 2)
    job.bucket = r.choice((1, 1, 2))
    stage = job.layer_us * job.layers[0]
    job.message_us = max(10.0, stage * (r.uniform(0.08, 0.2) if big else r.uniform(0.005, 0.08)))
    job.message_elements = elements(job.message_us, rate)
    job.ring_us = max(10.0, job.layer_us * r.uniform(0.02, 0.12))
    job.ring_elements = elements(job.ring_us, rate)
    job.batched = job.pp > 1 and not job.gpipe and chance(r, 0.4)
    job.message_sync = job.batched and kind != "sync_calls" and stage > 4000 and chance(r, 0.4)
    job.limiter, job.fsdp_notes = job.overlap and chance(r, 0.35), job.mode == "fsdp" and chance(r, 0.5)
    job.mean_loss = job.mode != "none" and job.shards == job.dp * job.cp and chance(r, 0.2)


def draw_hosts(r, job, kind):
    kernel = job.layer_us / max(1, sum(p[0] != "comm" for p in job.forward))
    job.op_us = r.uniform(8, 20) if kind == "launch_bound" else min(r.uniform(4, 12), kernel / 5)
    job.comm_op_us = job.op_us * r.uniform(1.5, 3.5)
    job.python_share = r.uniform(0.1, 0.8)
    job.host_sigma = r.uniform(0.05, 0.25)
    job.kernel_sigma = r.uniform(0.005, 0.05) if chance(r, 0.5) else r.uniform(0.003, 0.015)
    job.transfer_sigma = r.uniform(0.005, 0.08)
    job.kernel_gap, job.event_lag = r.uniform(0.6, 2.0), r.uniform(1.0, 4.0)
    job.noise = Noise(r, r.choice((0.0, 0.002, 0.006)))
    uneven = 0.0 if kind == "launch_bound" or chance(r, 0.5) else 0.25
    job.host_speed = [r.uniform(1.0 - uneven, 1.0 + uneven) for _ in range(job.world)]
    spread = r.choice((0.0, 0.001, 0.003))
    job.speed = [1.0 + max(-2.0, min(2.0, r.gauss(0, 1))) * spread for _ in range(job.world)]
    job.warm = r.uniform(1.05, 1.3) if chance(r, 0.3) else 1.0
    job.autograd_thread = chance(r, 0.85)
    job.tp_stream = chance(r, 0.6)
    job.clips, job.updates = chance(r, 0.6), r.choice((1, 1, 2, 4))
    job.optimizer_name = r.choice((None, "Optimizer.step#AdamW.step", "Optimizer.step#Adam.step"))
    busy = 3.0 * job.layer_us * job.layers[0] * job.batches
    job.loader_name = "enumerate(DataLoader)#_%sDataLoaderIter.__next__" % r.choice(
        ("MultiProcessing", "MultiProcessing", "SingleProcess"))
    if kind != "data_loader" and chance(r, 0.15):
        job.loader_name = None
    job.loader_us = min(r.uniform(40, 400), 0.01 * busy)
    job.copy_stream = r.choice((COMPUTE, COMPUTE, 13))
    job.inputs, job.copy_us = r.choice((1, 2, 2)), r.uniform(2, 12)
    job.tp0_loads = job.tp > 1 and chance(r, 0.3)
    job.tail_us = r.uniform(5, 40)
    job.batch_host_us = 0.0
    job.host_waits = r.choice(("event", "free")) if kind == "sync_calls" else r.choice(
        ("item", "item", "device", "event", "event", "free"))
    if job.host_waits == "device" and job.mode == "zero1" and job.overlap:
        job.host_waits = "item"  # the gathers at the end of a step overlap the next one


DEVICES = (("NVIDIA H100 80GB HBM3", 9, 0, 132, 85174583296), ("NVIDIA H100 80GB HBM3", 9, 0, 132, 85174583296),
           ("NVIDIA A100-SXM4-80GB", 8, 0, 108, 85094825984), ("NVIDIA B200", 10, 0, 148, 191498223616))


def draw_style(r, job):
    """How the capture is written."""
    job.style = {
        "wait_rows": chance(r, 0.3),
        "param_comms": chance(r, 0.6) or job.batched or job.cp > 1 and job.cp_style == "ring",
        "sequence": chance(r, 0.5), "flows": chance(r, 0.2),
        "rich": chance(r, 0.3), "gpu_notes": chance(r, 0.3), "seq": chance(r, 0.2), "rank_args": chance(r, 0.4),
        "config": r.choice(("full", "full", "strings", "none")), "base": r.choice(("new", "new", "old")),
        "files": r.choice(("worker", "rank_trace", "host_pid", "rank")), "gzip": chance(r, 0.8),
        "device": r.choice(DEVICES),
        "driver_launch": chance(r, 0.5), "peers": chance(r, 0.7), "old_nccl": chance(r, 0.15),
        "nested": chance(r, 0.4)}
    if job.matmuls == AMD:
        job.style["device"] = ("AMD Instinct MI300X", 9, 4, 304, 206141652992)
        job.style["wait_rows"] = False
    clocks = r.choice(("one", "rank", "host", "drift"))
    offsets = [r.uniform(-1000, 1000) for _ in range(job.world)]
    if clocks == "one":
        job.clock = [(0.0, 0.0)] * job.world
    else:
        job.clock = [(offsets[n // 8 if clocks == "host" else n], r.uniform(-2e-5, 2e-5) if clocks == "drift" else 0.0)
                     for n in range(job.world)]
    job.clocks = clocks
    job.late, job.short = {}, set()


def draw_cut(r, job, fault):
    """Captures that begin one step later on some ranks, or end one step earlier."""
    if chance(r, 0.8) or job.steps < 5 or fault and fault.kind == "outlier_step":
        return
    for n in range(job.world):
        if (not fault or n not in fault.ranks) and chance(r, 0.3):
            if chance(r, 0.5):
                job.late[n] = r.choice((1, 1, 2))
            else:
                job.short.add(n)


def draw_job(r, kind, most):
    job = Job()
    draw_shape(r, job, kind, most)
    draw_groups(r, job)
    draw_sizes(r, job, kind)
    draw_hosts(r, job, kind)
    draw_style(r, job)
    job.balanced = job.layers
    return job.with_fault(None, False)


def draw_fault(r, job, kind, base):
    """A fault of a kind with a first guess of its size, or None if the job cannot have it. `base` is its step."""
    share = r.uniform(LEAST, 0.35)
    cost = base * share / (1.0 - share)
    one = r.randrange(job.world)
    busy = 3.0 * job.layer_us * job.layers[0] * job.batches
    if kind == "slow_rank":
        return Fault(kind, 1.0 + cost / busy, (one,), style="clock" if chance(r, 0.3) else "")
    if kind == "late_host":
        style = r.choice(("python", "slow", "loaded", "backward", "optimizer"))
        ops = job.batches * job.layers[0] * (len(job.forward) + len(job.backward))
        size = {"python": cost / ops + job.op_us, "slow": 1.5 + cost / ops / job.op_us,
                "backward": cost / job.batches}.get(style, cost)
        return Fault(kind, size, (one,), style=style)
    if kind == "data_loader":
        if chance(r, 0.35):
            return Fault(kind, cost, tuple(range(job.world)))
        loaders = [n for n in range(job.world) if not job.tp0_loads or any(
            g.dim == "tp" and g.ranks[0] == n for g in job.groups)]
        return Fault(kind, cost, (r.choice(loaders),))
    if kind == "throttling":
        step = r.randint(2, job.steps - 3)
        return Fault(kind, 1.0 + cost / busy * job.steps / (job.steps - step), (one,), step=step,
                     style="clock" if chance(r, 0.5) else "")
    if kind == "pauses":
        count = max(3, int(job.steps * r.uniform(0.4, 0.8)))
        ranks = r.sample(range(job.world), min(job.world, count))
        steps = r.sample(range(job.steps), count)
        found = tuple((ranks[n % len(ranks)], s, r.randint(2, 20), r.uniform(0.7, 1.3)) for n, s in enumerate(steps))
        return Fault(kind, cost * job.steps / count, places=found)
    if kind == "outlier_step":
        style = r.choice(("checkpoint", "compile", "memory", "longer"))
        step = 0 if style == "compile" and chance(r, 0.3) else r.randint(1, job.steps - 1)
        size = 1.0 + cost * job.steps / busy if style == "longer" else cost * job.steps
        return Fault(kind, size, step=step, style=style)
    if kind == "slow_group":
        found = [g for g in job.groups if g.dim != "mp" and len(job.siblings(g)) > 1]
        if not found:
            return None
        dim = r.choice(sorted({g.dim for g in found}))
        return Fault(kind, r.uniform(1.8, 4.0), group=r.choice([g for g in found if g.dim == dim]).index)
    if kind == "stage_imbalance":
        return Fault(kind, 1, stage=r.randrange(job.pp))
    if kind == "sync_calls":
        job.batch_host_us = cost / job.batches * r.uniform(0.5, 1.2)
        if job.batch_host_us * job.batches > 0.7 * busy:
            return None
        return Fault(kind, 1.0, style=r.choice(("batch ", "layer ")) + r.choice(("item", "device")))
    raise ValueError(kind)


def grown(job, fault, share):
    """A larger fault, or None if this kind cannot be larger; `share` is what it costs now."""
    more = min(3.0, max(1.4, 0.08 / max(share, 0.005)))
    fault = dataclasses.replace(fault)
    if fault.kind in ("slow_rank", "throttling", "slow_group") or fault.style in ("longer", "slow"):
        fault.size = 1.0 + (fault.size - 1.0) * more
        if fault.size > (12.0 if fault.kind == "slow_group" else 4.0):
            return None
    elif fault.kind == "stage_imbalance":
        fault.size += 1
        if fault.size > (job.layers[0] - 1) * (job.pp - 1) or fault.size > job.layers[0]:
            return None
    elif fault.kind == "sync_calls":
        job.batch_host_us *= more
        if job.batch_host_us * job.batches > 2.0 * job.layer_us * job.layers[0] * job.batches:
            return None
    else:
        fault.size *= more
    return fault


def bubble_cost(job, base):
    """What filling and draining the pipeline takes: a micro-batch, with all that it waits for, for each other stage."""
    if job.pp == 1:
        return 0.0
    longer = job.with_fault(None, False)
    longer.batches = 2 * job.batches
    return (job.pp - 1) * (jobs_training.simulate(longer)[3] - base) / job.batches


def faulty_job(r, kind, most):
    """A job with a fault that costs at least LEAST of the step; its mean step, and what the fault costs, in us."""
    while True:
        job = draw_job(r, kind, most)
        try:
            found = size_fault(r, job, kind)
        except RuntimeError:  # such a program would hang
            continue
        if found:
            return found


def bound_cost(job, kind, base):
    return bubble_cost(job, base) if kind == "bubble" else base - jobs_training.simulate(job.without_bound(kind))[3]


def size_fault(r, job, kind):
    base = jobs_training.simulate(job)[3]
    if kind in BOUNDS:
        cost = bound_cost(job, kind, base)
        if cost < DOMINANT[kind] * base or any(bound_cost(job, other, base) > cost for other in BOUNDS):
            return None
        draw_cut(r, job, None)
        return job, Fault(kind), base, cost
    fault = draw_fault(r, job, kind, base)
    if fault is None:
        return None
    if kind == "sync_calls":
        base = jobs_training.simulate(job)[3]
    for _ in range(6):
        step = jobs_training.simulate(job.with_fault(fault, False))[3]
        share = (step - base) / step
        if share >= LEAST:
            break
        fault = grown(job, fault, share)
        if fault is None:
            return None
        if kind == "sync_calls":
            base = jobs_training.simulate(job)[3]
    else:
        return None
    if share > 0.75:
        return None
    draw_cut(r, job, fault)
    if job.late or job.short:  # fewer steps count
        base, step = (jobs_training.simulate(job.with_fault(f, False))[3] for f in (None, fault))
        if step - base < LEAST * step:
            return None
    return job.with_fault(fault), fault, step, step - base


def healthy_job(r, most):
    kind = r.choice(HEALTHY)
    job = draw_job(r, kind, most)
    draw_cut(r, job, None)
    return job, kind
