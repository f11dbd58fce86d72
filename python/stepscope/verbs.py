# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_verbs.py from the flags of the command.
"""The verbs. Keywords are the flags of the command, which help(verb) explains as `stepscope help VERB` does.
A keyword that is None is not given. Each verb reads its inputs without the GIL, can be called from several threads
at once, and stops on Ctrl-C. It raises UsageError where an argument is wrong and Error where nothing can be answered.
"""

from __future__ import annotations

import os

from stepscope import _core
from stepscope.inputs import axes_of, files as given_files, flag, list_text, plans_of, settings_text, span_text
from stepscope.results import (
    Analysis,
    Check,
    Comparison,
    Digest,
    Hang,
    Live,
    Memory,
    PlanSearch,
    Prediction,
    Projection,
    Runs,
    Stacks,
    Sweep,
    WhatIf,
)

TYPE_CHECKING = False  # typing would be a sixth of the time to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import IO, Any, Literal, Union

    Input = Union[str, "os.PathLike[str]", IO[Any]]
    Inputs = Union[Input, Iterable[Input]]
    Named = Union[str, "os.PathLike[str]", Mapping[str, Any]]  # a name, a file, or the content of a JSON file
    Span = Union[int, str, "tuple[Any, Any]", range]
    Numbers = Union[int, str, Iterable[int]]
    Settings = Union[str, Mapping[str, Any]]
    Axes = Union[str, Sequence[str], Mapping[str, Iterable[Any]]]


def words_of(command: str | Sequence[str]) -> list[str]:
    import shlex

    return shlex.split(command) if isinstance(command, str) else [str(word) for word in command]


def share_text(share: float | str) -> str:
    return share if isinstance(share, str) else f"{share * 100:.12g}%"


def analyze(
    inputs: Inputs,
    *,
    steps: Span | None = None,
    ranks: Numbers | None = None,
    model: Named | None = None,
    machine: Named | None = None,
    peak_tflops: float | None = None,
    filter_time: Span | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
    gpu_log_zone: str | None = None,
    groups: Named | None = None,
    tp: int | None = None,
    pp: int | None = None,
    dp: int | None = None,
    threads: int | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    model_flops_per_step: float | None = None,
    peak_dtype: Literal["bf16", "fp16", "fp8", "tf32", "fp32"] | None = None,
    price: float | None = None,
    gpus_per_node: int | None = None,
    plan: Named | None = None,
    tensor_layout: Literal["1d", "2d", "2.5d", "3d"] | None = None,
    tp_rows: int | None = None,
    tp_columns: int | None = None,
    tp_depth: int | None = None,
    sequence_parallel: bool | None = None,
    sequence_degree: int | None = None,
    cp: int | None = None,
    context_exchange: Literal["all_gather", "ring", "all_to_all"] | None = None,
    ep: int | None = None,
    expert_tp: int | None = None,
    expert_dispatch: Literal["all_to_all", "forwarded"] | None = None,
    expert_load: int | None = None,
    narrow_dispatch: bool | None = None,
    schedule: Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "dualpipe"] | None = None,
    virtual_stages: int | None = None,
    stage_layers: Numbers | None = None,
    zero: int | None = None,
    shard_group: int | None = None,
    recompute: str | None = None,
    recompute_modules: str | None = None,
    narrow_swiglu: bool | None = None,
    narrow_attention_output: bool | None = None,
    offload: Settings | None = None,
    torch_buffers: bool | None = None,
    images: int | None = None,
    image_patches: int | None = None,
    micro_batch: int | None = None,
    reduce_each_micro_batch: bool | None = None,
    attention: Literal["fused", "materialised"] | None = None,
    vendor_attention: bool | None = None,
    narrow_attention: bool | None = None,
    fp8_rowwise: bool | None = None,
    narrow_head: bool | None = None,
    grouped_experts: bool | None = None,
    fused_experts: bool | None = None,
    fused_pointwise: bool | None = None,
    compiled: bool | None = None,
    fused_loss: bool | None = None,
    loss_in_place: bool | None = None,
    fused_gradient_sum: bool | None = None,
    cuda_graphs: Literal["none", "layers", "step"] | None = None,
    vocabulary_multiple: int | None = None,
    no_overlap: str | Sequence[str] | None = None,
    prefetch: int | None = None,
    gather_singly: bool | None = None,
    bucket: int | str | None = None,
    tp_overlap: bool | None = None,
    ep_overlap: bool | None = None,
    expert_sms: int | None = None,
    lora_rank: int | None = None,
    lora_targets: str | None = None,
    freeze: str | None = None,
    freeze_layers: int | None = None,
    dtype: Literal["fp32", "tf32", "bf16", "fp16", "fp8", "fp4"] | None = None,
    grad_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    accumulate_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    moments_dtype: Literal["fp32", "bf16"] | None = None,
) -> Analysis:
    """Accounts for every nanosecond of each step of a run: computing, communicating, waiting
    for a peer, copying or idle, and why. Also says which rank is late and what to try
    first.

    inputs: Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories,
        patterns, URLs (https://, s3://). Logs of GPUs (nvidia-smi, DCGM) may be among the
        files.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3, 6).
    ranks: Only these ranks: 0,2,8-15 (or 8:15).
    model: Model of the run, for its FLOPs and the expected step: a name, a file of ours or a
        Hugging Face config.json.
    machine: Device of the run: a machine of the catalogue or a file.
    peak_tflops: Peak of one device in TFLOP/s, instead of the catalogue's.
    filter_time: Only this span of time since the capture began: 10s:20s, 500ms: or :30s. For
        exports of Nsight Systems. Give ('10s', '20s').
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    gpu_log_zone: Zone of the times in logs of GPUs that name none: UTC, +01:00, -03:30. Without
        it the zone in which log and capture overlap, if there is only one.
    groups: Dimension of each process group: lines 'group dp|tp|sp|pp|cp|ep'.
    tp: Tensor-parallel devices, where the traces do not show it.
    pp: Pipeline stages, where the traces do not show it.
    dp: Data-parallel devices, where the traces do not show it.
    threads: Threads to use. Default: all cores.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    model_flops_per_step: FLOPs of the model for one global batch, without recomputation,
        instead of model.
    peak_dtype: Format whose peak counts where the trace does not show the format.
    price: Price of a GPU-hour, which shows each loss in money a day too.
    gpus_per_node: Devices that share the fast links.
    plan: Plan as a JSON file. Flags override it.
    tensor_layout: Cut of matrix products over tensor-parallel devices. Default: 1d.
    tp_rows: Rows of the grid in the 2d, 2.5d and 3d layouts. Without sides it is square, or a
        cube.
    tp_columns: Columns of the grid in the 2d, 2.5d and 3d layouts.
    tp_depth: Copies of the grid in the 2.5d layout, third side in the 3d layout. Default: 1.
    sequence_parallel: Split norms and residuals over the tensor-parallel devices.
    sequence_degree: Devices over which sequence-parallel splits. Without it tp.
    cp: Context-parallel devices. Default: 1.
    context_exchange: Exchange of keys between context-parallel devices. Default: all_gather.
    ep: Expert-parallel devices, among the cp * dp ones. Default: 1.
    expert_tp: Tensor-parallel devices of an expert: 1 or tp. Without it tp.
    expert_dispatch: Copies of a token: one for each chosen expert, or for each rank and domain
        with some. Default: all_to_all.
    expert_load: Tokens of the fullest device's experts, in percent of the mean. Default: 100.
    narrow_dispatch: Send tokens to experts, and gradients back to them, in fp8.
    schedule: Order of the pipeline's passes. Default: 1f1b.
    virtual_stages: Chunks of the model on one device (interleaved). Default: 1.
    stage_layers: Layers of each (virtual) stage, in model order.
    zero: States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters.
        Default: 0.
    shard_group: Devices of a group that splits states. Groups hold copies.
    recompute: Recomputation in backward. With every:K the first of each K layers stays whole.
        Default: none.
    recompute_modules: Parts of layers computed again: core_attention, norms, expert_activation,
        experts, feed_forward, latent_up, hyper_connections.
    narrow_swiglu: Keep the inputs of SwiGLU for backward in fp8.
    narrow_attention_output: Keep attention's output for backward once, in 12 bits, if the dtype
        is fp8 or fp4.
    offload: Place of states: optimizer, gradients or parameters = host or nvme.
    torch_buffers: Keep buffers as PyTorch's fully_shard and pipelining do.
    images: Images of a sequence, which the model's tower encodes.
    image_patches: Patches of an image, before the tower merges them.
    micro_batch: Sequences of one pass on one device. Default: 1.
    reduce_each_micro_batch: Reduce gradients after every pass, not once a step.
    attention: Attention kernel. With fused, scores stay out of memory. Default: fused.
    vendor_attention: Take the vendor's fused attention (cuDNN).
    narrow_attention: Run attention's products in fp8 if the dtype is fp8 or fp4.
    fp8_rowwise: Scale fp8 operands row by row (torchao's rowwise), not by tensor.
    narrow_head: Run the head's product in the dtype, not in 16 bits.
    grouped_experts: Multiply all experts of a device in one kernel, not one after the other.
        Default: true.
    fused_experts: Apply activation and casts in the experts' products, as Transformer Engine's
        op fuser.
    fused_pointwise: Let neighbouring elementwise operations share one pass. Default: true.
    compiled: Launch layers by a compiler's code, not by Python one by one.
    fused_loss: Compute cross-entropy in one pass each way. Default: true.
    loss_in_place: Write the loss's gradient over the scores.
    fused_gradient_sum: Let products add weight gradients to the sum of micro-batches. Default:
        true.
    cuda_graphs: What CUDA graphs launch: layers without their experts, or the step. Default:
        none.
    vocabulary_multiple: Number to whose multiple, times tp, the embedding is padded. Default:
        128.
    no_overlap: Communication that nothing hides: gradient, parameters.
    prefetch: Layers that parameters are gathered ahead (ZeRO-3). Default: 1.
    gather_singly: Gather and reduce each weight by itself (ZeRO-3 of DeepSpeed before 0.6).
    bucket: Gradients that are reduced at once. Give bytes, or '25MiB'. Default: 25MiB.
    tp_overlap: Hide tensor-parallel communication under its matrix products.
    ep_overlap: Hide the all-to-alls of experts under another micro-batch.
    expert_sms: SMs that ep-overlap keeps for all-to-alls, whether they run or not (DeepEP).
    lora_rank: Train adapters of this rank, with frozen weights (LoRA).
    lora_targets: Linear layers with an adapter, by the names of peft or Megatron. Without it
        all of attention and feed-forward parts.
    freeze: Parts of the model that stay as they are.
    freeze_layers: First layers that stay as they are, and have no adapters.
    dtype: Number format of matrix products. Default: bf16.
    grad_dtype: Format in which gradients are reduced. Default: bf16.
    accumulate_dtype: Format in which gradients of micro-batches are summed. Default: fp32.
    moments_dtype: Format of AdamW's two moments.
    """
    with given_files() as files:
        arguments = [
            *flag("steps", None if steps is None else span_text(steps)),
            *flag("ranks", None if ranks is None else list_text(ranks)),
            *flag("model", None if model is None else files.value_of(model)),
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("peak-tflops", peak_tflops),
            *flag("filter-time", None if filter_time is None else span_text(filter_time)),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("gpu-log-zone", gpu_log_zone),
            *flag("groups", None if groups is None else files.value_of(groups)),
            *flag("tp", tp),
            *flag("pp", pp),
            *flag("dp", dp),
            *flag("threads", threads),
            *flag("global-batch", global_batch),
            *flag("seq", seq),
            *flag("model-flops-per-step", model_flops_per_step),
            *flag("peak-dtype", peak_dtype),
            *flag("price", price),
            *flag("gpus-per-node", gpus_per_node),
            *flag("plan", None if plan is None else files.value_of(plan)),
            *flag("tensor-layout", tensor_layout),
            *flag("tp-rows", tp_rows),
            *flag("tp-columns", tp_columns),
            *flag("tp-depth", tp_depth),
            *flag("sequence-parallel", sequence_parallel),
            *flag("sequence-degree", sequence_degree),
            *flag("cp", cp),
            *flag("context-exchange", context_exchange),
            *flag("ep", ep),
            *flag("expert-tp", expert_tp),
            *flag("expert-dispatch", expert_dispatch),
            *flag("expert-load", expert_load),
            *flag("narrow-dispatch", narrow_dispatch),
            *flag("schedule", schedule),
            *flag("virtual-stages", virtual_stages),
            *flag("stage-layers", None if stage_layers is None else list_text(stage_layers)),
            *flag("zero", zero),
            *flag("shard-group", shard_group),
            *flag("recompute", recompute),
            *flag("recompute-modules", recompute_modules),
            *flag("narrow-swiglu", narrow_swiglu),
            *flag("narrow-attention-output", narrow_attention_output),
            *flag("offload", None if offload is None else settings_text(offload)),
            *flag("torch-buffers", torch_buffers),
            *flag("images", images),
            *flag("image-patches", image_patches),
            *flag("micro-batch", micro_batch),
            *flag("reduce-each-micro-batch", reduce_each_micro_batch),
            *flag("attention", attention),
            *flag("vendor-attention", vendor_attention),
            *flag("narrow-attention", narrow_attention),
            *flag("fp8-rowwise", fp8_rowwise),
            *flag("narrow-head", narrow_head),
            *flag("grouped-experts", grouped_experts),
            *flag("fused-experts", fused_experts),
            *flag("fused-pointwise", fused_pointwise),
            *flag("compiled", compiled),
            *flag("fused-loss", fused_loss),
            *flag("loss-in-place", loss_in_place),
            *flag("fused-gradient-sum", fused_gradient_sum),
            *flag("cuda-graphs", cuda_graphs),
            *flag("vocabulary-multiple", vocabulary_multiple),
            *flag("no-overlap", None if no_overlap is None else list_text(no_overlap)),
            *flag("prefetch", prefetch),
            *flag("gather-singly", gather_singly),
            *flag("bucket", bucket),
            *flag("tp-overlap", tp_overlap),
            *flag("ep-overlap", ep_overlap),
            *flag("expert-sms", expert_sms),
            *flag("lora-rank", lora_rank),
            *flag("lora-targets", lora_targets),
            *flag("freeze", freeze),
            *flag("freeze-layers", freeze_layers),
            *flag("dtype", dtype),
            *flag("grad-dtype", grad_dtype),
            *flag("accumulate-dtype", accumulate_dtype),
            *flag("moments-dtype", moments_dtype),
            "--",
            *files.paths_of(inputs),
        ]
        return Analysis(_core.analyze(arguments))

def whatif(
    inputs: Inputs,
    *,
    change: str | Sequence[str] | None = None,
    steps: Span | None = None,
    ranks: Numbers | None = None,
    step_annotation: str | None = None,
    machine: Named | None = None,
    filter_time: Span | None = None,
    kernel_rules: Named | None = None,
    groups: Named | None = None,
    tp: int | None = None,
    pp: int | None = None,
    dp: int | None = None,
    threads: int | None = None,
) -> WhatIf:
    """Replays the recorded steps with something changed: without a wait, with faster links,
    with other buckets. Says what a step would take then.

    inputs: Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories,
        patterns, URLs (https://, s3://).
    change: Change to replay: no_waiting[@RANK], communication_free[:COLLECTIVE][@RANK],
        bandwidth[:COLLECTIVE]:FACTOR[@RANK], latency[:COLLECTIVE]:FACTOR[@RANK],
        compute[:CLASS]:FACTOR[@RANK], host_free[@RANK], host:FACTOR[@RANK], data_free[@RANK],
        allocator_free[@RANK], collector_free[@RANK], unseen_free[@RANK], profiler_free[@RANK],
        sync_free[@RANK], syncs_once[@RANK], pauses_free[@RANK], copies_free[@RANK],
        device_alone[@RANK], rank_as_peers[:PART]@RANK, group_as_siblings:GROUP[@RANK],
        step_as_others:STEP, stages_balanced[@RANK], ranks_balanced[@RANK], bucket:SIZE,
        prefetch:COUNT[@RANK]. list explains them. Without change all changes that analyze asks
        for are replayed.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3, 6).
    ranks: Only these ranks: 0,2,8-15 (or 8:15).
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    machine: Machine whose links tell the time of message sizes that the traces do not have.
    filter_time: Only this span of time since the capture began: 10s:20s, 500ms: or :30s. For
        exports of Nsight Systems. Give ('10s', '20s').
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    groups: Dimension of each process group: lines 'group dp|tp|sp|pp|cp|ep'.
    tp: Tensor-parallel devices, where the traces do not show it.
    pp: Pipeline stages, where the traces do not show it.
    dp: Data-parallel devices, where the traces do not show it.
    threads: Threads to use. Default: all cores.
    """
    with given_files() as files:
        arguments = [
            *flag("change", None if change is None else [change] if isinstance(change, str) else [*change]),
            *flag("steps", None if steps is None else span_text(steps)),
            *flag("ranks", None if ranks is None else list_text(ranks)),
            *flag("step-annotation", step_annotation),
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("filter-time", None if filter_time is None else span_text(filter_time)),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("groups", None if groups is None else files.value_of(groups)),
            *flag("tp", tp),
            *flag("pp", pp),
            *flag("dp", dp),
            *flag("threads", threads),
            "--",
            *files.paths_of(inputs),
        ]
        return WhatIf(_core.whatif(arguments))

def project(
    inputs: Inputs,
    *,
    gpus: int | None = None,
    machine: Named | None = None,
    model: Named | None = None,
    recorded: Settings | None = None,
    tp: int | None = None,
    pp: int | None = None,
    zero: int | None = None,
    global_batch: int | None = None,
    steps: Span | None = None,
    ranks: Numbers | None = None,
    filter_time: Span | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
    groups: Named | None = None,
    threads: int | None = None,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    recorded_machine: Named | None = None,
    tensor_layout: Literal["1d", "2d", "2.5d", "3d"] | None = None,
    tp_rows: int | None = None,
    tp_columns: int | None = None,
    tp_depth: int | None = None,
    sequence_parallel: bool | None = None,
    sequence_degree: int | None = None,
    cp: int | None = None,
    context_exchange: Literal["all_gather", "ring", "all_to_all"] | None = None,
    ep: int | None = None,
    expert_tp: int | None = None,
    expert_dispatch: Literal["all_to_all", "forwarded"] | None = None,
    expert_load: int | None = None,
    narrow_dispatch: bool | None = None,
    schedule: Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "dualpipe"] | None = None,
    virtual_stages: int | None = None,
    stage_layers: Numbers | None = None,
    dp: int | None = None,
    shard_group: int | None = None,
    recompute: str | None = None,
    recompute_modules: str | None = None,
    narrow_swiglu: bool | None = None,
    narrow_attention_output: bool | None = None,
    offload: Settings | None = None,
    torch_buffers: bool | None = None,
    seq: int | None = None,
    images: int | None = None,
    image_patches: int | None = None,
    micro_batch: int | None = None,
    reduce_each_micro_batch: bool | None = None,
    attention: Literal["fused", "materialised"] | None = None,
    vendor_attention: bool | None = None,
    narrow_attention: bool | None = None,
    fp8_rowwise: bool | None = None,
    narrow_head: bool | None = None,
    grouped_experts: bool | None = None,
    fused_experts: bool | None = None,
    fused_pointwise: bool | None = None,
    compiled: bool | None = None,
    fused_loss: bool | None = None,
    loss_in_place: bool | None = None,
    fused_gradient_sum: bool | None = None,
    cuda_graphs: Literal["none", "layers", "step"] | None = None,
    vocabulary_multiple: int | None = None,
    no_overlap: str | Sequence[str] | None = None,
    prefetch: int | None = None,
    gather_singly: bool | None = None,
    bucket: int | str | None = None,
    tp_overlap: bool | None = None,
    ep_overlap: bool | None = None,
    expert_sms: int | None = None,
    lora_rank: int | None = None,
    lora_targets: str | None = None,
    freeze: str | None = None,
    freeze_layers: int | None = None,
    dtype: Literal["fp32", "tf32", "bf16", "fp16", "fp8", "fp4"] | None = None,
    grad_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    accumulate_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    moments_dtype: Literal["fp32", "bf16"] | None = None,
) -> Projection:
    """Predicts the step of the recorded job on other GPUs or under another plan. Kernel, host
    and launch times are the traces' own; what the plan changes comes from links and the
    model.

    inputs: Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories,
        patterns, URLs (https://, s3://).
    gpus: Devices of the job asked about. Without global-batch each data-parallel rank has as
        many sequences as in the traces.
    machine: Machine of the job asked about, for its links and the model's expected times: of
        the catalogue or a file.
    model: Model of the run: a name, a file of ours or a Hugging Face config.json. Needed for
        changes of the kernels.
    recorded: What the traces do not tell of the recorded plan:
        tp=2,pp=4,global-batch=64,seq=4096,zero=1.
    tp: Tensor-parallel devices.
    pp: Pipeline stages.
    zero: States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters.
    global_batch: Sequences of one optimizer step.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3, 6).
    ranks: Only these ranks: 0,2,8-15 (or 8:15).
    filter_time: Only this span of time since the capture began: 10s:20s, 500ms: or :30s. For
        exports of Nsight Systems. Give ('10s', '20s').
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    groups: Dimension of each process group: lines 'group dp|tp|sp|pp|cp|ep'.
    threads: Threads to use. Default: all cores.
    nodes: Nodes, instead of gpus.
    gpus_per_node: Devices that share the fast links.
    recorded_machine: Machine of the traces, if it is another one.
    tensor_layout: Cut of matrix products over tensor-parallel devices.
    tp_rows: Rows of the grid in the 2d, 2.5d and 3d layouts. Without sides it is square, or a
        cube.
    tp_columns: Columns of the grid in the 2d, 2.5d and 3d layouts.
    tp_depth: Copies of the grid in the 2.5d layout, third side in the 3d layout.
    sequence_parallel: Split norms and residuals over the tensor-parallel devices.
    sequence_degree: Devices over which sequence-parallel splits. Without it tp.
    cp: Context-parallel devices.
    context_exchange: Exchange of keys between context-parallel devices.
    ep: Expert-parallel devices, among the cp * dp ones.
    expert_tp: Tensor-parallel devices of an expert: 1 or tp. Without it tp.
    expert_dispatch: Copies of a token: one for each chosen expert, or for each rank and domain
        with some.
    expert_load: Tokens of the fullest device's experts, in percent of the mean.
    narrow_dispatch: Send tokens to experts, and gradients back to them, in fp8.
    schedule: Order of the pipeline's passes.
    virtual_stages: Chunks of the model on one device (interleaved).
    stage_layers: Layers of each (virtual) stage, in model order.
    dp: Data-parallel devices. Without it what tp, cp and pp leave of gpus.
    shard_group: Devices of a group that splits states. Groups hold copies.
    recompute: Recomputation in backward. With every:K the first of each K layers stays whole.
    recompute_modules: Parts of layers computed again: core_attention, norms, expert_activation,
        experts, feed_forward, latent_up, hyper_connections.
    narrow_swiglu: Keep the inputs of SwiGLU for backward in fp8.
    narrow_attention_output: Keep attention's output for backward once, in 12 bits, if the dtype
        is fp8 or fp4.
    offload: Place of states: optimizer, gradients or parameters = host or nvme.
    torch_buffers: Keep buffers as PyTorch's fully_shard and pipelining do.
    seq: Tokens of a sequence.
    images: Images of a sequence, which the model's tower encodes.
    image_patches: Patches of an image, before the tower merges them.
    micro_batch: Sequences of one pass on one device.
    reduce_each_micro_batch: Reduce gradients after every pass, not once a step.
    attention: Attention kernel. With fused, scores stay out of memory.
    vendor_attention: Take the vendor's fused attention (cuDNN).
    narrow_attention: Run attention's products in fp8 if the dtype is fp8 or fp4.
    fp8_rowwise: Scale fp8 operands row by row (torchao's rowwise), not by tensor.
    narrow_head: Run the head's product in the dtype, not in 16 bits.
    grouped_experts: Multiply all experts of a device in one kernel, not one after the other.
    fused_experts: Apply activation and casts in the experts' products, as Transformer Engine's
        op fuser.
    fused_pointwise: Let neighbouring elementwise operations share one pass.
    compiled: Launch layers by a compiler's code, not by Python one by one.
    fused_loss: Compute cross-entropy in one pass each way.
    loss_in_place: Write the loss's gradient over the scores.
    fused_gradient_sum: Let products add weight gradients to the sum of micro-batches.
    cuda_graphs: What CUDA graphs launch: layers without their experts, or the step.
    vocabulary_multiple: Number to whose multiple, times tp, the embedding is padded.
    no_overlap: Communication that nothing hides: gradient, parameters.
    prefetch: Layers that parameters are gathered ahead (ZeRO-3).
    gather_singly: Gather and reduce each weight by itself (ZeRO-3 of DeepSpeed before 0.6).
    bucket: Gradients that are reduced at once. Give bytes, or '25MiB'.
    tp_overlap: Hide tensor-parallel communication under its matrix products.
    ep_overlap: Hide the all-to-alls of experts under another micro-batch.
    expert_sms: SMs that ep-overlap keeps for all-to-alls, whether they run or not (DeepEP).
    lora_rank: Train adapters of this rank, with frozen weights (LoRA).
    lora_targets: Linear layers with an adapter, by the names of peft or Megatron. Without it
        all of attention and feed-forward parts.
    freeze: Parts of the model that stay as they are.
    freeze_layers: First layers that stay as they are, and have no adapters.
    dtype: Number format of matrix products.
    grad_dtype: Format in which gradients are reduced.
    accumulate_dtype: Format in which gradients of micro-batches are summed.
    moments_dtype: Format of AdamW's two moments.
    """
    with given_files() as files:
        arguments = [
            *flag("gpus", gpus),
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("model", None if model is None else files.value_of(model)),
            *flag("recorded", None if recorded is None else settings_text(recorded)),
            *flag("tp", tp),
            *flag("pp", pp),
            *flag("zero", zero),
            *flag("global-batch", global_batch),
            *flag("steps", None if steps is None else span_text(steps)),
            *flag("ranks", None if ranks is None else list_text(ranks)),
            *flag("filter-time", None if filter_time is None else span_text(filter_time)),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("groups", None if groups is None else files.value_of(groups)),
            *flag("threads", threads),
            *flag("nodes", nodes),
            *flag("gpus-per-node", gpus_per_node),
            *flag("recorded-machine", None if recorded_machine is None else files.value_of(recorded_machine)),
            *flag("tensor-layout", tensor_layout),
            *flag("tp-rows", tp_rows),
            *flag("tp-columns", tp_columns),
            *flag("tp-depth", tp_depth),
            *flag("sequence-parallel", sequence_parallel),
            *flag("sequence-degree", sequence_degree),
            *flag("cp", cp),
            *flag("context-exchange", context_exchange),
            *flag("ep", ep),
            *flag("expert-tp", expert_tp),
            *flag("expert-dispatch", expert_dispatch),
            *flag("expert-load", expert_load),
            *flag("narrow-dispatch", narrow_dispatch),
            *flag("schedule", schedule),
            *flag("virtual-stages", virtual_stages),
            *flag("stage-layers", None if stage_layers is None else list_text(stage_layers)),
            *flag("dp", dp),
            *flag("shard-group", shard_group),
            *flag("recompute", recompute),
            *flag("recompute-modules", recompute_modules),
            *flag("narrow-swiglu", narrow_swiglu),
            *flag("narrow-attention-output", narrow_attention_output),
            *flag("offload", None if offload is None else settings_text(offload)),
            *flag("torch-buffers", torch_buffers),
            *flag("seq", seq),
            *flag("images", images),
            *flag("image-patches", image_patches),
            *flag("micro-batch", micro_batch),
            *flag("reduce-each-micro-batch", reduce_each_micro_batch),
            *flag("attention", attention),
            *flag("vendor-attention", vendor_attention),
            *flag("narrow-attention", narrow_attention),
            *flag("fp8-rowwise", fp8_rowwise),
            *flag("narrow-head", narrow_head),
            *flag("grouped-experts", grouped_experts),
            *flag("fused-experts", fused_experts),
            *flag("fused-pointwise", fused_pointwise),
            *flag("compiled", compiled),
            *flag("fused-loss", fused_loss),
            *flag("loss-in-place", loss_in_place),
            *flag("fused-gradient-sum", fused_gradient_sum),
            *flag("cuda-graphs", cuda_graphs),
            *flag("vocabulary-multiple", vocabulary_multiple),
            *flag("no-overlap", None if no_overlap is None else list_text(no_overlap)),
            *flag("prefetch", prefetch),
            *flag("gather-singly", gather_singly),
            *flag("bucket", bucket),
            *flag("tp-overlap", tp_overlap),
            *flag("ep-overlap", ep_overlap),
            *flag("expert-sms", expert_sms),
            *flag("lora-rank", lora_rank),
            *flag("lora-targets", lora_targets),
            *flag("freeze", freeze),
            *flag("freeze-layers", freeze_layers),
            *flag("dtype", dtype),
            *flag("grad-dtype", grad_dtype),
            *flag("accumulate-dtype", accumulate_dtype),
            *flag("moments-dtype", moments_dtype),
            "--",
            *files.paths_of(inputs),
        ]
        return Projection(_core.project(arguments))

def check(
    inputs: Inputs,
    *,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    model: Named | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    machine: Named | None = None,
    list: bool | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
    model_flops_per_step: float | None = None,
    gpus: int | None = None,
    recompute: Literal["none", "selective", "full"] | None = None,
    peak_tflops: float | None = None,
) -> Check:
    """Says what a few steps, a training log or a list of step times tell already, how sure that
    is, and what to record next.

    inputs: Traces of one run, a training log, the JSON of stepscope train, or step times: one
        list, or one file of each rank; logs of nvidia-smi or DCGM with them.
    unit: Unit of lists of step times whose header names none. Default: ms.
    model: Model of the run, for its FLOPs and the expected step: a name, a file of ours or a
        Hugging Face config.json.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    machine: Device of the run: a machine of the catalogue or a file.
    list: Also goes through the checklists of a slow run (low MFU, communication, memory, the
        timeline, stragglers): each check with its evidence, or what to record for it.
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    model_flops_per_step: FLOPs of the model for one global batch, without recomputation,
        instead of model.
    gpus: Devices of the run, for MFU, where the input does not name all of them.
    recompute: What backward computes again, for HFU, where the log does not say it.
    peak_tflops: Peak of one device in TFLOP/s, instead of the catalogue's.
    """
    with given_files() as files:
        arguments = [
            *flag("unit", unit),
            *flag("model", None if model is None else files.value_of(model)),
            *flag("global-batch", global_batch),
            *flag("seq", seq),
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("list", list),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("model-flops-per-step", model_flops_per_step),
            *flag("gpus", gpus),
            *flag("recompute", recompute),
            *flag("peak-tflops", peak_tflops),
            "--",
            *files.paths_of(inputs),
        ]
        return Check(_core.check(arguments))

def digest(
    inputs: Inputs,
    *,
    out: str | os.PathLike[str],
    threads: int | None = None,
) -> Digest:
    """Writes a small file for each trace, about a hundredth of the JSON of a large one.
    analyze, whatif, compare and check read it in place of the trace, with the same answers.
    Each file can be made where its trace lies; a digest that is there is kept while its
    trace does not change.

    inputs: Traces: files, directories, patterns or URLs.
    out: Folder of the digests; it is made.
    threads: Threads to use. Default: all cores.
    """
    with given_files() as files:
        arguments = [
            *flag("out", None if out is None else os.fspath(out)),
            *flag("threads", threads),
            "--",
            *files.paths_of(inputs),
        ]
        return Digest(_core.digest(arguments))

def live(
    sources: Inputs,
    *,
    silent: float | str | None = None,
    stuck: float | str | None = None,
) -> Live:
    """Follows a running job by the files that it writes: step times, late ranks, waiting apart
    from transfer, silent ranks, stuck collectives.

    sources: Directories or files that the job writes to: NCCL Inspector's JSON lines, files of
        stepscope's NCCL plugin, training logs, torchtitan's structured logs, the file of
        stepscope train --metrics (FILE.prom), what ncclras -f json wrote (FILE.ras.json); or
        HOST:PORT of the RAS service of an NCCL job.
    silent: Time without a line after which a rank is silent. Give seconds, or '20ms'. Default:
        60s.
    stuck: Time after which a collective that only some ranks have left is stuck. Give seconds,
        or '20ms'. Default: 30s.
    """
    with given_files() as files:
        arguments = [
            *flag("silent", silent),
            *flag("stuck", stuck),
            "--",
            *files.paths_of(sources),
        ]
        return Live(_core.live(arguments))

def hang(
    inputs: Inputs,
) -> Hang:
    """Finds why a job stands still: which collective hangs, which ranks did not come, and what
    they did instead.

    inputs: Dumps of PyTorch's flight recorder (pickle or JSON), logs with NCCL_DEBUG lines,
        logs with messages of the watchdog, of one rank or several; or directories.
    """
    with given_files() as files:
        arguments = [
            "--",
            *files.paths_of(inputs),
        ]
        return Hang(_core.hang(arguments))

def memory(
    inputs: Inputs,
) -> Memory:
    """Shows what holds a GPU's memory: by place in the code, at the peak and over time, and how
    much lies idle in the allocator.

    inputs: Snapshots of PyTorch's allocator, of one rank or several: pickles of
        torch.cuda.memory._dump_snapshot, JSON, or pages of torch.cuda._memory_viz; or
        directories.
    """
    with given_files() as files:
        arguments = [
            "--",
            *files.paths_of(inputs),
        ]
        return Memory(_core.memory(arguments))

def stacks(
    inputs: Inputs,
    *,
    against: Named | None = None,
    top_down: bool | None = None,
    bottom_up: bool | None = None,
    trace: str | Sequence[str] | None = None,
    format: Literal["speedscope", "pprof", "perf_script", "counted_tree", "thread_dump", "collapsed"] | None = None,
    rules: Named | None = None,
    lasti: Named | None = None,
    min_share: float | str | None = None,
    rank: int | None = None,
    offset: float | str | None = None,
    gapless: bool | None = None,
    steps: Span | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
) -> Stacks:
    """Shows what the host does: how much of its time each phase of training takes, from stacks
    that a sampling profiler recorded.

    inputs: Collapsed stacks, perf script, py-spy, speedscope, pprof; compressed or not.
    against: Earlier profile to compare with.
    top_down: Show the call tree, callers above callees.
    bottom_up: Show the call tree, callees above callers.
    trace: Traces of the same run, which show the device's work in each phase of the host.
    format: Format of the profiles, where it is not recognised.
    rules: Phases of your own, before the built-in ones.
    lasti: Table of CPython instructions, for source lines of frames like fetch [0x36a]: a file,
        or one of the program's own: deepspeed-0.16.7-cpython3.11.
    min_share: Smallest part that a tree shows. Give a share from 0 to 1, or '5%'. Default: 1%.
    rank: Rank that was profiled, where the traces have several. One for each profile, in their
        order, or one for all.
    offset: Time to add to the profile's clock to get the trace's, as -0.25s or 12.5ms. Give
        seconds, or '20ms'.
    gapless: Take a sample's place as an instant: no sample of a thread is missing (py-spy
        record idle).
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3, 6).
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    """
    with given_files() as files:
        arguments = [
            *flag("against", None if against is None else files.value_of(against)),
            *flag("top-down", top_down),
            *flag("bottom-up", bottom_up),
            *flag("trace", None if trace is None else [trace] if isinstance(trace, str) else [*trace]),
            *flag("format", format),
            *flag("rules", None if rules is None else files.value_of(rules)),
            *flag("lasti", None if lasti is None else files.value_of(lasti)),
            *flag("min-share", None if min_share is None else share_text(min_share)),
            *flag("rank", rank),
            *flag("offset", offset),
            *flag("gapless", gapless),
            *flag("steps", None if steps is None else span_text(steps)),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            "--",
            *files.paths_of(inputs),
        ]
        return Stacks(_core.stacks(arguments))

def compare(
    a: Inputs | None = None,
    b: Inputs | None = None,
    *,
    run: str | Sequence[str] | None = None,
    launches: int | None = None,
    max_regression: float | str | None = None,
    timeout: float | str | None = None,
    keep: str | os.PathLike[str] | None = None,
    order: str | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
    warm_up: int | None = None,
    alpha: float | str | None = None,
    floor: float | str | None = None,
    inconclusive: Literal["fail", "ok"] | None = None,
) -> Comparison:
    """Decides whether B differs from A in its step time or whether that is noise, and in which
    parts of the step. A and B are recorded runs, or commands that it launches in turn.

    a: Launches of A in the order they ran: a path, or a list of one path a launch. A launch is
        a trace, a directory or pattern of one, the JSON of stepscope train, or a list of step
        times (CSV, one number a line, a log).
    b: Launches of B, likewise.
    run: Command to launch, given twice: of A, then of B. It writes a trace, JSON or a list to
        {out}, or prints lines with step_time_ms=NUMBER.
    launches: Launches of each command, interleaved A B B A. Default: 3.
    max_regression: Slowdown of B above which the exit code is 3; 4 if the steps cannot tell.
        Give a share from 0 to 1, or '5%'.
    timeout: Time that a launch may take. Give seconds, or '20ms'. Default: none.
    keep: Directory where files that the launches wrote stay.
    order: Order in which the recorded launches ran, as ABBA.
    unit: Unit of lists of step times whose header names none. Default: ms.
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    warm_up: Steps of each launch to leave out. Default: found from the times.
    alpha: Chance of a wrong call between equal runs. Give a share from 0 to 1, or '5%'.
        Default: 5%.
    floor: Smallest difference that matters. Give a share from 0 to 1, or '5%'. Default: 1%.
    inconclusive: With max-regression: exit code 4 (fail) or 0 (ok) if the steps cannot tell.
        Default: fail.
    """
    with given_files() as files:
        arguments = [
            *flag("a", None if a is None else files.paths_of(a)),
            *flag("b", None if b is None else files.paths_of(b)),
            *flag("run", None if run is None else [run] if isinstance(run, str) else [*run]),
            *flag("launches", launches),
            *flag("max-regression", None if max_regression is None else share_text(max_regression)),
            *flag("timeout", timeout),
            *flag("keep", None if keep is None else os.fspath(keep)),
            *flag("order", order),
            *flag("unit", unit),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("warm-up", warm_up),
            *flag("alpha", None if alpha is None else share_text(alpha)),
            *flag("floor", None if floor is None else share_text(floor)),
            *flag("inconclusive", inconclusive),
        ]
        return Comparison(_core.compare(arguments))

def sweep(
    command: str | Sequence[str],
    *,
    vary: Axes,
    launches: int | None = None,
    timeout: float | str | None = None,
    keep: str | os.PathLike[str] | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
    warm_up: int | None = None,
    alpha: float | str | None = None,
    floor: float | str | None = None,
) -> Sweep:
    """Runs a command at several values of a setting and says which value is the fastest, or
    which cannot be told apart from the smallest median.

    command: Program and its arguments. It writes its step times to {out}, or prints lines with
        step_time_ms=NUMBER.
    vary: Setting and its values. {NAME} in the command becomes each value.
    launches: Launches of each value, in turn. Default: 2.
    timeout: Time that a launch may take. Give seconds, or '20ms'. Default: none.
    keep: Directory where files that the launches wrote stay.
    unit: Unit of lists of step times whose header names none. Default: ms.
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    warm_up: Steps of each launch to leave out. Default: found from the times.
    alpha: Chance of a wrong call between equal runs. Give a share from 0 to 1, or '5%'.
        Default: 5%.
    floor: Smallest difference that matters. Give a share from 0 to 1, or '5%'. Default: 1%.
    """
    with given_files() as files:
        arguments = [
            *flag("vary", None if vary is None else axes_of(vary)),
            *flag("launches", launches),
            *flag("timeout", timeout),
            *flag("keep", None if keep is None else os.fspath(keep)),
            *flag("unit", unit),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("warm-up", warm_up),
            *flag("alpha", None if alpha is None else share_text(alpha)),
            *flag("floor", None if floor is None else share_text(floor)),
            "--",
            *words_of(command),
        ]
        return Sweep(_core.sweep(arguments))

def runs(
    folder: str | os.PathLike[str],
    *,
    commit: str | None = None,
    tag: str | None = None,
    baseline: str | None = None,
    max_regression: float | str | None = None,
    history: Named | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    step_annotation: str | None = None,
    kernel_rules: Named | None = None,
    threads: int | None = None,
    model: Named | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    model_flops_per_step: float | None = None,
    machine: Named | None = None,
    peak_tflops: float | None = None,
    warm_up: int | None = None,
    alpha: float | str | None = None,
    floor: float | str | None = None,
    inconclusive: Literal["fail", "ok"] | None = None,
) -> Runs:
    """Keeps the step times, findings and digests of a job's runs in one SQLite file, and says
    from which run on the steps changed, and in what. New runs are read; the others are
    known.

    folder: Folder of runs. Each folder in it is one: the traces of its ranks. So is each trace,
        log, JSON of stepscope train, or list of step times in it.
    commit: Commit of the program, for the runs that are new.
    tag: Name for the runs that are new, such as nightly.
    baseline: Tag, commit or name of the runs that all others are compared with. Default: each
        run is compared with the one before.
    max_regression: Slowdown of the newest run above which the exit code is 3; 4 if the steps
        cannot tell. Give a share from 0 to 1, or '5%'.
    history: The file. Default: stepscope-runs.sqlite in DIR.
    unit: Unit of lists of step times whose header names none. Default: ms.
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    threads: Threads to use. Default: all cores.
    model: Model of the run, for its FLOPs and the expected step: a name, a file of ours or a
        Hugging Face config.json.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    model_flops_per_step: FLOPs of the model for one global batch, without recomputation,
        instead of model.
    machine: Device of the run: a machine of the catalogue or a file.
    peak_tflops: Peak of one device in TFLOP/s, instead of the catalogue's.
    warm_up: Steps of each launch to leave out. Default: found from the times.
    alpha: Chance of a wrong call between equal runs. Give a share from 0 to 1, or '5%'.
        Default: 5%.
    floor: Smallest difference that matters. Give a share from 0 to 1, or '5%'. Default: 1%.
    inconclusive: With max-regression: exit code 4 (fail) or 0 (ok) if the steps cannot tell.
        Default: fail.
    """
    with given_files() as files:
        arguments = [
            *flag("commit", commit),
            *flag("tag", tag),
            *flag("baseline", baseline),
            *flag("max-regression", None if max_regression is None else share_text(max_regression)),
            *flag("history", None if history is None else files.value_of(history)),
            *flag("unit", unit),
            *flag("step-annotation", step_annotation),
            *flag("kernel-rules", None if kernel_rules is None else files.value_of(kernel_rules)),
            *flag("threads", threads),
            *flag("model", None if model is None else files.value_of(model)),
            *flag("global-batch", global_batch),
            *flag("seq", seq),
            *flag("model-flops-per-step", model_flops_per_step),
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("peak-tflops", peak_tflops),
            *flag("warm-up", warm_up),
            *flag("alpha", None if alpha is None else share_text(alpha)),
            *flag("floor", None if floor is None else share_text(floor)),
            *flag("inconclusive", inconclusive),
            "--",
            *[files.value_of(folder)],
        ]
        return Runs(_core.runs(arguments))

def predict(
    model: Named | None = None,
    *,
    machine: Named | None = None,
    gpus: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    zero: int | None = None,
    seq: int | None = None,
    global_batch: int | None = None,
    vary: Axes | None = None,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    price: float | None = None,
    plan: Named | None = None,
    ds_config: Named | None = None,
    tensor_layout: Literal["1d", "2d", "2.5d", "3d"] | None = None,
    tp_rows: int | None = None,
    tp_columns: int | None = None,
    tp_depth: int | None = None,
    sequence_parallel: bool | None = None,
    sequence_degree: int | None = None,
    cp: int | None = None,
    context_exchange: Literal["all_gather", "ring", "all_to_all"] | None = None,
    ep: int | None = None,
    expert_tp: int | None = None,
    expert_dispatch: Literal["all_to_all", "forwarded"] | None = None,
    expert_load: int | None = None,
    narrow_dispatch: bool | None = None,
    schedule: Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "dualpipe"] | None = None,
    virtual_stages: int | None = None,
    stage_layers: Numbers | None = None,
    dp: int | None = None,
    shard_group: int | None = None,
    recompute: str | None = None,
    recompute_modules: str | None = None,
    narrow_swiglu: bool | None = None,
    narrow_attention_output: bool | None = None,
    offload: Settings | None = None,
    torch_buffers: bool | None = None,
    images: int | None = None,
    image_patches: int | None = None,
    micro_batch: int | None = None,
    reduce_each_micro_batch: bool | None = None,
    attention: Literal["fused", "materialised"] | None = None,
    vendor_attention: bool | None = None,
    narrow_attention: bool | None = None,
    fp8_rowwise: bool | None = None,
    narrow_head: bool | None = None,
    grouped_experts: bool | None = None,
    fused_experts: bool | None = None,
    fused_pointwise: bool | None = None,
    compiled: bool | None = None,
    fused_loss: bool | None = None,
    loss_in_place: bool | None = None,
    fused_gradient_sum: bool | None = None,
    cuda_graphs: Literal["none", "layers", "step"] | None = None,
    vocabulary_multiple: int | None = None,
    no_overlap: str | Sequence[str] | None = None,
    prefetch: int | None = None,
    gather_singly: bool | None = None,
    bucket: int | str | None = None,
    tp_overlap: bool | None = None,
    ep_overlap: bool | None = None,
    expert_sms: int | None = None,
    lora_rank: int | None = None,
    lora_targets: str | None = None,
    freeze: str | None = None,
    freeze_layers: int | None = None,
    dtype: Literal["fp32", "tf32", "bf16", "fp16", "fp8", "fp4"] | None = None,
    grad_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    accumulate_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    moments_dtype: Literal["fp32", "bf16"] | None = None,
    explain: str | Sequence[str] | None = None,
    layers: bool | None = None,
    conventions: Literal["stepscope", "notebook", "notebook-cells"] | None = None,
    collective: str | None = None,
    bytes: Span | None = None,
    group: int | None = None,
) -> Prediction:
    """Predicts what a step of a model should take on a machine, in how much memory, term by
    term. With --collective it predicts a single collective.

    model: Model of the catalogue, a model file of ours or a Hugging Face config.json.
    machine: Machine of the catalogue (h100_sxm_80gb, "NVIDIA H100 80GB HBM3") or a file.
    gpus: Devices in all.
    tp: Tensor-parallel devices. Default: 1.
    pp: Pipeline stages. Default: 1.
    zero: States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters.
        Default: 0.
    seq: Tokens of a sequence.
    global_batch: Sequences of one optimizer step.
    vary: Plans side by side: zero=0,1,2,3. Several make every combination.
    nodes: Nodes, instead of gpus.
    gpus_per_node: Devices that share the fast links.
    price: Price of a GPU-hour, which shows the step in money too.
    plan: Plan as a JSON file. Flags override it.
    ds_config: DeepSpeed ds_config.json as the plan.
    tensor_layout: Cut of matrix products over tensor-parallel devices. Default: 1d.
    tp_rows: Rows of the grid in the 2d, 2.5d and 3d layouts. Without sides it is square, or a
        cube.
    tp_columns: Columns of the grid in the 2d, 2.5d and 3d layouts.
    tp_depth: Copies of the grid in the 2.5d layout, third side in the 3d layout. Default: 1.
    sequence_parallel: Split norms and residuals over the tensor-parallel devices.
    sequence_degree: Devices over which sequence-parallel splits. Without it tp.
    cp: Context-parallel devices. Default: 1.
    context_exchange: Exchange of keys between context-parallel devices. Default: all_gather.
    ep: Expert-parallel devices, among the cp * dp ones. Default: 1.
    expert_tp: Tensor-parallel devices of an expert: 1 or tp. Without it tp.
    expert_dispatch: Copies of a token: one for each chosen expert, or for each rank and domain
        with some. Default: all_to_all.
    expert_load: Tokens of the fullest device's experts, in percent of the mean. Default: 100.
    narrow_dispatch: Send tokens to experts, and gradients back to them, in fp8.
    schedule: Order of the pipeline's passes. Default: 1f1b.
    virtual_stages: Chunks of the model on one device (interleaved). Default: 1.
    stage_layers: Layers of each (virtual) stage, in model order.
    dp: Data-parallel devices. Without it what tp, cp and pp leave of gpus.
    shard_group: Devices of a group that splits states. Groups hold copies.
    recompute: Recomputation in backward. With every:K the first of each K layers stays whole.
        Default: none.
    recompute_modules: Parts of layers computed again: core_attention, norms, expert_activation,
        experts, feed_forward, latent_up, hyper_connections.
    narrow_swiglu: Keep the inputs of SwiGLU for backward in fp8.
    narrow_attention_output: Keep attention's output for backward once, in 12 bits, if the dtype
        is fp8 or fp4.
    offload: Place of states: optimizer, gradients or parameters = host or nvme.
    torch_buffers: Keep buffers as PyTorch's fully_shard and pipelining do.
    images: Images of a sequence, which the model's tower encodes.
    image_patches: Patches of an image, before the tower merges them.
    micro_batch: Sequences of one pass on one device. Default: 1.
    reduce_each_micro_batch: Reduce gradients after every pass, not once a step.
    attention: Attention kernel. With fused, scores stay out of memory. Default: fused.
    vendor_attention: Take the vendor's fused attention (cuDNN).
    narrow_attention: Run attention's products in fp8 if the dtype is fp8 or fp4.
    fp8_rowwise: Scale fp8 operands row by row (torchao's rowwise), not by tensor.
    narrow_head: Run the head's product in the dtype, not in 16 bits.
    grouped_experts: Multiply all experts of a device in one kernel, not one after the other.
        Default: true.
    fused_experts: Apply activation and casts in the experts' products, as Transformer Engine's
        op fuser.
    fused_pointwise: Let neighbouring elementwise operations share one pass. Default: true.
    compiled: Launch layers by a compiler's code, not by Python one by one.
    fused_loss: Compute cross-entropy in one pass each way. Default: true.
    loss_in_place: Write the loss's gradient over the scores.
    fused_gradient_sum: Let products add weight gradients to the sum of micro-batches. Default:
        true.
    cuda_graphs: What CUDA graphs launch: layers without their experts, or the step. Default:
        none.
    vocabulary_multiple: Number to whose multiple, times tp, the embedding is padded. Default:
        128.
    no_overlap: Communication that nothing hides: gradient, parameters.
    prefetch: Layers that parameters are gathered ahead (ZeRO-3). Default: 1.
    gather_singly: Gather and reduce each weight by itself (ZeRO-3 of DeepSpeed before 0.6).
    bucket: Gradients that are reduced at once. Give bytes, or '25MiB'. Default: 25MiB.
    tp_overlap: Hide tensor-parallel communication under its matrix products.
    ep_overlap: Hide the all-to-alls of experts under another micro-batch.
    expert_sms: SMs that ep-overlap keeps for all-to-alls, whether they run or not (DeepEP).
    lora_rank: Train adapters of this rank, with frozen weights (LoRA).
    lora_targets: Linear layers with an adapter, by the names of peft or Megatron. Without it
        all of attention and feed-forward parts.
    freeze: Parts of the model that stay as they are.
    freeze_layers: First layers that stay as they are, and have no adapters.
    dtype: Number format of matrix products. Default: bf16.
    grad_dtype: Format in which gradients are reduced. Default: bf16.
    accumulate_dtype: Format in which gradients of micro-batches are summed. Default: fp32.
    moments_dtype: Format of AdamW's two moments.
    explain: Formula of a term, a part or an operation with its values, or all.
    layers: Show the table of all operations.
    conventions: Text whose conventions count the tables of layers. Default: stepscope.
    collective: Collective to time instead of a model: all_reduce, all_gather, reduce_scatter,
        broadcast, reduce, all_to_all, send, recv, send_recv, gather, scatter, barrier.
    bytes: Sizes of the collective's whole buffer. Default: 1KB:1GB.
    group: Devices that take part in the collective.
    """
    with given_files() as files:
        arguments = [
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("gpus", gpus),
            *flag("tp", tp),
            *flag("pp", pp),
            *flag("zero", zero),
            *flag("seq", seq),
            *flag("global-batch", global_batch),
            *flag("vary", None if vary is None else axes_of(vary)),
            *flag("nodes", nodes),
            *flag("gpus-per-node", gpus_per_node),
            *flag("price", price),
            *flag("plan", None if plan is None else files.value_of(plan)),
            *flag("ds-config", None if ds_config is None else files.value_of(ds_config)),
            *flag("tensor-layout", tensor_layout),
            *flag("tp-rows", tp_rows),
            *flag("tp-columns", tp_columns),
            *flag("tp-depth", tp_depth),
            *flag("sequence-parallel", sequence_parallel),
            *flag("sequence-degree", sequence_degree),
            *flag("cp", cp),
            *flag("context-exchange", context_exchange),
            *flag("ep", ep),
            *flag("expert-tp", expert_tp),
            *flag("expert-dispatch", expert_dispatch),
            *flag("expert-load", expert_load),
            *flag("narrow-dispatch", narrow_dispatch),
            *flag("schedule", schedule),
            *flag("virtual-stages", virtual_stages),
            *flag("stage-layers", None if stage_layers is None else list_text(stage_layers)),
            *flag("dp", dp),
            *flag("shard-group", shard_group),
            *flag("recompute", recompute),
            *flag("recompute-modules", recompute_modules),
            *flag("narrow-swiglu", narrow_swiglu),
            *flag("narrow-attention-output", narrow_attention_output),
            *flag("offload", None if offload is None else settings_text(offload)),
            *flag("torch-buffers", torch_buffers),
            *flag("images", images),
            *flag("image-patches", image_patches),
            *flag("micro-batch", micro_batch),
            *flag("reduce-each-micro-batch", reduce_each_micro_batch),
            *flag("attention", attention),
            *flag("vendor-attention", vendor_attention),
            *flag("narrow-attention", narrow_attention),
            *flag("fp8-rowwise", fp8_rowwise),
            *flag("narrow-head", narrow_head),
            *flag("grouped-experts", grouped_experts),
            *flag("fused-experts", fused_experts),
            *flag("fused-pointwise", fused_pointwise),
            *flag("compiled", compiled),
            *flag("fused-loss", fused_loss),
            *flag("loss-in-place", loss_in_place),
            *flag("fused-gradient-sum", fused_gradient_sum),
            *flag("cuda-graphs", cuda_graphs),
            *flag("vocabulary-multiple", vocabulary_multiple),
            *flag("no-overlap", None if no_overlap is None else list_text(no_overlap)),
            *flag("prefetch", prefetch),
            *flag("gather-singly", gather_singly),
            *flag("bucket", bucket),
            *flag("tp-overlap", tp_overlap),
            *flag("ep-overlap", ep_overlap),
            *flag("expert-sms", expert_sms),
            *flag("lora-rank", lora_rank),
            *flag("lora-targets", lora_targets),
            *flag("freeze", freeze),
            *flag("freeze-layers", freeze_layers),
            *flag("dtype", dtype),
            *flag("grad-dtype", grad_dtype),
            *flag("accumulate-dtype", accumulate_dtype),
            *flag("moments-dtype", moments_dtype),
            *flag("explain", None if explain is None else [explain] if isinstance(explain, str) else [*explain]),
            *flag("layers", layers),
            *flag("conventions", conventions),
            *flag("collective", collective),
            *flag("bytes", None if bytes is None else span_text(bytes)),
            *flag("group", group),
            "--",
            *([] if model is None else [files.value_of(model)]),
        ]
        return Prediction(_core.predict(arguments))

def plan(
    model: Named,
    *,
    machine: Named | None = None,
    gpus: Span | None = None,
    seq: int | None = None,
    global_batch: int | None = None,
    fix: Settings | None = None,
    max: Settings | None = None,
    against: Settings | Sequence[Settings] | None = None,
    top: int | None = None,
    gpus_per_node: int | None = None,
    sequence_degree: int | None = None,
    expert_tp: int | None = None,
    expert_dispatch: Literal["all_to_all", "forwarded"] | None = None,
    expert_load: int | None = None,
    narrow_dispatch: bool | None = None,
    images: int | None = None,
    image_patches: int | None = None,
    recompute_modules: str | None = None,
    narrow_swiglu: bool | None = None,
    narrow_attention_output: bool | None = None,
    torch_buffers: bool | None = None,
    attention: Literal["fused", "materialised"] | None = None,
    vendor_attention: bool | None = None,
    narrow_attention: bool | None = None,
    fp8_rowwise: bool | None = None,
    narrow_head: bool | None = None,
    grouped_experts: bool | None = None,
    fused_experts: bool | None = None,
    fused_pointwise: bool | None = None,
    compiled: bool | None = None,
    fused_loss: bool | None = None,
    loss_in_place: bool | None = None,
    fused_gradient_sum: bool | None = None,
    cuda_graphs: Literal["none", "layers", "step"] | None = None,
    vocabulary_multiple: int | None = None,
    no_overlap: str | Sequence[str] | None = None,
    prefetch: int | None = None,
    bucket: int | str | None = None,
    tp_overlap: bool | None = None,
    ep_overlap: bool | None = None,
    expert_sms: int | None = None,
    lora_rank: int | None = None,
    lora_targets: str | None = None,
    freeze: str | None = None,
    freeze_layers: int | None = None,
    dtype: Literal["fp32", "tf32", "bf16", "fp16", "fp8", "fp4"] | None = None,
    grad_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    accumulate_dtype: Literal["fp32", "bf16", "fp16"] | None = None,
    moments_dtype: Literal["fp32", "bf16"] | None = None,
    memory_headroom: float | str | None = None,
    search_offload: bool | None = None,
    threads: int | None = None,
    flags: Literal["megatron", "deepspeed", "torchtitan"] | None = None,
) -> PlanSearch:
    """Searches the fastest way to run a model on a number of GPUs among all ways to divide its
    work. Says why it wins, what else was near, and how far a plan of yours is from it.

    model: Model of the catalogue, a model file of ours or a Hugging Face config.json.
    machine: Machine of the catalogue (h100_sxm_80gb, "NVIDIA H100 80GB HBM3") or a file.
    gpus: Devices in all, or a range that is doubled through.
    seq: Tokens of a sequence.
    global_batch: Sequences of one optimizer step.
    fix: Only plans with these values: tp=8,zero=1.
    max: Only plans with at most these values: pp=16.
    against: Plan of yours to compare with the best: tp=8,pp=16,zero=1 or a plan file.
    top: Plans to show. Default: 10.
    gpus_per_node: Devices that share the fast links.
    sequence_degree: Devices over which sequence-parallel splits. Without it tp.
    expert_tp: Tensor-parallel devices of an expert: 1 or tp. Without it tp.
    expert_dispatch: Copies of a token: one for each chosen expert, or for each rank and domain
        with some. Default: all_to_all.
    expert_load: Tokens of the fullest device's experts, in percent of the mean. Default: 100.
    narrow_dispatch: Send tokens to experts, and gradients back to them, in fp8.
    images: Images of a sequence, which the model's tower encodes.
    image_patches: Patches of an image, before the tower merges them.
    recompute_modules: Parts of layers computed again: core_attention, norms, expert_activation,
        experts, feed_forward, latent_up, hyper_connections.
    narrow_swiglu: Keep the inputs of SwiGLU for backward in fp8.
    narrow_attention_output: Keep attention's output for backward once, in 12 bits, if the dtype
        is fp8 or fp4.
    torch_buffers: Keep buffers as PyTorch's fully_shard and pipelining do.
    attention: Attention kernel. With fused, scores stay out of memory. Default: fused.
    vendor_attention: Take the vendor's fused attention (cuDNN).
    narrow_attention: Run attention's products in fp8 if the dtype is fp8 or fp4.
    fp8_rowwise: Scale fp8 operands row by row (torchao's rowwise), not by tensor.
    narrow_head: Run the head's product in the dtype, not in 16 bits.
    grouped_experts: Multiply all experts of a device in one kernel, not one after the other.
        Default: true.
    fused_experts: Apply activation and casts in the experts' products, as Transformer Engine's
        op fuser.
    fused_pointwise: Let neighbouring elementwise operations share one pass. Default: true.
    compiled: Launch layers by a compiler's code, not by Python one by one.
    fused_loss: Compute cross-entropy in one pass each way. Default: true.
    loss_in_place: Write the loss's gradient over the scores.
    fused_gradient_sum: Let products add weight gradients to the sum of micro-batches. Default:
        true.
    cuda_graphs: What CUDA graphs launch: layers without their experts, or the step. Default:
        none.
    vocabulary_multiple: Number to whose multiple, times tp, the embedding is padded. Default:
        128.
    no_overlap: Communication that nothing hides: gradient, parameters.
    prefetch: Layers that parameters are gathered ahead (ZeRO-3). Default: 1.
    bucket: Gradients that are reduced at once. Give bytes, or '25MiB'. Default: 25MiB.
    tp_overlap: Hide tensor-parallel communication under its matrix products.
    ep_overlap: Hide the all-to-alls of experts under another micro-batch.
    expert_sms: SMs that ep-overlap keeps for all-to-alls, whether they run or not (DeepEP).
    lora_rank: Train adapters of this rank, with frozen weights (LoRA).
    lora_targets: Linear layers with an adapter, by the names of peft or Megatron. Without it
        all of attention and feed-forward parts.
    freeze: Parts of the model that stay as they are.
    freeze_layers: First layers that stay as they are, and have no adapters.
    dtype: Number format of matrix products. Default: bf16.
    grad_dtype: Format in which gradients are reduced. Default: bf16.
    accumulate_dtype: Format in which gradients of micro-batches are summed. Default: fp32.
    moments_dtype: Format of AdamW's two moments.
    memory_headroom: Share of the memory that stays free. Give a share from 0 to 1, or '5%'.
        Default: 10%.
    search_offload: Search states in host memory and on NVMe too.
    threads: Threads to use. Default: all cores.
    flags: Show the best plan as flags of a framework.
    """
    with given_files() as files:
        arguments = [
            *flag("machine", None if machine is None else files.value_of(machine)),
            *flag("gpus", None if gpus is None else span_text(gpus)),
            *flag("seq", seq),
            *flag("global-batch", global_batch),
            *flag("fix", None if fix is None else settings_text(fix)),
            *flag("max", None if max is None else settings_text(max)),
            *flag("against", None if against is None else plans_of(against)),
            *flag("top", top),
            *flag("gpus-per-node", gpus_per_node),
            *flag("sequence-degree", sequence_degree),
            *flag("expert-tp", expert_tp),
            *flag("expert-dispatch", expert_dispatch),
            *flag("expert-load", expert_load),
            *flag("narrow-dispatch", narrow_dispatch),
            *flag("images", images),
            *flag("image-patches", image_patches),
            *flag("recompute-modules", recompute_modules),
            *flag("narrow-swiglu", narrow_swiglu),
            *flag("narrow-attention-output", narrow_attention_output),
            *flag("torch-buffers", torch_buffers),
            *flag("attention", attention),
            *flag("vendor-attention", vendor_attention),
            *flag("narrow-attention", narrow_attention),
            *flag("fp8-rowwise", fp8_rowwise),
            *flag("narrow-head", narrow_head),
            *flag("grouped-experts", grouped_experts),
            *flag("fused-experts", fused_experts),
            *flag("fused-pointwise", fused_pointwise),
            *flag("compiled", compiled),
            *flag("fused-loss", fused_loss),
            *flag("loss-in-place", loss_in_place),
            *flag("fused-gradient-sum", fused_gradient_sum),
            *flag("cuda-graphs", cuda_graphs),
            *flag("vocabulary-multiple", vocabulary_multiple),
            *flag("no-overlap", None if no_overlap is None else list_text(no_overlap)),
            *flag("prefetch", prefetch),
            *flag("bucket", bucket),
            *flag("tp-overlap", tp_overlap),
            *flag("ep-overlap", ep_overlap),
            *flag("expert-sms", expert_sms),
            *flag("lora-rank", lora_rank),
            *flag("lora-targets", lora_targets),
            *flag("freeze", freeze),
            *flag("freeze-layers", freeze_layers),
            *flag("dtype", dtype),
            *flag("grad-dtype", grad_dtype),
            *flag("accumulate-dtype", accumulate_dtype),
            *flag("moments-dtype", moments_dtype),
            *flag("memory-headroom", None if memory_headroom is None else share_text(memory_headroom)),
            *flag("search-offload", search_offload),
            *flag("threads", threads),
            *flag("flags", flags),
            "--",
            *[files.value_of(model)],
        ]
        return PlanSearch(_core.plan(arguments))