# SPDX-License-Identifier: Apache-2.0
"""Random layers: kernels of several makers with real names, their times, and the collectives between them."""
import math

MATMULS = (
    ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT",
     "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT"),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8>"
     "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8::Params)",
     "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_64x2_nn_align8"),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel"
     "__5x_cublas", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize256x128x64_cublas"),
    ("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
     "ampere_bf16_s1688gemm_bf16_128x128_ldg8_stages_32x1_nt"))
AMD = ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0",
       "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB1")
AITER = ("aiter::fmha_fwd_hd128_bf16_causal_rtne_group", "aiter::fmha_bwd_hd128_bf16_causal_a32_rtne_pssk")
ATTENTIONS = (
    ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4> >(Flash_fwd_params)",
     "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128> >()"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
     "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_4x1x1_kernel0_0"),
    ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
     "fmha_cutlassB_bf16_aligned_128x64_k128_sm80(PyTorchMemEffAttention::AttentionBackwardKernel::Params)"))
NORMS = ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)",
         "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3", "void rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)")
POINTWISE = ("void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16> >(int)",
             "triton_poi_fused_add_mul_silu_5",
             "void at::native::elementwise_kernel<128, 4, at::native::gelu_functor>(int)")
GRADIENTS = {"norm": "NativeLayerNormBackward0", "act": "SiluBackward0", "add": "AddBackward0",
             "router": "TopkBackward0", "experts": "GroupedMmBackward0",
             "attention": "ScaledDotProductFlashAttentionBackward0"}
GRADIENT = {"all_gather": "reduce_scatter", "reduce_scatter": "all_gather"}  # the collective of the backward pass


def log_uniform(r, low, high):
    return math.exp(r.uniform(math.log(low), math.log(high)))


def chance(r, p):
    return r.random() < p


def elements(us, rate):
    """Elements of two bytes of a transfer that takes this time at a rate in bytes/us; 6 us of the time are latency."""
    return max(64, int(max(1.0, us - 6.0) * rate / 2) // 64 * 64)


def shares_of(r, job, kind, full):
    """Parts of a layer's forward pass in order: (name, share of its time). Collectives have no share."""
    memory = {"memory_bound": r.uniform(1.5, 5.0), "compute_bound": r.uniform(0.05, 0.15)}.get(kind)
    memory = memory or r.uniform(0.1, 0.5)
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
    return [(n, s) for n, s in shares if n != "tp" or job.tp > 1]


def calls_of(job, name, count, sequence_parallel):
    """Collectives at one place of a layer, forward."""
    if name == "tp" and sequence_parallel:
        return ("reduce_scatter", "all_gather") if count % 2 else ("all_gather", "reduce_scatter")
    return {"tp": ("all_reduce",), "ep": ("all_to_all",),
            "cp": ("all_gather" if job.cp_style == "all_gather" else "all_to_all",)}[name]


def draw_transfers(r, job, kind):
    """Microseconds of a layer's collectives, and bytes per microsecond, by dimension."""
    low, high = {"exposed_communication": (0.35, 0.8), "launch_bound": (0.02, 0.05), "bubble": (0.02, 0.05)}.get(
        kind, (0.03, 0.2))
    least = 4.0 if kind == "launch_bound" else 10.0
    us = {dim: max(least, job.layer_us * r.uniform(low, high)) for dim in ("tp", "ep", "cp")}
    return us, {"tp": r.uniform(4e4, 1.2e5), "ep": r.uniform(5e3, 3e4), "cp": r.uniform(5e3, 3e4)}


def draw_layer(r, job, kind):
    """Kernels and collectives of a layer, forward and backward, and those outside of layers."""
    full = job.pp == 1 and chance(r, 0.5)
    job.matmuls, (attend, attend_back) = r.choice(MATMULS), r.choice(ATTENTIONS)
    if chance(r, 0.08):
        job.matmuls, (attend, attend_back) = AMD, AITER
    norm, point = r.choice(NORMS), r.choice(POINTWISE)
    shares = shares_of(r, job, kind, full)
    total = sum(s for _, s in shares)
    mean = log_uniform(r, 2.0, 8.0) if kind == "launch_bound" else log_uniform(r, 45, 400)
    job.layer_us = mean * sum(s > 0 for _, s in shares)
    us, rate = draw_transfers(r, job, kind)
    sequence_parallel = chance(r, 0.4)
    names = {"norm": ("aten::native_layer_norm", norm), "act": ("aten::silu", point), "add": ("aten::add_", point),
             "router": ("aten::topk", "void at::native::sbtopk::gatherTopK<c10::BFloat16, unsigned int, 2>()"),
             "experts": ("aten::_grouped_mm", "void cutlass::device_kernel<at::cuda::detail::GroupedGemm>(Params)"),
             "attention": ("aten::_scaled_dot_product_flash_attention", attend)}
    job.forward, job.backward, places = [], [], 0
    for name, share in shares:
        if name in us:
            kinds = calls_of(job, name, places, sequence_parallel)
            places += name == "tp"
            t = us[name] / len(kinds)
            for k in kinds:
                job.forward.append(("comm", name, k, t, elements(t, rate[name])))
            for k in kinds:
                job.backward.append(("comm", name, GRADIENT.get(k, k), t, elements(t, rate[name])))
            continue
        t = job.layer_us * share / total
        op, kernel = names.get(name, ("aten::mm", job.matmuls[len(job.forward) % len(job.matmuls)]))
        spread = (r.uniform(0.02, 0.06),) if name == "experts" else ()
        what = "attention" if name == "attention" else "kernel"
        job.forward.append((what, op, kernel, t) + spread)
        grad = "autograd::engine::evaluate_function: " + GRADIENTS.get(name, "MmBackward0")
        if name == "attention":
            job.backward.append((what, grad, attend_back, 2.0 * t))
        elif op == "aten::mm" and full:
            job.backward.append((what, grad, job.matmuls[0], t))
            job.backward.append((what, "aten::mm", job.matmuls[-1], t))
        else:
            twice = op == "aten::mm" or name == "experts"
            job.backward.append((what, grad, kernel, (2.0 if twice else 1.4) * t) + spread)
    job.backward.reverse()


def draw_ends(r, job):
    """Kernels outside of layers: embedding, head, loss, norm and clipping of gradients, optimizer."""
    native, us = "void at::native::(anonymous namespace)::", job.layer_us
    job.head = ("aten::mm", job.matmuls[0], us * r.uniform(0.02, 0.08))
    job.loss = ("aten::_log_softmax", native + "cunn_SoftMaxForward<4, float>(float*)", us * 0.02)
    job.embedding = ("aten::embedding", native + "indexSelectLargeIndex<c10::BFloat16>()", us * r.uniform(0.01, 0.05))
    job.norm = ("aten::_foreach_norm", native + "multi_tensor_apply_kernel<LpNormFunctor>()", us * 0.05)
    job.clip = ("aten::_foreach_mul_", native + "multi_tensor_apply_kernel<BinaryOpScalar>()", us * 0.05)
    job.adam = ("aten::_fused_adamw_", native + "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >()",
                us * r.uniform(0.05, 0.3))
