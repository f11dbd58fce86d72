# SPDX-License-Identifier: Apache-2.0
"""Random training jobs and their faults: shapes, sizes, process groups, hosts, and what a fault changes."""
import copy
import dataclasses
import hashlib
import math

from jobs_simulation import COMPUTE, Noise
import jobs_training

ACCUSED = ("slow_rank", "late_host", "data_loader", "throttling", "pauses", "outlier_step", "slow_group",
           "stage_imbalance", "sync_calls")
BOUNDS = ("launch_bound", "exposed_communication", "bubble")
KINDS = ACCUSED + BOUNDS
HEALTHY = ("compute_bound", "memory_bound", "mixed")
LEAST = 0.05  # share of the step that a fault costs at least

MATMULS = (
    ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT",
     "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT"),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8>"
     "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8::Params)",
     "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_64x2_nn_align8"),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel"
     "__5x_cublas", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize256x128x64_cublas"),
    ("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", "ampere_bf16_s1688gemm_bf16_128x128_ldg8_stages_32x1_nt"))
AMD = ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0",
       "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB1")
AITER = ("aiter::fmha_fwd_hd128_bf16_causal_rtne_group", "aiter::fmha_bwd_hd128_bf16_causal_a32_rtne_pssk")
ATTENTIONS = (
    ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4> >(Flash_fwd_params)",
     "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128> >(Flash_bwd_params)"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
     "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_4x1x1_kernel0_0"),
    ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
     "fmha_cutlassB_bf16_aligned_128x64_k128_sm80(PyTorchMemEffAttention::AttentionBackwardKernel::Params)"))
NORMS = ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)",
         "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3", "void rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)")
POINTWISE = ("void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16> >(int)",
             "triton_poi_fused_add_mul_silu_5",
             "void at::native::elementwise_kernel<128, 4, at::native::gelu_functor>(int)")


class Group:
    """A process group: its name, dimension, members, streams, and how much longer its transfers take."""

    def __init__(self, index, name, dim, desc, ranks):
        self.index, self.name, self.dim, self.desc, self.ranks = index, name, dim, desc, ranks
        self.members, self.stream, self.sequence, self.factor = frozenset(ranks), {}, {}, 1.0


@dataclasses.dataclass
class Fault:
    """What is wrong with a job: `size` is a factor or microseconds."""
    kind: str
    size: float = 0.0
    ranks: tuple = ()
    group: int = -1
    stage: int = -1
    step: int = -1
    style: str = ""
    places: tuple = ()  # pauses: (rank, step, operation)


def log_uniform(r, low, high):
    return math.exp(r.uniform(math.log(low), math.log(high)))


def chance(r, p):
    return r.random() < p


class Job:
    """A job: what is drawn, and what the simulation asks of it. `fault` is None or what is wrong."""

    record = True
    fault = None
    host_scale = 1.0
    transfers = 1.0  # factor of all transfers

    # Who is where

    def rank_at(self, pp, dp, cp, tp):
        if self.layout == "tp-cp-pp-dp":
            return ((dp * self.pp + pp) * self.cp + cp) * self.tp + tp
        return ((pp * self.dp + dp) * self.cp + cp) * self.tp + tp

    def stage_of(self, rank):
        return self.stages[rank]

    def members_of(self, key):
        return len(self.groups[key[0]].ranks) if len(key) == 2 else 2

    def siblings(self, group):
        return [g for g in self.groups if g.dim == group.dim]

    # Times

    def compute_factor(self, rank, step):
        f, factor = self.fault, self.speed[rank]
        if f and (f.kind == "slow_rank" and rank in f.ranks
                  or f.kind == "throttling" and rank in f.ranks and step >= f.step
                  or f.kind == "outlier_step" and f.style == "longer" and step == f.step):
            factor *= f.size
        return factor

    def host_cost(self, rank, step):
        """Factor of each host operation and what the host needs more before it."""
        factor = self.host_scale * (self.warm if step == 0 else 1.0)
        f = self.fault
        if f and f.kind == "late_host" and rank in f.ranks:
            if f.style == "python":
                return factor, f.size
            if f.style == "slow":
                return factor * f.size, 0.0
        return factor, 0.0

    def transfer(self, group, us, n):
        z = min(6.0, self.noise.at(self.noise.place(group.index, 7, 0, 0, 7), n))
        return us * group.factor * max(0.3, 1.0 + self.transfer_sigma * z)

    def own_stream(self, dim):
        return self.tp_stream or dim not in ("tp", "cp", "ep")

    # Hosts

    def loads(self, r):
        return not self.tp0_loads or r.number == r.groups["tp"].ranks[0]

    def loader_time(self, rank, step):
        f = self.fault
        return self.loader_us + (f.size if f and f.kind == "data_loader" and rank in f.ranks else 0.0)

    def gap(self, r, place):
        f = self.fault
        if f and f.kind == "late_host" and f.style == place and r.number in f.ranks:
            r.busy(f.size * (1.0 + 0.05 * r.z()))

    def compile_gap(self, r, layer):
        f = self.fault
        if f and f.kind == "outlier_step" and f.style == "compile" and r.step == f.step:
            r.begin("user_annotation", "Torch-Compiled Region: %d/1" % layer)
            r.busy(f.size / max(self.layers) / self.batches * (1.0 + 0.05 * abs(r.z())))
            r.end()
        if f and f.kind == "sync_calls" and f.style.startswith("layer") and layer:
            self.synchronise(r, f.style)

    def batch_begins(self, r):
        f = self.fault
        if f and f.kind == "sync_calls":
            self.synchronise(r, f.style)
        r.busy(self.batch_host_us * (1.0 + 0.1 * abs(r.z())))

    def synchronise(self, r, style):
        if style.endswith("item"):
            r.item()
        else:
            r.sync("device_sync", list(r.last.values()))

    def step_ends(self, r, step):
        f = self.fault
        if not (f and f.kind == "outlier_step" and step == f.step):
            return
        if f.style == "checkpoint":
            r.sync("device_sync", list(r.last.values()))
            for _ in range(3):
                r.kernel("aten::copy_", "Memcpy DtoH (Device -> Pinned)", f.size * 0.05, cat="gpu_memcpy",
                         args=int(f.size * 1200), call="copy")
            r.sync("stream_sync", [r.last[COMPUTE]])
            r.busy(f.size * 0.85 * (1.0 + 0.01 * abs(r.z())))
        elif f.style == "memory":
            r.sync("device_sync", list(r.last.values()))
            for _ in range(4):
                before = r.host
                r.busy(f.size / 4 * (1.0 + 0.02 * abs(r.z())))
                r.call += 1
                r.row("runtime", "free", before, 0.3, r.host, -0.2, (r.call, None))

    # Faults

    def with_fault(self, fault, record=True):
        """The same job, all of its random numbers the same, with a fault (None: without)."""
        job = copy.copy(self)
        job.fault, job.record = fault, record
        job.slow_groups, job.pauses, job.layers = {}, {}, list(self.balanced)
        if fault is None:
            return job
        if fault.kind == "slow_group":
            job.slow_groups = {fault.group: fault.size}
        elif fault.kind == "pauses":
            job.pauses = {(rank, step): (at, fault.size * share) for rank, step, at, share in fault.places}
        elif fault.kind == "stage_imbalance":
            others = [s for s in range(self.pp) if s != fault.stage]
            for n in range(int(fault.size)):
                job.layers[others[n % len(others)]] -= 1
                job.layers[fault.stage] += 1
        return job

    def without_bound(self, kind):
        """The job without what bounds it: a host that launches at once, or transfers that take no time."""
        job = self.with_fault(None, False)
        if kind == "launch_bound":
            job.host_scale = 0.02
        elif kind == "exposed_communication":
            job.transfers = 0.0
        return job


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


def places(job):
    return [(pp, dp, cp, tp) for pp in range(job.pp) for dp in range(job.dp) for cp in range(job.cp)
            for tp in range(job.tp)]


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


def elements(us, rate):
    """Elements of two bytes of a transfer that takes so long, of which 6 us are latency, at a rate in bytes/us."""
    return max(64, int(max(1.0, us - 6.0) * rate / 2) // 64 * 64)


def draw_layer(r, job, kind):
    """Kernels and collectives of a layer, forward and backward."""
    full = job.pp == 1 and chance(r, 0.5)
    matmuls, (attend, attend_back) = r.choice(MATMULS), r.choice(ATTENTIONS)
    if chance(r, 0.08):
        matmuls, (attend, attend_back) = AMD, AITER
    job.forward_maker = matmuls
    norm, point = r.choice(NORMS), r.choice(POINTWISE)
    memory = {"memory_bound": r.uniform(1.5, 5.0), "compute_bound": r.uniform(0.05, 0.15)}.get(kind, r.uniform(0.1, 0.5))
    shares = [("norm", 0.1 * memory), ("qkv", 0.22), ("attention", r.uniform(0.08, 0.4)), ("proj", 0.1), ("tp", 0),
              ("norm", 0.1 * memory), ("fc1", 0.3), ("act", 0.25 * memory), ("fc2", 0.28), ("tp", 0),
              ("add", 0.15 * memory)]
    if job.ep > 1:
        shares[6:9] = [("router", 0.05), ("ep", 0), ("experts", 0.6), ("act", 0.2 * memory), ("ep", 0)]
    if not full:
        drop = ("proj", "add", "act") if kind != "memory_bound" else ("proj",)
        shares = [(n, s) for k, (n, s) in enumerate(shares) if n not in drop and not (n == "norm" and k == 0)]
    if job.cp > 1 and job.cp_style != "ring":
        at = [n for n, _ in shares].index("attention")
        shares[at:at] = [("cp", 0)]
        if job.cp_style == "all_to_all":
            shares[at + 2:at + 2] = [("cp", 0)]
    total = sum(s for _, s in shares)
    kernels = sum(s > 0 for _, s in shares)
    mean = log_uniform(r, 2.0, 5.0) if kind == "launch_bound" else log_uniform(r, 45, 400)
    job.layer_us = mean * kernels
    big = kind == "exposed_communication"
    quiet = kind in ("launch_bound", "bubble")
    us = {"tp": job.layer_us * (r.uniform(0.25, 0.5) if big else r.uniform(0.02, 0.05) if quiet else r.uniform(0.03, 0.2)),
          "ep": job.layer_us * (r.uniform(0.25, 0.5) if big else r.uniform(0.03, 0.2)),
          "cp": job.layer_us * (r.uniform(0.2, 0.4) if big else r.uniform(0.03, 0.15))}
    us = {k: max(4.0 if kind == "launch_bound" else 10.0, v) for k, v in us.items()}
    rate = {k: r.uniform(1e5, 4e5) for k in us}
    sequence_parallel = chance(r, 0.4)
    job.forward, job.backward = [], []
    names = {"norm": ("aten::native_layer_norm", norm), "act": ("aten::silu", point), "add": ("aten::add_", point),
             "router": ("aten::topk", "void at::native::sbtopk::gatherTopK<c10::BFloat16, unsigned int, 2>()"),
             "experts": ("aten::_grouped_mm", "void cutlass::device_kernel<at::cuda::detail::GroupedGemm>(Params)"),
             "attention": ("aten::_scaled_dot_product_flash_attention", attend)}
    grads = {"norm": "NativeLayerNormBackward0", "act": "SiluBackward0", "add": "AddBackward0",
             "router": "TopkBackward0", "experts": "GroupedMmBackward0",
             "attention": "ScaledDotProductFlashAttentionBackward0"}
    tps = 0
    for name, share in shares:
        if name in us:
            if name == "tp" and job.tp == 1:
                continue
            kinds = {"tp": ("all_reduce",), "ep": ("all_to_all",),
                     "cp": ("all_gather" if job.cp_style == "all_gather" else "all_to_all",)}[name]
            if name == "tp" and sequence_parallel:
                kinds = ("reduce_scatter", "all_gather") if tps % 2 else ("all_gather", "reduce_scatter")
                tps += 1
            for k in kinds:
                t = us[name] / len(kinds)
                job.forward.append(("comm", name, k, t, elements(t, rate[name])))
            back = {"all_gather": "reduce_scatter", "reduce_scatter": "all_gather"}
            for k in kinds:
                t = us[name] / len(kinds)
                job.backward.append(("comm", name, back.get(k, k), t, elements(t, rate[name])))
            continue
        t = job.layer_us * share / total
        op, kernel = names.get(name, ("aten::mm", matmuls[len(job.forward) % len(matmuls)]))
        spread = (r.uniform(0.02, 0.06),) if name == "experts" else ()
        what = "attention" if name == "attention" else "kernel"
        job.forward.append((what, op, kernel, t) + spread)
        grad = "autograd::engine::evaluate_function: " + grads.get(name, "MmBackward0")
        if name == "attention":
            job.backward.append((what, grad, attend_back, 2.0 * t))
        elif op == "aten::mm" and full:
            job.backward.append((what, grad, matmuls[0], t))
            job.backward.append((what, "aten::mm", matmuls[-1], t))
        else:
            job.backward.append((what, grad, kernel, (2.0 if op == "aten::mm" or name == "experts" else 1.4) * t) + spread)
    job.backward.reverse()
    job.head = ("aten::mm", matmuls[0], job.layer_us * r.uniform(0.02, 0.08))
    job.loss = ("aten::_log_softmax", "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*)",
                job.layer_us * 0.02)
    job.embedding = ("aten::embedding", "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16>()",
                     job.layer_us * r.uniform(0.01, 0.05))
    job.norm = ("aten::_foreach_norm", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<LpNormFunctor>()",
                job.layer_us * 0.05)
    job.clip = ("aten::_foreach_mul_", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<BinaryOpScalar>()",
                job.layer_us * 0.05)
    job.adam = ("aten::_fused_adamw_", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
                "(anonymous namespace)::FusedAdamMathFunctor<float, 4> >()", job.layer_us * r.uniform(0.05, 0.3))
    return len(job.forward), len(job.backward)


def draw_sizes(r, job, kind):
    """Layers, micro-batches and steps within a budget of kernels; transfers of gradients and messages."""
    job.cp_style = r.choice(("all_gather", "all_gather", "all_to_all", "ring"))
    fore, back = draw_layer(r, job, kind)
    budget = (150 if job.world <= 32 else 90) / (fore + back)  # layers times micro-batches
    if kind == "launch_bound":
        budget *= 1.5
    job.gpipe = chance(r, 0.35)
    if job.pp > 1:
        most = max(job.pp, int(budget) // 2)
        job.batches = r.randint(max(1, job.pp // 2), job.pp) if kind == "bubble" else r.randint(job.pp, min(most, 3 * job.pp))
        if kind not in ("bubble", "stage_imbalance"):
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
    share = r.uniform(0.3, 0.8) if big else r.uniform(0.02, 0.1) if quiet else \
        r.uniform(0.2, 0.8) if job.overlap else r.uniform(0.05, 0.3)
    job.gather_us = max(12.0, job.layer_us * share)
    job.bucket_us = job.gather_us * r.uniform(1.0, 1.8)
    job.replica_us = job.gather_us * r.uniform(0.3, 0.8)
    job.grad_width = r.choice((1.0, 1.0, 2.0))
    job.unit_elements = elements(job.gather_us, r.uniform(2e4, 1e5))
    job.bucket = r.choice((1, 1, 2))
    stage = job.layer_us * job.layers[0]
    job.message_us = max(10.0, stage * (r.uniform(0.08, 0.2) if big else r.uniform(0.005, 0.08)))
    job.message_elements = elements(job.message_us, r.uniform(2e4, 2e5))
    job.ring_us, job.ring_elements = max(10.0, job.layer_us * r.uniform(0.02, 0.12)), 1 << r.randint(18, 23)
    job.batched = job.pp > 1 and not job.gpipe and chance(r, 0.4)
    job.batched_args = chance(r, 0.6)
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
    spread = r.choice((0.0, 0.001, 0.003))
    job.speed = [1.0 + max(-2.0, min(2.0, r.gauss(0, 1))) * spread for _ in range(job.world)]
    job.warm = r.uniform(1.05, 1.3) if chance(r, 0.3) else 1.0
    job.autograd_thread = chance(r, 0.85)
    job.tp_stream = chance(r, 0.6)
    job.clips, job.updates = chance(r, 0.6), r.choice((1, 1, 2, 4))
    job.optimizer_name = r.choice((None, "Optimizer.step#AdamW.step", "Optimizer.step#Adam.step"))
    busy = 3.0 * job.layer_us * job.layers[0] * job.batches
    job.loader_name = "enumerate(DataLoader)#_%sDataLoaderIter.__next__" % r.choice(("MultiProcessing", "MultiProcessing",
                                                                                     "SingleProcess"))
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


def draw_style(r, job):
    """How the capture is written."""
    job.style = {
        "wait_rows": chance(r, 0.3), "param_comms": chance(r, 0.5), "sequence": chance(r, 0.5), "flows": chance(r, 0.2),
        "rich": chance(r, 0.3), "gpu_notes": chance(r, 0.3), "seq": chance(r, 0.2), "rank_args": chance(r, 0.4),
        "config": r.choice(("full", "full", "strings", "none")), "base": r.choice(("new", "new", "old")),
        "files": r.choice(("worker", "rank_trace", "host_pid", "rank")), "gzip": chance(r, 0.8),
        "device": r.choice((("NVIDIA H100 80GB HBM3", 9, 0, 132, 85174583296), ("NVIDIA H100 80GB HBM3", 9, 0, 132, 85174583296),
                            ("NVIDIA A100-SXM4-80GB", 8, 0, 108, 85094825984), ("NVIDIA B200", 10, 0, 148, 191498223616))),
        "driver_launch": chance(r, 0.5), "peers": chance(r, 0.7), "old_nccl": chance(r, 0.15),
        "nested": chance(r, 0.4)}
    if job.forward_maker == AMD:
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
                job.late[n] = 1
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
    """A fault of a kind with a first guess of its size, or None if the job cannot have it. `base` is the step without."""
    share = r.uniform(LEAST, 0.35)
    cost = base * share / (1.0 - share)
    one = r.randrange(job.world)
    busy = 3.0 * job.layer_us * job.layers[0] * job.batches
    if kind == "slow_rank":
        return Fault(kind, 1.0 + cost / busy, (one,))
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
        return Fault(kind, 1.0 + cost / busy * job.steps / (job.steps - step), (one,), step=step)
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
        found = [g for g in job.groups if g.dim not in ("mp", "replica") and len(job.siblings(g)) > 1]
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


def bubble_cost(job):
    """What filling and draining the pipeline takes."""
    return (job.pp - 1) * 3.0 * job.layer_us * job.layers[0]


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


def size_fault(r, job, kind):
    base = jobs_training.simulate(job)[3]
    if kind in BOUNDS:
        cost = bubble_cost(job) if kind == "bubble" else base - jobs_training.simulate(job.without_bound(kind))[3]
        if cost < 0.2 * base:
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
    return job.with_fault(fault), fault, step, step - base


def healthy_job(r, most):
    kind = r.choice(HEALTHY)
    job = draw_job(r, kind, most)
    draw_cut(r, job, None)
    return job, kind
