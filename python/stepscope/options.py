# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_verbs.py from the flags of the command.
"""Options of the verbs, which are needed now and then: one class for each group of them. A field that is None is not given.

    ss.predict("llama-3-8b", machine="h100_sxm_80gb", gpus=64, plan=ss.Plan(tp=8, zero=1), job=ss.Job(price=2.5))

A field that a verb does not take raises UsageError there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from stepscope.inputs import (
    Options,
    files,
    flag,
    list_text,
    settings_text,
    share_text,
    span_text,
    texts_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from stepscope.kinds import Named, Numbers, Settings, Span


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Options):
    """How a job divides its work: degrees of parallelism, memory, kernels, batch.

    Plan file:
    file: Plan as a JSON file. Flags override it.
    ds_config: DeepSpeed ds_config.json as the plan.

    Common flags:
    tp: Tensor-parallel devices. Default: 1.
    pp: Pipeline stages. Default: 1.

    Parallelism:
    tensor_layout: Cut of matrix products over tensor-parallel devices. Default: 1d.
    tp_rows: Rows of the grid in the 2d, 2.5d and 3d layouts. Without sides it is square, or a
        cube.
    tp_columns: Columns of the grid in the 2d, 2.5d and 3d layouts.
    tp_depth: Copies of the grid in the 2.5d layout, third side in the 3d layout. Default: 1.
    sequence_parallel: Split norms and residuals over the tensor-parallel devices.
    sequence_degree: Devices over which Plan(sequence_parallel=True) splits. Without it Plan.tp.
    cp: Context-parallel devices. Default: 1.
    context_exchange: Exchange of keys between context-parallel devices. Default: all_gather.
    ep: Expert-parallel devices, among the cp * dp ones. Default: 1.
    expert_tp: Tensor-parallel devices of an expert: 1 or Plan.tp. Without it Plan.tp.
    expert_dispatch: Copies of a token: one for each chosen expert, or for each rank and domain
        with some. Default: all_to_all.
    expert_load: Tokens of the fullest device's experts, in percent of the mean. Default: 100.
    narrow_dispatch: Send tokens to experts, and gradients back to them, in fp8.
    schedule: Order of the pipeline's passes. Default: 1f1b.
    virtual_stages: Chunks of the model on one device (interleaved). Default: 1.
    stage_layers: Layers of each (virtual) stage, in model order.
    dp: Data-parallel devices. Without it what tp, cp and pp leave of gpus.

    Memory:
    zero: States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters.
        Default: 0.
    shard_group: Devices of a group that splits states. Groups hold copies.
    secondary_group: Devices of a group that keeps a second copy of the parameters, which
        backward gathers (ZeRO-3, hpZ).
    recompute: Recomputation in backward. With every:K the first of each K layers stays whole.
        Default: none.
    recompute_modules: Parts of layers computed again: core_attention, norms, expert_activation,
        experts, feed_forward, latent_up, hyper_connections.
    narrow_swiglu: Keep the inputs of SwiGLU for backward in fp8.
    narrow_attention_output: Keep attention's output for backward once, in 12 bits, if the dtype
        is fp8 or fp4.
    offload: Place of states: optimizer, gradients or parameters = host or nvme.
    torch_buffers: Keep buffers as PyTorch's fully_shard and pipelining do.

    Model:
    seq: Tokens of a sequence.
    global_batch: Sequences of one optimizer step.

    Batch:
    images: Images of a sequence, which the model's tower encodes.
    image_patches: Patches of an image, before the tower merges them.
    micro_batch: Sequences of one pass on one device. Default: 1.
    reduce_each_micro_batch: Reduce gradients after every pass, not once a step.

    Kernels:
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

    Communication:
    no_overlap: Communication that nothing hides: gradient, parameters.
    prefetch: Layers that parameters are gathered ahead (ZeRO-3). Default: 1.
    gather_singly: Gather and reduce each weight by itself (ZeRO-3 of DeepSpeed before 0.6).
    bucket: Gradients that are reduced at once. Give bytes, or '25MiB'. Default: 25MiB.
    tp_overlap: Hide tensor-parallel communication under its matrix products.
    ep_overlap: Hide the all-to-alls of experts under another micro-batch.
    expert_sms: SMs that Plan(ep_overlap=True) keeps for all-to-alls, whether they run or not
        (DeepEP).

    Trained weights:
    lora_rank: Train adapters of this rank, with frozen weights (LoRA).
    lora_targets: Linear layers with an adapter, by the names of peft or Megatron. Without it
        all of attention and feed-forward parts.
    freeze: Parts of the model that stay as they are.
    freeze_layers: First layers that stay as they are, and have no adapters.

    Precision:
    dtype: Number format of matrix products. Default: bf16.
    grad_dtype: Format in which gradients are reduced. Default: bf16.
    accumulate_dtype: Format in which gradients of micro-batches are summed. Default: fp32.
    moments_dtype: Format of AdamW's two moments.
    """

    file: Named | None = None
    ds_config: Named | None = None
    tp: int | None = None
    tensor_layout: Literal["1d", "2d", "2.5d", "3d"] | None = None
    tp_rows: int | None = None
    tp_columns: int | None = None
    tp_depth: int | None = None
    sequence_parallel: bool | None = None
    sequence_degree: int | None = None
    cp: int | None = None
    context_exchange: Literal["all_gather", "ring", "all_to_all"] | None = None
    ep: int | None = None
    expert_tp: int | None = None
    expert_dispatch: Literal["all_to_all", "forwarded"] | None = None
    expert_load: int | None = None
    narrow_dispatch: bool | None = None
    pp: int | None = None
    schedule: Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "dualpipe"] | None = None
    virtual_stages: int | None = None
    stage_layers: Numbers | None = None
    dp: int | None = None
    zero: int | None = None
    shard_group: int | None = None
    secondary_group: int | None = None
    seq: int | None = None
    images: int | None = None
    image_patches: int | None = None
    micro_batch: int | None = None
    global_batch: int | None = None
    reduce_each_micro_batch: bool | None = None
    recompute: str | None = None
    recompute_modules: str | None = None
    attention: Literal["fused", "materialised"] | None = None
    vendor_attention: bool | None = None
    narrow_attention: bool | None = None
    fp8_rowwise: bool | None = None
    narrow_head: bool | None = None
    narrow_swiglu: bool | None = None
    narrow_attention_output: bool | None = None
    grouped_experts: bool | None = None
    fused_experts: bool | None = None
    fused_pointwise: bool | None = None
    compiled: bool | None = None
    fused_loss: bool | None = None
    loss_in_place: bool | None = None
    fused_gradient_sum: bool | None = None
    offload: Settings | None = None
    no_overlap: str | Sequence[str] | None = None
    prefetch: int | None = None
    gather_singly: bool | None = None
    bucket: int | str | None = None
    torch_buffers: bool | None = None
    tp_overlap: bool | None = None
    ep_overlap: bool | None = None
    cuda_graphs: Literal["none", "layers", "step"] | None = None
    expert_sms: int | None = None
    lora_rank: int | None = None
    lora_targets: str | None = None
    freeze: str | None = None
    freeze_layers: int | None = None
    vocabulary_multiple: int | None = None
    dtype: Literal["fp32", "tf32", "bf16", "fp16", "fp8", "fp4"] | None = None
    grad_dtype: Literal["fp32", "bf16", "fp16"] | None = None
    accumulate_dtype: Literal["fp32", "bf16", "fp16"] | None = None
    moments_dtype: Literal["fp32", "bf16"] | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "plan": flag("plan", self.file, place.value_of),
            "ds-config": flag("ds-config", self.ds_config, place.value_of),
            "tp": flag("tp", self.tp),
            "tensor-layout": flag("tensor-layout", self.tensor_layout),
            "tp-rows": flag("tp-rows", self.tp_rows),
            "tp-columns": flag("tp-columns", self.tp_columns),
            "tp-depth": flag("tp-depth", self.tp_depth),
            "sequence-parallel": flag("sequence-parallel", self.sequence_parallel),
            "sequence-degree": flag("sequence-degree", self.sequence_degree),
            "cp": flag("cp", self.cp),
            "context-exchange": flag("context-exchange", self.context_exchange),
            "ep": flag("ep", self.ep),
            "expert-tp": flag("expert-tp", self.expert_tp),
            "expert-dispatch": flag("expert-dispatch", self.expert_dispatch),
            "expert-load": flag("expert-load", self.expert_load),
            "narrow-dispatch": flag("narrow-dispatch", self.narrow_dispatch),
            "pp": flag("pp", self.pp),
            "schedule": flag("schedule", self.schedule),
            "virtual-stages": flag("virtual-stages", self.virtual_stages),
            "stage-layers": flag("stage-layers", self.stage_layers, list_text),
            "dp": flag("dp", self.dp),
            "zero": flag("zero", self.zero),
            "shard-group": flag("shard-group", self.shard_group),
            "secondary-group": flag("secondary-group", self.secondary_group),
            "seq": flag("seq", self.seq),
            "images": flag("images", self.images),
            "image-patches": flag("image-patches", self.image_patches),
            "micro-batch": flag("micro-batch", self.micro_batch),
            "global-batch": flag("global-batch", self.global_batch),
            "reduce-each-micro-batch": flag("reduce-each-micro-batch", self.reduce_each_micro_batch),
            "recompute": flag("recompute", self.recompute),
            "recompute-modules": flag("recompute-modules", self.recompute_modules),
            "attention": flag("attention", self.attention),
            "vendor-attention": flag("vendor-attention", self.vendor_attention),
            "narrow-attention": flag("narrow-attention", self.narrow_attention),
            "fp8-rowwise": flag("fp8-rowwise", self.fp8_rowwise),
            "narrow-head": flag("narrow-head", self.narrow_head),
            "narrow-swiglu": flag("narrow-swiglu", self.narrow_swiglu),
            "narrow-attention-output": flag("narrow-attention-output", self.narrow_attention_output),
            "grouped-experts": flag("grouped-experts", self.grouped_experts),
            "fused-experts": flag("fused-experts", self.fused_experts),
            "fused-pointwise": flag("fused-pointwise", self.fused_pointwise),
            "compiled": flag("compiled", self.compiled),
            "fused-loss": flag("fused-loss", self.fused_loss),
            "loss-in-place": flag("loss-in-place", self.loss_in_place),
            "fused-gradient-sum": flag("fused-gradient-sum", self.fused_gradient_sum),
            "offload": flag("offload", self.offload, settings_text),
            "no-overlap": flag("no-overlap", self.no_overlap, list_text),
            "prefetch": flag("prefetch", self.prefetch),
            "gather-singly": flag("gather-singly", self.gather_singly),
            "bucket": flag("bucket", self.bucket),
            "torch-buffers": flag("torch-buffers", self.torch_buffers),
            "tp-overlap": flag("tp-overlap", self.tp_overlap),
            "ep-overlap": flag("ep-overlap", self.ep_overlap),
            "cuda-graphs": flag("cuda-graphs", self.cuda_graphs),
            "expert-sms": flag("expert-sms", self.expert_sms),
            "lora-rank": flag("lora-rank", self.lora_rank),
            "lora-targets": flag("lora-targets", self.lora_targets),
            "freeze": flag("freeze", self.freeze),
            "freeze-layers": flag("freeze-layers", self.freeze_layers),
            "vocabulary-multiple": flag("vocabulary-multiple", self.vocabulary_multiple),
            "dtype": flag("dtype", self.dtype),
            "grad-dtype": flag("grad-dtype", self.grad_dtype),
            "accumulate-dtype": flag("accumulate-dtype", self.accumulate_dtype),
            "moments-dtype": flag("moments-dtype", self.moments_dtype),
        }

    def _name_of(self, flag: str) -> str:
        return f"Plan.file" if flag == "plan" else super()._name_of(flag)

@dataclass(frozen=True, kw_only=True, repr=False)
class Job(Options):
    """What traces and model do not say of a job: its machines, FLOPs and prices.

    peak_tflops: Peak of one device in TFLOP/s, instead of the catalogue's.
    peak_dtype: Format whose peak counts where the trace does not show the format.
    price: Price of a GPU-hour, which shows each loss in money a day too.
    gpus_per_node: Devices that share the fast links.
    nodes: Nodes, instead of gpus.
    recorded_machine: Machine of the traces, if it is another one.
    machine: Device of the run: a machine of the catalogue or a file.

    model_flops_per_step: FLOPs of the model for one global batch, without recomputation,
        instead of model.
    model: Model of the run, for its FLOPs and the expected step: a name, a file of ours or a
        Hugging Face config.json.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    """

    peak_tflops: float | None = None
    peak_dtype: Literal["bf16", "fp16", "fp8", "tf32", "fp32"] | None = None
    price: float | None = None
    gpus_per_node: int | None = None
    nodes: int | None = None
    model_flops_per_step: float | None = None
    recorded_machine: Named | None = None
    model: Named | None = None
    machine: Named | None = None
    global_batch: int | None = None
    seq: int | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "peak-tflops": flag("peak-tflops", self.peak_tflops),
            "peak-dtype": flag("peak-dtype", self.peak_dtype),
            "price": flag("price", self.price),
            "gpus-per-node": flag("gpus-per-node", self.gpus_per_node),
            "nodes": flag("nodes", self.nodes),
            "model-flops-per-step": flag("model-flops-per-step", self.model_flops_per_step),
            "recorded-machine": flag("recorded-machine", self.recorded_machine, place.value_of),
            "model": flag("model", self.model, place.value_of),
            "machine": flag("machine", self.machine, place.value_of),
            "global-batch": flag("global-batch", self.global_batch),
            "seq": flag("seq", self.seq),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Reading(Options):
    """How traces, logs and lists of step times are read.

    filter_time: Only this span of time since the capture began: 10s:20s, 500ms: or :30s. For
        exports of Nsight Systems. Give ('10s', '20s').
    step_annotation: Name of the annotations that are steps, alone or before a number. Without
        it ProfilerStep, else ranges called iterations.
    kernel_rules: Rules that give names of kernels and operators a class, before the program's
        own (docs/reference/kernel-rules.md).
    gpu_log_zone: Zone of the times in logs of GPUs that name none: UTC, +01:00, -03:30. Without
        it the zone in which log and capture overlap, if there is only one.
    unit: Unit of lists of step times whose header names none. Default: ms.
    log_pattern: Text of the log's lines that report on a step, with {step} and {ms} or {s} for
        its numbers and * for other text: 'iter {step}: * took {ms} ms'.

    groups: Dimension of each process group: lines 'group dp|tp|sp|pp|cp|ep'.

    tp: Tensor-parallel devices. Default: 1.
    pp: Pipeline stages. Default: 1.

    dp: Data-parallel devices. Without it what tp, cp and pp leave of gpus.

    threads: Threads to use. Default: all cores.
    """

    filter_time: Span | None = None
    step_annotation: str | None = None
    kernel_rules: Named | None = None
    gpu_log_zone: str | None = None
    groups: Named | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    unit: Literal["ns", "us", "ms", "s"] | None = None
    log_pattern: str | None = None
    threads: int | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "filter-time": flag("filter-time", self.filter_time, span_text),
            "step-annotation": flag("step-annotation", self.step_annotation),
            "kernel-rules": flag("kernel-rules", self.kernel_rules, place.value_of),
            "gpu-log-zone": flag("gpu-log-zone", self.gpu_log_zone),
            "groups": flag("groups", self.groups, place.value_of),
            "tp": flag("tp", self.tp),
            "pp": flag("pp", self.pp),
            "dp": flag("dp", self.dp),
            "unit": flag("unit", self.unit),
            "log-pattern": flag("log-pattern", self.log_pattern),
            "threads": flag("threads", self.threads),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Statistics(Options):
    """Bounds of a comparison.

    warm_up: Steps of each launch to leave out. Default: found from the times.
    alpha: Chance of a wrong call between equal runs. Give a share from 0 to 1, or '5%'.
        Default: 5%.
    floor: Smallest difference that matters. Give a share from 0 to 1, or '5%'. Default: 1%.
    """

    warm_up: int | None = None
    alpha: float | str | None = None
    floor: float | str | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "warm-up": flag("warm-up", self.warm_up),
            "alpha": flag("alpha", self.alpha, share_text),
            "floor": flag("floor", self.floor, share_text),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Launching(Options):
    """How a command is launched.

    timeout: Time that a launch may take. Give seconds, or '20ms'. Default: none.
    keep: Directory where files that the launches wrote stay.
    """

    timeout: float | str | None = None
    keep: str | os.PathLike[str] | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "timeout": flag("timeout", self.timeout),
            "keep": flag("keep", self.keep, os.fspath),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Search(Options):
    """Bounds and outputs of a search of plans.

    max: Only plans with at most these values: pp=16.
    top: Plans to show. Default: 10.

    memory_headroom: Share of the memory that stays free. Give a share from 0 to 1, or '5%'.
        Default: 10%.
    search_offload: Search states in host memory and on NVMe too.

    flags: Show the best plan as flags of a framework.

    threads: Threads to use. Default: all cores.
    """

    max: Settings | None = None
    top: int | None = None
    memory_headroom: float | str | None = None
    search_offload: bool | None = None
    flags: Literal["megatron", "deepspeed", "torchtitan"] | None = None
    threads: int | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "max": flag("max", self.max, settings_text),
            "top": flag("top", self.top),
            "memory-headroom": flag("memory-headroom", self.memory_headroom, share_text),
            "search-offload": flag("search-offload", self.search_offload),
            "flags": flag("flags", self.flags),
            "threads": flag("threads", self.threads),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Details(Options):
    """What a prediction shows in addition.

    layers: Show the table of all operations.
    conventions: Text whose conventions count the tables of Details(layers=True). Default:
        stepscope.
    explain: Formula of a term, a part or an operation with its values, or all.
    """

    layers: bool | None = None
    conventions: Literal["stepscope", "notebook", "notebook-cells"] | None = None
    explain: str | Sequence[str] | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "layers": flag("layers", self.layers),
            "conventions": flag("conventions", self.conventions),
            "explain": flag("explain", self.explain, texts_of),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Collective(Options):
    """A collective to predict.

    name: Collective to time instead of a model: all_reduce, all_gather, reduce_scatter,
        broadcast, reduce, all_to_all, send, recv, send_recv, gather, scatter, barrier.
    bytes: Sizes of the collective's whole buffer. Default: 1KB:1GB.
    group: Devices that take part in the collective.
    """

    name: str | None = None
    bytes: Span | None = None
    group: int | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "collective": flag("collective", self.name),
            "bytes": flag("bytes", self.bytes, span_text),
            "group": flag("group", self.group),
        }

    def _name_of(self, flag: str) -> str:
        return f"Collective.name" if flag == "collective" else super()._name_of(flag)

@dataclass(frozen=True, kw_only=True, repr=False)
class Join(Options):
    """How a profile of stacks and a trace are joined.

    rank: Rank that was profiled, where the traces have several. One for each profile, in their
        order, or one for all.
    offset: Time to add to the profile's clock to get the trace's, as -0.25s or 12.5ms. Give
        seconds, or '20ms'.
    gapless: Take a sample's place as an instant: no sample of a thread is missing (py-spy
        record --idle).
    """

    rank: int | None = None
    offset: float | str | None = None
    gapless: bool | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "rank": flag("rank", self.rank),
            "offset": flag("offset", self.offset),
            "gapless": flag("gapless", self.gapless),
        }

@dataclass(frozen=True, kw_only=True, repr=False)
class Trees(Options):
    """Which call trees the text shows.

    min_share: Smallest part that a tree shows. Give a share from 0 to 1, or '5%'. Default: 1%.

    top_down: Show the call tree, callers above callees.
    bottom_up: Show the call tree, callees above callers.
    """

    min_share: float | str | None = None
    top_down: bool | None = None
    bottom_up: bool | None = None

    def _arguments(self, place: files) -> dict[str, list[str]]:
        return {
            "min-share": flag("min-share", self.min_share, share_text),
            "top-down": flag("top-down", self.top_down),
            "bottom-up": flag("bottom-up", self.bottom_up),
        }
