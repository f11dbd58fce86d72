// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_fields.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/nearest_names.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

using Set = Result<Done>;

Error is_no(std::string_view text, std::string_view what, std::string hint) {
  constexpr std::size_t longest = 80;  // of a text that is still printed
  return {.what = "\"" + std::string(text.substr(0, longest)) + "\" is no " + std::string(what),
          .hint = std::move(hint)};
}

Error is_no_name(std::string_view text, std::span<const std::string_view> names,
                 std::string_view what) {
  std::string all = "write ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) all += i + 1 == names.size() ? " or " : ", ";
    all += names[i];
  }
  return is_no(text, what, std::move(all));
}

template <class Int>
Set whole(Int& into, std::string_view text, std::int64_t least = 1) {
  const auto value = number_of<Int>(text);
  if (!value || *value < least)
    return is_no(text, least > 0 ? "positive whole number" : "whole number",
                 "write " + std::to_string(least) + " or more");
  into = *value;
  return Done{};
}

template <class Enum>
Set one_of(Enum& into, std::string_view text, std::span<const std::string_view> names,
           std::string_view what) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return is_no_name(text, names, what);
  into = static_cast<Enum>(found - names.begin());
  return Done{};
}

std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Set on_or_off(bool& into, std::string_view text) {
  if (text != "true" && text != "false") return is_no(text, "switch", "write true or false");
  into = text == "true";
  return Done{};
}

Set bytes_of_dtype(int& into, std::string_view text) {
  if (text == "fp32")
    into = 4;
  else if (text == "bf16" || text == "fp16")
    into = 2;
  else
    return is_no(text, "format of gradients", "write fp32, bf16 or fp16");
  return Done{};
}

Set list_of_layers(std::vector<std::int64_t>& into, std::string_view text) {
  into.clear();
  for (const std::string_view part : parts(text))
    if (const Set set = whole(into.emplace_back(), part); !set)
      return is_no(text, "list of layers", "write a positive number for each stage: 10,12,12,10");
  return Done{};
}

// Reads a flag's text into a member, with one overload per kind.
struct TextReader {
  std::string_view text;
  std::int64_t least;

  Set operator()(std::int64_t* n) const { return whole(*n, text, least); }
  Set operator()(int* n) const { return whole(*n, text, least); }
  Set operator()(bool* b) const { return on_or_off(*b, text); }
  Set operator()(std::vector<std::int64_t>* list) const { return list_of_layers(*list, text); }
  Set operator()(Bytes* bytes) const { return whole(bytes->value, text, least); }
  Set operator()(WidthRef width) const { return bytes_of_dtype(*width.bytes, text); }
  Set operator()(const ChoiceRef& c) const { return one_of(*c.index, text, c.names, c.noun); }
  Set operator()(const NamesRef& set) const {
    *set.bits = 0;
    for (const std::string_view part : parts(text)) {
      const auto index = index_of(set.names, part);
      if (!index) return is_no_name(part, set.names, set.noun);
      *set.bits = static_cast<std::uint16_t>(*set.bits | 1U << *index);
    }
    return Done{};
  }
  Set operator()(std::monostate) const { return Done{}; }
};

// Writes a member as its flag is written.
struct TextWriter {
  const PlanField& field;

  std::string operator()(const std::int64_t* n) const { return std::to_string(*n); }
  std::string operator()(const int* n) const { return std::to_string(*n); }
  std::string operator()(const bool* b) const {
    if (field.value.empty()) return *b ? "true" : "false";
    const std::size_t bar = field.value.find('|');  // of two words the first is true
    return std::string(*b ? field.value.substr(0, bar) : field.value.substr(bar + 1));
  }
  std::string operator()(const std::vector<std::int64_t>* list) const {
    std::string out;
    for (const std::int64_t n : *list) out += (out.empty() ? "" : ",") + std::to_string(n);
    return out;
  }
  std::string operator()(const Bytes* bytes) const { return byte_size_text(*bytes); }
  std::string operator()(WidthRef width) const {
    if (field.name.empty()) return std::to_string(*width.bytes);
    return *width.bytes == 4 ? "fp32" : "bf16";
  }
  std::string operator()(const ChoiceRef& c) const { return std::string(c.names[*c.index]); }
  std::string operator()(const NamesRef& set) const {
    std::string out;
    for (std::size_t i = 0; i < set.names.size(); ++i)
      if ((*set.bits >> i & 1U) != 0) out += (out.empty() ? "" : ",") + std::string(set.names[i]);
    return out;
  }
  std::string operator()(std::monostate) const { return {}; }
};

struct AddressOf {
  const void* operator()(const auto* member) const { return member; }
  const void* operator()(WidthRef width) const { return width.bytes; }
  const void* operator()(const ChoiceRef& c) const { return c.index; }
  const void* operator()(const NamesRef& set) const { return set.bits; }
  const void* operator()(std::monostate) const { return nullptr; }
};

// Weights and activations in this format. Below 16 bits only the products are in this format.
Set dtype(Plan& p, std::string_view text) {
  const auto format = parse_dtype(text);
  if (!format || *format == Dtype::fp64)
    return is_no(text, "number format", "write fp32, tf32, bf16, fp16, fp8 or fp4");
  p.precision = {};
  p.precision.matmul = *format;
  if (*format == Dtype::fp32 || *format == Dtype::tf32)
    p.precision = {.matmul = *format,
                   .parameter_bytes = 4,
                   .gradient_bytes = 4,
                   .accumulated_gradient_bytes = 4,
                   .master_bytes = 0,
                   .optimizer_state_bytes = 8,
                   .activation_bytes = 4};
  return Done{};
}

Set moments_dtype(Plan& p, std::string_view text) {
  if (text != "fp32" && text != "bf16")
    return is_no(text, "format of the optimizer's moments", "write fp32 or bf16");
  p.precision.optimizer_state_bytes = text == "fp32" ? 8 : 4;
  return Done{};
}

Set offload(Plan& p, std::string_view text) {
  for (const std::string_view part : parts(text)) {
    const std::size_t is = std::min(part.find('='), part.size());
    const std::string_view what = part.substr(0, is);
    Residence* place = what == "optimizer"    ? &p.memory.optimizer_at
                       : what == "gradients"  ? &p.memory.gradients_at
                       : what == "parameters" ? &p.memory.parameters_at
                                              : nullptr;
    if (place == nullptr || is == part.size() ||
        !one_of(*place, part.substr(is + 1), residence_names, "place"))
      return is_no(part, "offload", "write optimizer=host, gradients=host, parameters=nvme");
  }
  return Done{};
}

Set no_overlap(Plan& p, std::string_view text) {
  for (const std::string_view part : parts(text)) {
    if (part == "gradient" || part == "gradients")
      p.overlap.gradient_reduce = false;
    else if (part == "parameters" || part == "parameter")
      p.overlap.parameter_gather = false;
    else
      return is_no(part, "overlapped communication", "write gradient, parameters or both");
  }
  return Done{};
}

Set zero_stage(Plan& p, std::string_view text) {
  constexpr std::array<std::string_view, 4> stages = {"0", "1", "2", "3"};
  return one_of(p.zero, text, stages, "ZeRO stage");
}

Set attention(Plan& p, std::string_view text) {
  constexpr std::array<std::string_view, 2> names = {"materialised", "fused"};
  return one_of(p.kernels.fused_attention, text, names, "way to compute attention");
}

// A name, or "every:K".
Set recompute(Plan& p, std::string_view text) {
  constexpr std::string_view every = "every:";
  if (text.starts_with(every)) {
    p.memory.recompute = Recompute::every_k;
    return whole(p.memory.recompute_every, text.substr(every.size()));
  }
  constexpr std::span<const std::string_view> names(recompute_names.data(),
                                                    static_cast<std::size_t>(Recompute::every_k));
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    return is_no(text, "recomputation", "write none, selective, operations, full or every:K");
  p.memory.recompute = static_cast<Recompute>(found - names.begin());
  p.memory.recompute_every = 1;
  return Done{};
}

Set bucket(Plan& p, std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return is_no(text, "size of a bucket", "write 25MB (10^6) or 25MiB (2^20)");
  p.overlap.bucket = Bytes{*bytes};
  return Done{};
}

constexpr PlanBound unbounded{};  // no number
constexpr PlanBound up_to(std::int64_t number) { return {.number = number}; }
constexpr PlanBound by_devices{.of = PlanBound::Of::devices};
constexpr PlanBound by_layers{.of = PlanBound::Of::layers};
constexpr PlanBound most_tokens = up_to(1'000'000'000);  // of a sequence, and sequences of a batch

namespace groups {
constexpr std::string_view parallelism = "Parallelism";
constexpr std::string_view batch = "Batch";
constexpr std::string_view memory = "Memory";
constexpr std::string_view trained = "Trained weights";
constexpr std::string_view communication = "Communication";
constexpr std::string_view precision = "Precision";
constexpr std::string_view kernels = "Kernels";
}  // namespace groups

template <class Enum>
FieldRef choice(Enum& value, std::span<const std::string_view> names, std::string_view noun) {
  static_assert(std::is_same_v<std::underlying_type_t<Enum>, std::uint8_t>);
  return ChoiceRef{reinterpret_cast<std::uint8_t*>(&value), names, noun};
}
// A row's place in the plan `p`.
#define AT(...) []([[maybe_unused]] Plan& p) -> FieldRef { return __VA_ARGS__; }

constexpr std::array fields = {
    PlanField{"", "devices", "", "", "GPUs", AT(&p.devices), 1, by_devices},
    PlanField{"tp", "tp", "N", groups::parallelism, "Tensor-parallel devices", AT(&p.tp), 1,
              by_devices},
    PlanField{"tensor-layout", "tensor_layout", "1d|2d|2.5d|3d", groups::parallelism,
              "Cut of matrix products over tensor-parallel devices",
              AT(choice(p.tensor.layout, tensor_layout_names, "tensor layout"))},
    PlanField{
        "tp-rows", "tp_rows", "N", groups::parallelism,
        "Rows of the grid in the 2d, 2.5d and 3d layouts. Without sides it is square, or a cube.",
        AT(&p.tensor.rows), 0, by_devices},
    PlanField{"tp-columns", "tp_columns", "N", groups::parallelism,
              "Columns of the grid in the 2d, 2.5d and 3d layouts", AT(&p.tensor.columns), 0,
              by_devices},
    PlanField{"tp-depth", "tp_depth", "N", groups::parallelism,
              "Copies of the grid in the 2.5d layout, third side in the 3d layout",
              AT(&p.tensor.depth), 1, by_devices},
    PlanField{"sequence-parallel", "sequence_parallel", "", groups::parallelism,
              "Split norms and residuals over the tensor-parallel devices",
              AT(&p.tensor.sequence_parallel)},
    PlanField{"sequence-degree", "sequence_degree", "N", groups::parallelism,
              "Devices over which --sequence-parallel splits. Without it --tp.",
              AT(&p.tensor.sequence_degree), 0, by_devices},
    PlanField{"cp", "cp", "N", groups::parallelism, "Context-parallel devices", AT(&p.cp), 1,
              by_devices},
    PlanField{"context-exchange", "context_exchange", "all_gather|ring|all_to_all",
              groups::parallelism, "Exchange of keys between context-parallel devices",
              AT(choice(p.context_exchange, context_exchange_names, "context exchange"))},
    PlanField{"ep", "ep", "N", groups::parallelism,
              "Expert-parallel devices, among the cp * dp ones", AT(&p.ep), 1, by_devices},
    PlanField{"expert-tp", "expert_tp", "N", groups::parallelism,
              "Tensor-parallel devices of an expert: 1 or --tp. Without it --tp.",
              AT(&p.experts.tp), 0, by_devices},
    PlanField{
        "expert-dispatch", "expert_dispatch", "all_to_all|forwarded", groups::parallelism,
        "Copies of a token: one for each chosen expert, or for each rank and domain with some",
        AT(choice(p.experts.dispatch, expert_dispatch_names, "way to the experts"))},
    PlanField{"expert-load", "expert_load", "N", groups::parallelism,
              "Tokens of the fullest device's experts, in percent of the mean", AT(&p.experts.load),
              100, up_to(10'000)},
    PlanField{"narrow-dispatch", "narrow_dispatch", "", groups::parallelism,
              "Send tokens to experts, and gradients back to them, in fp8",
              AT(&p.experts.narrow_dispatch)},
    PlanField{"pp", "pp", "N", groups::parallelism, "Pipeline stages", AT(&p.pp), 1, by_devices},
    PlanField{"schedule", "schedule", "gpipe|1f1b|interleaved|zb-h1|zb-h2|dualpipe",
              groups::parallelism, "Order of the pipeline's passes",
              AT(choice(p.pipeline.schedule, schedule_names, "schedule"))},
    PlanField{"virtual-stages", "virtual_stages", "N", groups::parallelism,
              "Chunks of the model on one device (interleaved)", AT(&p.pipeline.virtual_stages), 1,
              by_layers},
    PlanField{"stage-layers", "stage_layers", "N,N,...", groups::parallelism,
              "Layers of each (virtual) stage, in model order", AT(&p.pipeline.stage_layers)},
    PlanField{"dp", "dp", "N", groups::parallelism,
              "Data-parallel devices. Without it what tp, cp and pp leave of --gpus.", AT(&p.dp), 1,
              by_devices},
    PlanField{"zero", "zero", "0|1|2|3", groups::memory,
              "States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters",
              AT(&p.zero), 0, up_to(3), zero_stage},
    PlanField{"shard-group", "shard_group", "N", groups::memory,
              "Devices of a group that splits states. Groups hold copies.", AT(&p.shard_group), 0,
              by_devices},
    PlanField{"secondary-group", "secondary_group", "N", groups::memory,
              "Devices of a group that keeps a second copy of the parameters, which backward "
              "gathers (ZeRO-3, hpZ)",
              AT(&p.secondary_group), 0, by_devices},
    PlanField{"seq", "sequence", "N", groups::batch, "Tokens of a sequence", AT(&p.batch.sequence),
              1, most_tokens},
    PlanField{"images", "images", "N", groups::batch,
              "Images of a sequence, which the model's tower encodes", AT(&p.batch.images), 0,
              most_tokens},
    PlanField{"image-patches", "image_patches", "N", groups::batch,
              "Patches of an image, before the tower merges them", AT(&p.batch.image_patches), 0,
              most_tokens},
    PlanField{"micro-batch", "micro_batch", "N", groups::batch,
              "Sequences of one pass on one device", AT(&p.batch.micro), 1, most_tokens},
    PlanField{"global-batch", "global_batch", "N", groups::batch, "Sequences of one optimizer step",
              AT(&p.batch.global), 1, most_tokens},
    PlanField{"reduce-each-micro-batch", "reduce_each_micro_batch", "", groups::batch,
              "Reduce gradients after every pass, not once a step", AT(&p.batch.reduce_each_micro)},
    PlanField{"recompute", "recompute", "none|selective|operations|full|every:K", groups::memory,
              "Recomputation in backward. With every:K the first of each K layers stays whole.",
              AT(choice(p.memory.recompute, recompute_names, "recomputation")), 0, unbounded,
              recompute},
    PlanField{"", "recompute_every", "", "", "Each K-th layer is kept whole (every:K)",
              AT(&p.memory.recompute_every), 1, by_layers},
    PlanField{
        "recompute-modules", "recompute_modules", "NAME,...", groups::memory,
        "Parts of layers computed again: core_attention, norms, expert_activation, experts, "
        "feed_forward, latent_up, hyper_connections",
        AT(NamesRef{&p.memory.recompute_modules.bits, recompute_module_names, "part of a layer"})},
    PlanField{"attention", "fused_attention", "fused|materialised", groups::kernels,
              "Attention kernel. With fused, scores stay out of memory.",
              AT(&p.kernels.fused_attention), 0, unbounded, attention},
    PlanField{"vendor-attention", "vendor_attention", "", groups::kernels,
              "Take the vendor's fused attention (cuDNN)", AT(&p.kernels.vendor_attention)},
    PlanField{"narrow-attention", "narrow_attention", "", groups::kernels,
              "Run attention's products in fp8 if the dtype is fp8 or fp4",
              AT(&p.kernels.narrow_attention)},
    PlanField{"fp8-rowwise", "fp8_rowwise", "", groups::kernels,
              "Scale fp8 operands row by row (torchao's rowwise), not by tensor",
              AT(&p.kernels.fp8_rowwise)},
    PlanField{"narrow-head", "narrow_head", "", groups::kernels,
              "Run the head's product in the dtype, not in 16 bits", AT(&p.kernels.narrow_head)},
    PlanField{"narrow-swiglu", "narrow_swiglu", "", groups::memory,
              "Keep the inputs of SwiGLU for backward in fp8", AT(&p.memory.narrow_swiglu)},
    PlanField{"narrow-attention-output", "narrow_attention_output", "", groups::memory,
              "Keep attention's output for backward once, in 12 bits, if the dtype is fp8 or fp4",
              AT(&p.memory.narrow_attention_output)},
    PlanField{"grouped-experts", "grouped_experts", "", groups::kernels,
              "Multiply all experts of a device in one kernel, not one after the other",
              AT(&p.kernels.grouped_experts)},
    PlanField{
        "fused-experts", "fused_experts", "", groups::kernels,
        "Apply activation and casts in the experts' products, as Transformer Engine's op fuser",
        AT(&p.kernels.fused_experts)},
    PlanField{"fused-pointwise", "fused_pointwise", "", groups::kernels,
              "Let neighbouring elementwise operations share one pass",
              AT(&p.kernels.fused_pointwise)},
    PlanField{"compiled", "compiled", "", groups::kernels,
              "Launch layers by a compiler's code, not by Python one by one",
              AT(&p.kernels.compiled)},
    PlanField{"fused-loss", "fused_loss", "", groups::kernels,
              "Compute cross-entropy in one pass each way", AT(&p.kernels.fused_loss)},
    PlanField{"loss-in-place", "loss_in_place", "", groups::kernels,
              "Write the loss's gradient over the scores", AT(&p.kernels.loss_in_place)},
    PlanField{"fused-gradient-sum", "fused_gradient_sum", "", groups::kernels,
              "Let products add weight gradients to the sum of micro-batches",
              AT(&p.kernels.fused_gradient_sum)},
    PlanField{"offload", "", "WHAT=WHERE,...", groups::memory,
              "Place of states: optimizer, gradients or parameters = host or nvme", AT({}), 0,
              unbounded, offload},
    PlanField{"", "optimizer_at", "", "", "Where the optimizer's states are",
              AT(choice(p.memory.optimizer_at, residence_names, "place"))},
    PlanField{"", "gradients_at", "", "", "Where summed gradients are",
              AT(choice(p.memory.gradients_at, residence_names, "place"))},
    PlanField{"", "parameters_at", "", "", "Where parameters are",
              AT(choice(p.memory.parameters_at, residence_names, "place"))},
    PlanField{"no-overlap", "", "WHAT,...", groups::communication,
              "Communication that nothing hides: gradient, parameters", AT({}), 0, unbounded,
              no_overlap},
    PlanField{"", "overlap_gradient_reduce", "", "", "Gradients are reduced while backward runs",
              AT(&p.overlap.gradient_reduce)},
    PlanField{"", "overlap_parameter_gather", "", "", "Parameters are gathered while forward runs",
              AT(&p.overlap.parameter_gather)},
    PlanField{"prefetch", "prefetch_units", "N", groups::communication,
              "Layers that parameters are gathered ahead (ZeRO-3)", AT(&p.overlap.prefetch), 0,
              by_layers},
    PlanField{"gather-singly", "gather_singly", "", groups::communication,
              "Gather and reduce each weight by itself (ZeRO-3 of DeepSpeed before 0.6)",
              AT(&p.overlap.gather_singly)},
    PlanField{"bucket", "bucket_bytes", "SIZE", groups::communication,
              "Gradients that are reduced at once", AT(&p.overlap.bucket), 1,
              up_to(std::int64_t{1} << 50), bucket},
    PlanField{"torch-buffers", "torch_buffers", "", groups::memory,
              "Keep buffers as PyTorch's fully_shard and pipelining do",
              AT(&p.memory.torch_buffers)},
    PlanField{"tp-overlap", "overlap_tensor", "", groups::communication,
              "Hide tensor-parallel communication under its matrix products",
              AT(&p.overlap.tensor)},
    PlanField{"ep-overlap", "overlap_expert", "", groups::communication,
              "Hide the all-to-alls of experts under another micro-batch", AT(&p.overlap.experts)},
    PlanField{"cuda-graphs", "cuda_graphs", "none|layers|step", groups::kernels,
              "What CUDA graphs launch: layers without their experts, or the step",
              AT(choice(p.kernels.cuda_graphs, cuda_graph_names, "use of CUDA graphs"))},
    PlanField{"expert-sms", "expert_sms", "N", groups::communication,
              "SMs that --ep-overlap keeps for all-to-alls, whether they run or not (DeepEP)",
              AT(&p.experts.sms), 0, up_to(1000)},
    PlanField{"lora-rank", "lora_rank", "N", groups::trained,
              "Train adapters of this rank, with frozen weights (LoRA)", AT(&p.trained.lora_rank),
              0, up_to(100'000)},
    PlanField{"lora-targets", "lora_targets", "NAME,...", groups::trained,
              "Linear layers with an adapter, by the names of peft or Megatron. Without it all of "
              "attention and feed-forward parts.",
              AT(NamesRef{&p.trained.lora_targets.bits, lora_target_names,
                          "linear layer for an adapter"})},
    PlanField{"freeze", "frozen", "embedding,layers,head,tower", groups::trained,
              "Parts of the model that stay as they are",
              AT(NamesRef{&p.trained.frozen.bits, model_part_names, "part of a model"})},
    PlanField{"freeze-layers", "frozen_layers", "N", groups::trained,
              "First layers that stay as they are, and have no adapters",
              AT(&p.trained.frozen_layers), 0, by_layers},
    PlanField{"vocabulary-multiple", "vocabulary_multiple", "N", groups::kernels,
              "Number to whose multiple, times tp, the embedding is padded",
              AT(&p.kernels.vocabulary_multiple), 1, up_to(1'000'000)},
    PlanField{"dtype", "precision.matmul", "fp32|tf32|bf16|fp16|fp8|fp4", groups::precision,
              "Number format of matrix products",
              AT(choice(p.precision.matmul, dtype_names, "number format")), 0, unbounded, dtype},
    PlanField{"", "precision.parameter_bytes", "", "", "Bytes of a parameter",
              AT(WidthRef{&p.precision.parameter_bytes}), 1, up_to(8)},
    PlanField{"grad-dtype", "precision.gradient_bytes", "fp32|bf16|fp16", groups::precision,
              "Format in which gradients are reduced", AT(WidthRef{&p.precision.gradient_bytes}), 1,
              up_to(8)},
    PlanField{"accumulate-dtype", "precision.accumulated_gradient_bytes", "fp32|bf16|fp16",
              groups::precision, "Format in which gradients of micro-batches are summed",
              AT(WidthRef{&p.precision.accumulated_gradient_bytes}), 1, up_to(8)},
    PlanField{"", "precision.master_bytes", "", "", "Bytes of a master weight; 0: none",
              AT(WidthRef{&p.precision.master_bytes}), 0, up_to(8)},
    PlanField{"moments-dtype", "", "fp32|bf16", groups::precision, "Format of AdamW's two moments",
              AT({}), 0, unbounded, moments_dtype},
    PlanField{"", "precision.optimizer_state_bytes", "", "",
              "Bytes of the optimizer's states of one parameter",
              AT(WidthRef{&p.precision.optimizer_state_bytes}), 0, up_to(64)},
    PlanField{"", "precision.activation_bytes", "", "", "Bytes of an element of an activation",
              AT(WidthRef{&p.precision.activation_bytes}), 1, up_to(8)}};

const PlanField& field_at(const Plan& plan, const void* member) {
  const auto found = std::ranges::find(fields, member, [&plan](const PlanField& field) {
    return std::visit(AddressOf{}, place_of(field, plan));
  });
  check(found != fields.end(), "a member of a plan has no row in the table of fields");
  return *found;
}

}  // namespace

std::span<const PlanField> plan_table() { return fields; }

std::span<const PlanField> plan_fields() {
  static const std::vector<PlanField> with_flags = [] {
    std::vector<PlanField> some;
    for (const PlanField& field : fields)
      if (!field.name.empty()) some.push_back(field);
    return some;
  }();
  return with_flags;
}

FieldRef place_of(const PlanField& field, const Plan& plan) {
  return field.in(const_cast<Plan&>(plan));
}

std::optional<std::size_t> index_of(std::span<const std::string_view> names,
                                    std::string_view text) {
  auto found = std::ranges::find(names, text);
  if (found == names.end()) found = std::ranges::find(names, lora_target_name(text));
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

const PlanField* find_plan_field(std::string_view name) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  for (const PlanField& field : plan_fields())
    if (std::ranges::equal(field.name, name, {}, plain, plain)) return &field;
  return nullptr;
}

Result<Done> set_plan_field(Plan& plan, std::string_view name, std::string_view text) {
  if (const PlanField* field = find_plan_field(name)) {
    if (field->read != nullptr) return field->read(plan, text);
    return std::visit(TextReader{.text = text, .least = field->least}, field->in(plan));
  }
  std::vector<std::string_view> names;
  for (const PlanField& field : plan_fields()) names.push_back(field.name);
  return is_no(name, "part of a plan", "did you mean " + nearest_names(name, names) + "?");
}

std::string plan_field_text(const PlanField& field, const Plan& plan) {
  return std::visit(TextWriter{field}, place_of(field, plan));
}

std::string flag_of(const Plan& plan, const void* member) {
  const PlanField& field = field_at(plan, member);
  return field.name.empty() ? std::string(field.key) : "--" + std::string(field.name);
}

std::string flag_with_value(const Plan& plan, const void* member) {
  const PlanField& field = field_at(plan, member);
  return flag_of(plan, member) + (field.name.empty() ? " = " : " ") + plan_field_text(field, plan);
}

}  // namespace stepscope
