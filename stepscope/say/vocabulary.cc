// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

constexpr std::array groups = std::to_array<TermGroup>({
    {"budget", "Time budget of a step", "ns"},
    {"mfu", "MFU budget", "share of the step"},
    {"phase", "Phases of a step", "ns"},
    {"bound_by", "What binds a step", ""},
    {"finding", "Findings", ""},
    {"confidence", "How a gain is known", ""},
    {"kernel_class", "Classes of kernels and operators", ""},
    {"dimension", "Dimensions of parallelism", ""},
    {"bubble", "Parts of the pipeline bubble", "ns"},
    {"schedule", "Pipeline schedules", ""},
    {"path", "Parts of the critical path", "ns"},
    {"step_class", "Classes of an expected step", "ns"},
    {"step_term", "Terms of a predicted step", "ns"},
    {"predicted_memory", "Terms of predicted memory", "bytes"},
    {"memory_use", "Uses of recorded memory", "bytes"},
    {"allocator", "States of the allocator's memory", "bytes"},
    {"phase_kind", "Kinds of host phases", ""},
    {"placement", "Places of a process group", ""},
    {"dtype", "Formats of numbers", ""},
    {"figure", "Figures", ""},
    {"idea", "Other words", ""},
});

constexpr std::array table = std::to_array<Term>({
    {"budget", "compute", "compute", "A compute kernel runs and no communication runs."},
    {"budget", "comm_overlapped", "overlapped communication",
     "Communication runs and a compute kernel runs at the same time.", "overlapped"},
    {"budget", "comm_exposed_wait", "waiting for peers",
     "Only communication runs, and a peer has not arrived.", "waiting"},
    {"budget", "comm_exposed_transfer", "exposed transfer",
     "Only communication runs, and its peers have arrived: bytes move.", "transfer"},
    {"budget", "comm_exposed_unsplit", "transfer or waiting",
     "Only communication runs. The traces cannot tell the transfer from waiting for peers.",
     "exposed"},
    {"budget", "copy_exposed", "exposed copies", "Only memory copies run.", "copies"},
    {"budget", "idle_data", "data loading", "The device is idle: the host loads data.", "data"},
    {"budget", "idle_host", "waiting for the host",
     "The device is idle: the host has not launched the next kernel yet.", "host",
     "between operators"},
    {"budget", "idle_sync", "host synchronization",
     "The device is idle: the host was blocked in a synchronizing call and launched nothing.",
     "sync"},
    {"budget", "idle_launch", "launch latency",
     "The device is idle: the next kernel is launched and has not started.", "launch"},
    {"budget", "idle_dependency", "waiting for another stream",
     "The device is idle: the next kernel waits for an event of another stream, or a waiting "
     "kernel "
     "runs.",
     "stream"},
    {"budget", "idle_unexplained", "unexplained",
     "The device is idle, and the trace does not say why.", "unexplained"},
    {"budget", "not_recorded", "not recorded",
     "The recording lacks what the device did: launches without their kernels, work from before "
     "the "
     "recording, gaps between the nodes of one graph launch.",
     "not recorded"},

    {"mfu", "mfu", "model FLOPs (MFU)",
     "The share of the peak that becomes FLOPs of the model, without recomputation."},
    {"mfu", "recompute", "recomputation",
     "Time that the peak needs for forward work done a second time to save memory, as far as the "
     "trace shows it."},
    {"mfu", "beyond_model", "FLOPs beyond the model's",
     "Time that the peak needs for executed FLOPs that the model does not need and no recorded "
     "recomputation explains: work that several ranks do alike, padding, unused experts. Negative: "
     "the model FLOPs exceed what was executed."},
    {"mfu", "executed_at_peak", "matmul and attention at peak",
     "Time that the peak needs for the executed FLOPs, if the model's FLOPs are not known (HFU)."},
    {"mfu", "kernel_inefficiency", "matmul and attention below peak",
     "Time of matmul and attention kernels beyond what the peak needs for their FLOPs."},
    {"mfu", "memory_bound_compute", "memory-bound kernels",
     "Time of compute kernels of a known class other than matmul and attention.", "",
     "memory-bound operators"},
    {"mfu", "compute_unattributed", "compute, FLOPs unknown",
     "Compute time of kernels of unknown class, and compute time whose FLOPs the traces do not "
     "give."},
    {"mfu", "exposed_transfer", "exposed transfer",
     "Only communication runs, and its peers have arrived: bytes move."},
    {"mfu", "exposed_wait", "waiting for peers",
     "Only communication runs, and a peer has not arrived."},
    {"mfu", "exposed_comm_unsplit", "transfer or waiting",
     "Only communication runs. The traces cannot tell the transfer from waiting for peers."},
    {"mfu", "exposed_copy", "exposed copies", "Only memory copies run."},
    {"mfu", "pipeline_bubble", "pipeline bubble",
     "The stage is idle because the pipeline fills or drains, or waits for a neighbour."},
    {"mfu", "idle_data", "data loading", "The device is idle: the host loads data."},
    {"mfu", "idle_host", "waiting for the host",
     "The device is idle: the host has not launched the next kernel yet.", "", "between operators"},
    {"mfu", "idle_sync", "host synchronization",
     "The device is idle: the host was blocked in a synchronizing call and launched nothing."},
    {"mfu", "idle_launch", "launch latency",
     "The device is idle: the next kernel is launched and has not started."},
    {"mfu", "idle_dependency", "waiting for another stream",
     "The device is idle: the next kernel waits for an event of another stream, or a waiting "
     "kernel "
     "runs."},
    {"mfu", "idle_unexplained", "unexplained",
     "The device is idle, and the trace does not say why."},
    {"mfu", "not_recorded", "not recorded",
     "The recording lacks what the device did: launches without their kernels, work from before "
     "the "
     "recording, gaps between the nodes of one graph launch."},

    {"phase", "forward", "forward", "The forward pass."},
    {"phase", "backward", "backward", "The backward pass."},
    {"phase", "recompute", "recompute",
     "Forward work repeated during the backward pass (activation checkpointing)."},
    {"phase", "optimizer", "optimizer", "The optimizer's update, with gradient clipping."},
    {"phase", "data", "data", "Loading the next batch."},
    {"phase", "other", "other", "The rest of the step."},

    {"bound_by", "compute", "compute", "Kernels limit the step."},
    {"bound_by", "memory", "memory traffic", "Memory-bound kernels limit the step."},
    {"bound_by", "communication", "communication", "Exposed communication limits the step."},
    {"bound_by", "host", "the host", "The host launches work too slowly.", "",
     "what runs between the operators"},
    {"bound_by", "data", "data loading", "The data loader limits the step."},
    {"bound_by", "sync", "synchronization", "Synchronizing calls of the host limit the step."},
    {"bound_by", "copy", "copies", "Exposed copies limit the step."},
    {"bound_by", "bubble", "the pipeline's bubble", "The pipeline bubble limits the step."},
    {"bound_by", "straggler", "a straggler", "Waiting for a late rank limits the step."},
    {"bound_by", "unexplained", "idle time that the trace does not explain",
     "Idle time of unknown cause limits the step."},

    {"finding", "slow_rank", "slow rank", "Kernels of a rank take longer than its peers'."},
    {"finding", "late_host", "late host", "The host of a rank launches its work late."},
    {"finding", "throttling", "throttling", "A rank computes more slowly from some step on."},
    {"finding", "pauses", "pauses", "The host stands still now and then, on changing ranks."},
    {"finding", "outlier_step", "outlier step", "One step takes much longer than the others."},
    {"finding", "slow_group", "slow process group",
     "Transfers of a process group take longer than in its sibling groups."},
    {"finding", "exposed_communication", "exposed communication",
     "The step waits for the transfer of a collective."},
    {"finding", "slow_link", "slow link", "Transfers of a group take longer than its links allow."},
    {"finding", "congestion", "congestion", "Equal collectives take very different times."},
    {"finding", "bucket_too_small", "bucket too small",
     "A larger gradient bucket shortens the step."},
    {"finding", "bucket_too_large", "bucket too large",
     "A smaller gradient bucket shortens the step."},
    {"finding", "prefetch_miss", "prefetch miss", "Sharded parameters arrive late."},
    {"finding", "algorithm_not_best", "collective algorithm",
     "The library chose an algorithm that the link model finds slower."},
    {"finding", "sync_calls", "synchronizing calls", "Calls of the host wait for the device."},
    {"finding", "unseen_host", "unrecorded host work",
     "The host does something long in each step that no row tells of."},
    {"finding", "launch_bound", "launch-bound",
     "The host does not launch work fast enough for the device."},
    {"finding", "data_loader", "data loader", "Training waits for the data loader."},
    {"finding", "garbage_collection", "garbage collection",
     "Python's garbage collector runs within the step."},
    {"finding", "allocator_in_step", "allocation in the step",
     "Device memory is allocated or freed within the step."},
    {"finding", "allocation_retries", "allocation retries",
     "The allocator freed its cache and tried again."},
    {"finding", "profiler_overhead", "profiler overhead",
     "The profiler takes part of the recorded time."},
    {"finding", "gil_contention", "GIL contention",
     "A training thread waits for Python's global interpreter lock while the device idles."},
    {"finding", "exposed_copies", "exposed copies",
     "The step waits for copies between host and device."},
    {"finding", "device_shared", "shared device", "Another process uses the device in between."},
    {"finding", "uneven_compute", "unequal compute",
     "Ranks of one role compute for different times in a step."},
    {"finding", "sequence_imbalance", "unequal work", "Ranks of one role have unequal work."},
    {"finding", "stage_imbalance", "unequal stages",
     "A pipeline stage has more work than the others."},
    {"finding", "bubble", "pipeline bubble", "Pipeline stages idle for lack of work."},
    {"finding", "padding", "bad alignment", "A dimension of a matrix product is badly aligned."},
    {"finding", "low_matmul_efficiency", "slow matrix products",
     "Matrix products run far below the peak."},
    {"finding", "small_matmuls", "small matrix products",
     "Matrix products are too short to fill the device."},
    {"finding", "tensor_cores_unused", "tensor cores unused",
     "Matrix products do not use the tensor cores."},
    {"finding", "fp32_matmuls", "fp32 matrix products",
     "Matrix products have single-precision operands."},
    {"finding", "memory_bound", "memory-bound kernels",
     "Kernels that a compiler could fuse take part of the step."},
    {"finding", "contention", "contention", "Kernels run slower while communication runs."},
    {"finding", "recompute", "recomputation", "Activations are computed twice."},
    {"finding", "memory_near_limit", "memory nearly full", "Device memory is nearly full."},
    {"finding", "fragmentation", "fragmentation",
     "The allocator reserves much more memory than is used."},
    {"finding", "gpu_slowdown", "GPU slowdown",
     "A GPU slows down to protect itself from heat or for the power supply."},
    {"finding", "too_few_steps", "too few steps", "Fewer than three steps were recorded."},

    {"confidence", "high", "by replay", "A replay of the recorded steps gives the gain."},
    {"confidence", "medium", "at most",
     "The gain is bounded by the cause's time on the critical path."},
    {"confidence", "low", "at most, roughly",
     "The gain is an upper bound, or the graph leaves more than 5 % of the step unexplained."},

    {"kernel_class", "matmul", "matmul", "Matrix products and convolutions."},
    {"kernel_class", "attention", "attention",
     "Fused attention, linear attention, state-space scans."},
    {"kernel_class", "norm", "norm", "Layer norm, RMS norm, batch norm."},
    {"kernel_class", "softmax", "softmax", "Softmax outside of fused attention."},
    {"kernel_class", "elementwise", "elementwise", "Operations of one element at a time."},
    {"kernel_class", "reduction", "reduction", "Sums, means, maxima over elements."},
    {"kernel_class", "quantize", "quantize",
     "Conversions to and from scaled formats such as FP8 and FP4, and their scales."},
    {"kernel_class", "routing", "routing",
     "Mixture of experts: choice of experts, order of tokens, gathering of results."},
    {"kernel_class", "optimizer", "optimizer", "Updates of parameters."},
    {"kernel_class", "embedding", "embedding", "Lookups of embeddings and their gradients."},
    {"kernel_class", "loss", "loss", "Cross entropy and other losses."},
    {"kernel_class", "communication", "communication", "Collectives and messages."},
    {"kernel_class", "copy", "copy", "Copies and memsets."},
    {"kernel_class", "wait", "wait", "Kernels that wait for an event or a peer and do no work."},
    {"kernel_class", "other", "other", "Kernels of unknown class."},

    {"dimension", "dp", "data parallel (DP)", "Ranks with the same parameters and other samples."},
    {"dimension", "tp", "tensor parallel (TP)", "Ranks that share each layer's matrices."},
    {"dimension", "sp", "sequence parallel (SP)",
     "Ranks that share the sequence outside of the tensor-parallel parts."},
    {"dimension", "pp", "pipeline parallel (PP)", "Ranks that hold different layers."},
    {"dimension", "cp", "context parallel (CP)", "Ranks that share the sequence in attention."},
    {"dimension", "ep", "expert parallel (EP)", "Ranks that hold different experts."},
    {"dimension", "world", "all ranks", "A group of all ranks of the job."},
    {"dimension", "unknown", "unknown", "The trace does not name the group's purpose."},

    {"bubble", "fill_ns", "fill",
     "Idle time before the stage's first forward, from the first forward of any stage."},
    {"bubble", "work_ns", "work", "Forward and backward passes of the stage."},
    {"bubble", "between_ns", "between its passes",
     "Idle time between the stage's first forward and its last backward."},
    {"bubble", "drain_ns", "drain",
     "Idle time after the stage's last backward, to the last backward of any stage."},

    {"schedule", "gpipe", "GPipe", "All forwards, then all backwards."},
    {"schedule", "1f1b", "1F1B", "One forward, one backward, in turns."},
    {"schedule", "interleaved", "interleaved", "1F1B with several chunks of layers a stage."},

    {"path", "host", "host", "The host prepares the next launch."},
    {"path", "launch", "launch", "From the launch call to the kernel's start."},
    {"path", "sync", "synchronization", "A synchronizing call returns."},
    {"path", "copy", "copy", "A memory copy."},
    {"path", "communication", "communication", "A collective or a message."},
    {"path", "held", "device held", "Another process has the device."},
    {"path", "unexplained", "unexplained", "A delay of unknown cause."},
    {"path", "not recorded", "not recorded", "Time before the rank's first row."},

    {"step_class", "matmul", "matmul"},
    {"step_class", "attention", "attention"},
    {"step_class", "norm", "norm"},
    {"step_class", "elementwise", "elementwise",
     "With softmax, reductions, quantization, routing, copies by kernels, unknown kernels."},
    {"step_class", "embedding", "embedding"},
    {"step_class", "loss", "loss"},
    {"step_class", "optimizer", "optimizer"},
    {"step_class", "tensor_comm", "tensor-parallel communication", "Its exposed part."},
    {"step_class", "context_comm", "context-parallel communication", "Its exposed part."},
    {"step_class", "expert_comm", "expert-parallel communication", "Its exposed part."},
    {"step_class", "pipeline_comm", "pipeline communication",
     "The exposed part of messages between stages."},
    {"step_class", "data_comm", "data-parallel communication", "Its exposed part."},
    {"step_class", "other_comm", "communication of unknown groups", "Its exposed part."},
    {"step_class", "bubble", "pipeline bubble", "Waiting between pipeline stages."},
    {"step_class", "wait", "waiting for late ranks", "A model expects none."},
    {"step_class", "copy", "exposed copies"},
    {"step_class", "host", "idle device", "Nothing runs: the device waits for launches."},

    {"step_term", "matmul", "matrix products", "Forward and backward."},
    {"step_term", "attention", "attention",
     "Forward and backward. With Mamba-2 or linear attention also the scans of their states."},
    {"step_term", "pointwise", "norms, activations, loss",
     "Kernels whose time the memory bandwidth sets."},
    {"step_term", "recompute", "recomputation", "Forward work done a second time."},
    {"step_term", "host", "waiting for the host", "The device waits for launches."},
    {"step_term", "tensor_comm", "tensor-parallel communication", "Its exposed part."},
    {"step_term", "context_comm", "context-parallel communication", "Its exposed part."},
    {"step_term", "expert_comm", "expert-parallel communication", "Its exposed part."},
    {"step_term", "pipeline_comm", "pipeline communication",
     "The exposed part of messages between stages."},
    {"step_term", "data_comm", "data-parallel communication", "Its exposed part."},
    {"step_term", "bubble", "pipeline bubble", "The pipeline fills and drains."},
    {"step_term", "optimizer", "optimizer", "The update of the parameters."},
    {"step_term", "offload", "offload", "Transfers to host memory and NVMe that nothing hides."},

    {"predicted_memory", "parameters", "parameters"},
    {"predicted_memory", "gathered", "gathered units",
     "Parameters of ZeRO-3 units (FSDP units) that are gathered for use."},
    {"predicted_memory", "gradients", "gradients"},
    {"predicted_memory", "buckets", "gradient buckets"},
    {"predicted_memory", "master", "master weights",
     "Parameters in fp32, kept with those in bf16."},
    {"predicted_memory", "optimizer", "optimizer states"},
    {"predicted_memory", "activations", "activations kept", "Kept for the backward pass."},
    {"predicted_memory", "workspace", "workspace", "Temporary tensors of one layer."},
    {"predicted_memory", "logits", "logits", "Logits, their gradients and the loss."},

    {"memory_use", "parameters", "parameters"},
    {"memory_use", "masters", "master weights",
     "Copies of the parameters in the format of the optimizer."},
    {"memory_use", "gradients", "gradients"},
    {"memory_use", "optimizer", "optimizer states"},
    {"memory_use", "activations", "activations",
     "Allocated in forward and alive after it, or older than the trace."},
    {"memory_use", "casts", "copies by autocast", "Copies of parameters in autocast's format."},
    {"memory_use", "temporary", "temporary",
     "Freed in the phase that allocated it, or allocated by the optimizer."},
    {"memory_use", "older", "of unknown use, older than the recording",
     "Allocated before the recording and not freed in it.", "older than the recording"},
    {"memory_use", "unknown", "unknown", "The trace does not tell."},

    {"allocator", "reserved_bytes", "reserved from the device",
     "What the allocator took from the device (PyTorch: reserved)."},
    {"allocator", "requested_bytes", "requested", "What the program asked for."},
    {"allocator", "rounding_bytes", "rounding", "Blocks are larger than asked for."},
    {"allocator", "stranded_bytes", "stranded between blocks",
     "Free parts of segments that still hold a block."},
    {"allocator", "cached_bytes", "cached, can be returned",
     "Segments without a block: empty_cache() gives them back."},
    {"allocator", "largest_free_bytes", "largest free block"},
    {"allocator", "pending_bytes", "waiting for another stream",
     "Freed blocks that another stream may still use."},

    {"phase_kind", "work", "computes or runs the model"},
    {"phase_kind", "submit", "gives work to the device"},
    {"phase_kind", "communication", "communication"},
    {"phase_kind", "wait", "waits"},
    {"phase_kind", "memory", "memory and copies"},
    {"phase_kind", "data", "loads data"},
    {"phase_kind", "io", "files and logs"},
    {"phase_kind", "overhead", "overhead", "Python, compilers, garbage collection."},
    {"phase_kind", "idle", "idle"},
    {"phase_kind", "hidden", "not in the excerpt"},

    {"placement", "one_host", "within one host"},
    {"placement", "several_hosts", "across hosts"},

    {"dtype", "c10::BFloat16", "bf16"},
    {"dtype", "c10::Half", "fp16"},
    {"dtype", "float", "fp32"},
    {"dtype", "double", "fp64"},
    {"dtype", "int", "int32"},
    {"dtype", "long int", "int64"},
    {"dtype", "long", "int64"},
    {"dtype", "bool", "bool"},
    {"dtype", "c10::Float8_e4m3fn", "fp8 e4m3"},
    {"dtype", "c10::Float8_e5m2", "fp8 e5m2"},

    {"figure", "mfu", "MFU",
     "Model FLOPs utilization: the model's FLOPs for the tokens of a step, divided by step time "
     "and peak.",
     "", "", "share of the peak"},
    {"figure", "hfu", "HFU",
     "Hardware FLOPs utilization: as MFU, with recomputed FLOPs counted too.", "", "",
     "share of the peak"},
    {"figure", "wall_ns", "step time", "From the begin of a step to its end.", "", "", "ns"},
    {"figure", "algbw_gb_per_s", "algbw",
     "Algorithm bandwidth: bytes of a collective's whole buffer, divided by its transfer time.", "",
     "", "GB/s"},
    {"figure", "busbw_gb_per_s", "busbw",
     "Bus bandwidth: algbw times the factor of nccl-tests, which makes it comparable with the "
     "rate of a link.",
     "", "", "GB/s"},
    {"figure", "ratio", "overlap ratio",
     "The share of communication time during which compute runs.", "", "", "share of one"},
    {"figure", "late_ns", "lateness",
     "The time by which a rank arrives after the median rank, summed over the collectives of a "
     "step.",
     "", "", "ns"},
    {"figure", "skew_ns", "arrival skew", "Last arrival at a collective minus first arrival.", "",
     "", "ns"},
    {"figure", "n_eff", "effective steps",
     "The number of independent steps that tell as much as the recorded ones.", "", "", "steps"},
    {"figure", "headroom_bytes", "headroom", "Device memory that stays free at the peak.", "", "",
     "bytes"},
    {"figure", "intensity", "arithmetic intensity",
     "FLOPs of an operation per byte of memory traffic.", "", "", "FLOP/byte"},
    {"figure", "replay_error", "replay error",
     "How far the replay is off when it predicts a recorded step from the step next to it "
     "(median).",
     "", "", "share of the step"},

    {"idea", "rank", "rank", "One process of a training job; usually one device."},
    {"idea", "role", "role",
     "Ranks that do the same work: one pipeline stage and one tensor-parallel place."},
    {"idea", "step", "step", "One optimizer step: all micro-batches of a global batch."},
    {"idea", "micro_batch", "micro-batch", "The samples of one forward and backward pass."},
    {"idea", "stage", "stage", "The layers of one pipeline-parallel rank."},
    {"idea", "unit", "unit",
     "Parameters that are gathered and released together (an FSDP unit, a ZeRO-3 block)."},
    {"idea", "bucket", "bucket", "Gradients that are reduced in one collective."},
    {"idea", "exposed", "exposed",
     "Not hidden behind compute. Exposed communication is exposed transfer and waiting."},
    {"idea", "straggler", "straggler", "A rank that arrives late at collectives step after step."},
    {"idea", "collective", "collective", "A communication call of all ranks of a process group."},
    {"idea", "critical_path", "critical path",
     "The chain of work that determines the step's end: shortening anything else changes nothing."},
    {"idea", "replay", "replay",
     "The recorded steps computed again from their graph, with or without a change."},
    {"idea", "what_if", "what-if", "A change that a replay applies to the recorded steps."},
    {"idea", "plan", "plan",
     "Degrees of parallelism, batch, ZeRO stage, recomputation and offload of a run."},
    {"idea", "machine", "machine",
     "A description of devices, links and hosts: data/machines, or measured by calibrate."},
});

constexpr bool groups_are_in_order() {
  auto at = table.begin();
  for (const TermGroup& group : groups) {
    if (at == table.end() || at->group != group.name) return false;
    while (at != table.end() && at->group == group.name) ++at;
  }
  return at == table.end();
}
static_assert(groups_are_in_order(), "terms of one group stand together, in the order of groups");

constexpr std::string_view glossary_opening =
    "# Terms\n\n"
    "This page lists the terms of stepscope. It is generated from `stepscope/say/vocabulary.cc`, "
    "which also feeds the\nterminal, the page, the help, and the object `terms` of the JSON. The "
    "key is the name in the JSON.\n";

}  // namespace

std::span<const TermGroup> term_groups() { return groups; }

std::span<const Term> terms_of(std::string_view group) {
  const auto [from, to] = [&] {
    const auto of_group = [&](const Term& t) { return t.group == group; };
    const auto first = std::ranges::find_if(table, of_group);
    return std::pair(first, std::find_if_not(first, table.end(), of_group));
  }();
  return {from, to};
}

const Term& term(std::string_view group, std::string_view key) {
  const auto terms = terms_of(group);
  const auto it = std::ranges::find(terms, key, &Term::key);
  check(it != terms.end(), "a term that the vocabulary lacks");
  return *it;
}

std::string_view label_of(std::string_view group, std::string_view key, bool on_cpu) {
  const Term& found = term(group, key);
  return on_cpu && !found.on_cpu.empty() ? found.on_cpu : found.label;
}

std::string glossary() {
  std::string out(glossary_opening);
  for (const TermGroup& group : groups) {
    out += fmt::format("\n## {}\n\n", group.title);
    const bool in_json = group.name != "idea";
    if (in_json && group.name != "figure")
      out += fmt::format("`terms.{}`{}.\n\n", group.name,
                         group.unit.empty() ? "" : fmt::format(", values in {}", group.unit));
    out += group.name == "figure" ? "| key | label | unit | meaning |\n|---|---|---|---|\n"
                                  : "| key | label | meaning |\n|---|---|---|\n";
    for (const Term& t : terms_of(group.name)) {
      out += fmt::format("| `{}` | {} |", t.key, t.label);
      if (!t.on_cpu.empty())
        out.insert(out.size() - 2, fmt::format(" (without a device: {})", t.on_cpu));
      if (!t.unit.empty()) out += fmt::format(" {} |", t.unit);
      out += fmt::format(" {} |\n", t.explanation);
    }
  }
  return out;
}

}  // namespace stepscope
