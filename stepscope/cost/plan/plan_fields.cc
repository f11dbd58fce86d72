// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_fields.h"

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/number_text.h"
#include "stepscope/cost/model/nearest_names.h"

namespace stepscope {
namespace {

using Set = Result<Done>;

Error is_no(std::string_view text, std::string_view what, std::string hint) {
  constexpr std::size_t longest = 80;  // of a text that is still printed
  return {.what = "\"" + std::string(text.substr(0, longest)) + "\" is no " + std::string(what),
          .hint = std::move(hint)};
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
  if (found != names.end()) {
    into = static_cast<Enum>(found - names.begin());
    return Done{};
  }
  std::string all = "write ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) all += i + 1 == names.size() ? " or " : ", ";
    all += names[i];
  }
  return is_no(text, what, std::move(all));
}

Set on_or_off(bool& into, std::string_view text) {
  if (text != "true" && text != "false") return is_no(text, "switch", "write true or false");
  into = text == "true";
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

Set offload(Plan& p, std::string_view text) {
  for (const std::string_view part : parts(text)) {
    const std::size_t is = std::min(part.find('='), part.size());
    const std::string_view what = part.substr(0, is);
    Residence* place = what == "optimizer"    ? &p.optimizer_at
                       : what == "gradients"  ? &p.gradients_at
                       : what == "parameters" ? &p.parameters_at
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
      p.overlap_gradient_reduce = false;
    else if (part == "parameters" || part == "parameter")
      p.overlap_parameter_gather = false;
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
  return one_of(p.fused_attention, text, names, "way to compute attention");
}

// A name, or "every:K".
Set recompute(Plan& p, std::string_view text) {
  constexpr std::string_view every = "every:";
  if (text.starts_with(every)) {
    p.recompute = Recompute::every_k;
    return whole(p.recompute_every, text.substr(every.size()));
  }
  constexpr std::span<const std::string_view> names(recompute_names.data(),
                                                    static_cast<std::size_t>(Recompute::every_k));
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    return is_no(text, "recomputation", "write none, selective, operations, full or every:K");
  p.recompute = static_cast<Recompute>(found - names.begin());
  p.recompute_every = 1;
  return Done{};
}

Set modules_in(RecomputeModules& into, std::string_view text) {
  into = {};
  for (const std::string_view part : parts(text)) {
    RecomputeModule module{};
    if (const Set set = one_of(module, part, recompute_module_names, "part of a layer"); !set)
      return set;
    into.add(module);
  }
  return Done{};
}

template <class Enum, std::size_t n>
Set names_in(NameSet<Enum>& into, std::string_view text,
             const std::array<std::string_view, n>& names, std::string_view what) {
  into = {};
  for (const std::string_view part : parts(text)) {
    Enum one{};
    if (const Set set = one_of(one, lora_target_name(part), names, what); !set) return set;
    into.add(one);
  }
  return Done{};
}

Set bucket(Plan& p, std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return is_no(text, "size of a bucket", "write 25MB (10^6) or 25MiB (2^20)");
  p.bucket = Bytes{*bytes};
  return Done{};
}

// Reads a flag's text into a member, with one overload per kind.
struct TextReader {
  Plan& plan;
  std::string_view text;
  std::int64_t least;

  Set operator()(std::int64_t Plan::* m) const { return whole(plan.*m, text, least); }
  Set operator()(int Plan::* m) const { return whole(plan.*m, text, least); }
  Set operator()(bool Plan::* m) const { return on_or_off(plan.*m, text); }
  Set operator()(std::vector<std::int64_t> Plan::* m) const {
    return list_of_layers(plan.*m, text);
  }
  Set operator()(Bytes Plan::* m) const { return whole((plan.*m).value, text, least); }
  Set operator()(RecomputeModules Plan::* m) const { return modules_in(plan.*m, text); }
  Set operator()(std::int64_t TrainedParts::* m) const {
    return whole(plan.trained.*m, text, least);
  }
  Set operator()(LoraTargets TrainedParts::* m) const {
    return names_in(plan.trained.*m, text, lora_target_names, "linear layer for an adapter");
  }
  Set operator()(ModelParts TrainedParts::* m) const {
    return names_in(plan.trained.*m, text, model_part_names, "part of a model");
  }
  Set operator()(int Precision::* m) const { return bytes_of_dtype(plan.precision.*m, text); }
  template <class Enum>
  Set operator()(const PlanChoice<Enum>& c) const {
    return one_of(plan.*c.member, text, c.names, c.noun);
  }
  Set operator()(std::monostate) const { return Done{}; }
};

constexpr PlanBound up_to(std::int64_t number) { return {.number = number}; }
constexpr PlanBound by_devices{.of = PlanBound::Of::devices};
constexpr PlanBound by_layers{.of = PlanBound::Of::layers};
constexpr PlanBound most_tokens = up_to(1'000'000'000);  // of a sequence, and sequences of a batch

constexpr std::array fields = {
    PlanField{"", "devices", "", "GPUs", &Plan::devices, 1, by_devices},
    PlanField{"tp", "tp", "N", "Tensor-parallel devices", &Plan::tp, 1, by_devices},
    PlanField{"tensor-layout", "tensor_layout", "1d|2d|2.5d|3d",
              "Cut of matrix products over tensor-parallel devices",
              PlanChoice<TensorLayout>{&Plan::tensor_layout, tensor_layout_names, "tensor layout"}},
    PlanField{
        "tp-rows", "tp_rows", "N",
        "Rows of the grid in the 2d, 2.5d and 3d layouts. Without sides it is square, or a cube.",
        &Plan::tp_rows, 0, by_devices},
    PlanField{"tp-columns", "tp_columns", "N", "Columns of the grid in the 2d, 2.5d and 3d layouts",
              &Plan::tp_columns, 0, by_devices},
    PlanField{"tp-depth", "tp_depth", "N",
              "Copies of the grid in the 2.5d layout, third side in the 3d layout", &Plan::tp_depth,
              1, by_devices},
    PlanField{"sequence-parallel", "sequence_parallel", "",
              "Split norms and residuals over the tensor-parallel devices",
              &Plan::sequence_parallel},
    PlanField{"sequence-degree", "sequence_degree", "N",
              "Devices over which --sequence-parallel splits. Without it --tp.",
              &Plan::sequence_degree, 0, by_devices},
    PlanField{"cp", "cp", "N", "Context-parallel devices", &Plan::cp, 1, by_devices},
    PlanField{"context-exchange", "context_exchange", "all_gather|ring|all_to_all",
              "Exchange of keys between context-parallel devices",
              PlanChoice<ContextExchange>{&Plan::context_exchange, context_exchange_names,
                                          "context exchange"}},
    PlanField{"ep", "ep", "N", "Expert-parallel devices, among the cp * dp ones", &Plan::ep, 1,
              by_devices},
    PlanField{"expert-tp", "expert_tp", "N",
              "Tensor-parallel devices of an expert: 1 or --tp. Without it --tp.", &Plan::expert_tp,
              0, by_devices},
    PlanField{
        "expert-dispatch", "expert_dispatch", "all_to_all|forwarded",
        "Copies of a token: one for each chosen expert, or for each rank and domain with some",
        PlanChoice<ExpertDispatch>{&Plan::expert_dispatch, expert_dispatch_names,
                                   "way to the experts"}},
    PlanField{"expert-load", "expert_load", "N",
              "Tokens of the fullest device's experts, in percent of the mean", &Plan::expert_load,
              100, up_to(10'000)},
    PlanField{"narrow-dispatch", "narrow_dispatch", "",
              "Send tokens to experts, and gradients back to them, in fp8", &Plan::narrow_dispatch},
    PlanField{"pp", "pp", "N", "Pipeline stages", &Plan::pp, 1, by_devices},
    PlanField{"schedule", "schedule", "gpipe|1f1b|interleaved|zb-h1|zb-h2|dualpipe",
              "Order of the pipeline's passes",
              PlanChoice<Schedule>{&Plan::schedule, schedule_names, "schedule"}},
    PlanField{"virtual-stages", "virtual_stages", "N",
              "Chunks of the model on one device (interleaved)", &Plan::virtual_stages, 1,
              by_layers},
    PlanField{"stage-layers", "stage_layers", "N,N,...",
              "Layers of each (virtual) stage, in model order", &Plan::stage_layers},
    PlanField{"dp", "dp", "N",
              "Data-parallel devices. Without it what tp, cp and pp leave of --gpus.", &Plan::dp, 1,
              by_devices},
    PlanField{"zero", "zero", "0|1|2|3",
              "States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters",
              &Plan::zero, 0, up_to(3), zero_stage},
    PlanField{"shard-group", "shard_group", "N",
              "Devices of a group that splits states. Groups hold copies.", &Plan::shard_group, 0,
              by_devices},
    PlanField{"seq", "sequence", "N", "Tokens of a sequence", &Plan::sequence, 1, most_tokens},
    PlanField{"images", "images", "N", "Images of a sequence, which the model's tower encodes",
              &Plan::images, 0, most_tokens},
    PlanField{"image-patches", "image_patches", "N",
              "Patches of an image, before the tower merges them", &Plan::image_patches, 0,
              most_tokens},
    PlanField{"micro-batch", "micro_batch", "N", "Sequences of one pass on one device",
              &Plan::micro_batch, 1, most_tokens},
    PlanField{"global-batch", "global_batch", "N", "Sequences of one optimizer step",
              &Plan::global_batch, 1, most_tokens},
    PlanField{"reduce-each-micro-batch", "reduce_each_micro_batch", "",
              "Reduce gradients after every pass, not once a step", &Plan::reduce_each_micro_batch},
    PlanField{"recompute",
              "recompute",
              "none|selective|operations|full|every:K",
              "Recomputation in backward. With every:K the first of each K layers stays whole.",
              PlanChoice<Recompute>{&Plan::recompute, recompute_names, "recomputation"},
              0,
              {},
              recompute},
    PlanField{"", "recompute_every", "", "Layers of which one is kept whole",
              &Plan::recompute_every, 1, by_layers},
    PlanField{"recompute-modules", "recompute_modules", "NAME,...",
              "Parts of layers computed again: core_attention, norms, expert_activation, experts, "
              "feed_forward, latent_up, hyper_connections",
              &Plan::recompute_modules},
    PlanField{"attention",
              "fused_attention",
              "fused|materialised",
              "Attention kernel. With fused, scores stay out of memory.",
              &Plan::fused_attention,
              0,
              {},
              attention},
    PlanField{"vendor-attention", "vendor_attention", "",
              "Take the vendor's fused attention (cuDNN)", &Plan::vendor_attention},
    PlanField{"narrow-attention", "narrow_attention", "",
              "Run attention's products in fp8 if the dtype is fp8 or fp4",
              &Plan::narrow_attention},
    PlanField{"fp8-rowwise", "fp8_rowwise", "",
              "Scale fp8 operands row by row (torchao's rowwise), not by tensor",
              &Plan::fp8_rowwise},
    PlanField{"narrow-head", "narrow_head", "",
              "Run the head's product in the dtype, not in 16 bits", &Plan::narrow_head},
    PlanField{"narrow-swiglu", "narrow_swiglu", "", "Keep the inputs of SwiGLU for backward in fp8",
              &Plan::narrow_swiglu},
    PlanField{"narrow-attention-output", "narrow_attention_output", "",
              "Keep attention's output for backward once, in 12 bits, if the dtype is fp8 or fp4",
              &Plan::narrow_attention_output},
    PlanField{"grouped-experts", "grouped_experts", "",
              "Multiply all experts of a device in one kernel, not one after the other",
              &Plan::grouped_experts},
    PlanField{
        "fused-experts", "fused_experts", "",
        "Apply activation and casts in the experts' products, as Transformer Engine's op fuser",
        &Plan::fused_experts},
    PlanField{"fused-pointwise", "fused_pointwise", "",
              "Let neighbouring elementwise operations share one pass", &Plan::fused_pointwise},
    PlanField{"compiled", "compiled", "",
              "Launch layers by a compiler's code, not by Python one by one", &Plan::compiled},
    PlanField{"fused-loss", "fused_loss", "", "Compute cross-entropy in one pass each way",
              &Plan::fused_loss},
    PlanField{"loss-in-place", "loss_in_place", "", "Write the loss's gradient over the scores",
              &Plan::loss_in_place},
    PlanField{"fused-gradient-sum", "fused_gradient_sum", "",
              "Let products add weight gradients to the sum of micro-batches",
              &Plan::fused_gradient_sum},
    PlanField{"offload",
              "",
              "WHAT=WHERE,...",
              "Place of states: optimizer, gradients or parameters = host or nvme",
              {},
              0,
              {},
              offload},
    PlanField{"", "optimizer_at", "", "Where the optimizer's states are",
              PlanChoice<Residence>{&Plan::optimizer_at, residence_names, "place"}},
    PlanField{"", "gradients_at", "", "Where summed gradients are",
              PlanChoice<Residence>{&Plan::gradients_at, residence_names, "place"}},
    PlanField{"", "parameters_at", "", "Where parameters are",
              PlanChoice<Residence>{&Plan::parameters_at, residence_names, "place"}},
    PlanField{"no-overlap",
              "",
              "WHAT,...",
              "Communication that nothing hides: gradient, parameters",
              {},
              0,
              {},
              no_overlap},
    PlanField{"", "overlap_gradient_reduce", "", "Gradients are reduced beside backward",
              &Plan::overlap_gradient_reduce},
    PlanField{"", "overlap_parameter_gather", "", "Parameters are gathered beside forward",
              &Plan::overlap_parameter_gather},
    PlanField{"prefetch", "prefetch_units", "N",
              "Layers that parameters are gathered ahead (ZeRO-3)", &Plan::prefetch_distance, 0,
              by_layers},
    PlanField{"gather-singly", "gather_singly", "",
              "Gather and reduce each weight by itself (ZeRO-3 of DeepSpeed before 0.6)",
              &Plan::gather_singly},
    PlanField{"bucket", "bucket_bytes", "SIZE", "Gradients that are reduced at once", &Plan::bucket,
              1, up_to(std::int64_t{1} << 50), bucket},
    PlanField{"torch-buffers", "torch_buffers", "",
              "Keep buffers as PyTorch's fully_shard and pipelining do", &Plan::torch_buffers},
    PlanField{"tp-overlap", "overlap_tensor", "",
              "Hide tensor-parallel communication under its matrix products",
              &Plan::overlap_tensor},
    PlanField{"ep-overlap", "overlap_expert", "",
              "Hide the all-to-alls of experts under another micro-batch", &Plan::overlap_expert},
    PlanField{"cuda-graphs", "cuda_graphs", "none|layers|step",
              "What CUDA graphs launch: layers without their experts, or the step",
              PlanChoice<CudaGraphs>{&Plan::cuda_graphs, cuda_graph_names, "use of CUDA graphs"}},
    PlanField{"expert-sms", "expert_sms", "N",
              "SMs that --ep-overlap keeps for all-to-alls, whether they run or not (DeepEP)",
              &Plan::expert_sms, 0, up_to(1000)},
    PlanField{"lora-rank", "lora_rank", "N",
              "Train adapters of this rank beside frozen weights (LoRA)", &TrainedParts::lora_rank,
              0, up_to(100'000)},
    PlanField{"lora-targets", "lora_targets", "NAME,...",
              "Linear layers with an adapter, by the names of peft or Megatron. Without it all of "
              "attention and feed-forward parts.",
              &TrainedParts::lora_targets},
    PlanField{"freeze", "frozen", "embedding,layers,head,tower",
              "Parts of the model that stay as they are", &TrainedParts::frozen},
    PlanField{"freeze-layers", "frozen_layers", "N",
              "First layers that stay as they are, and have no adapters",
              &TrainedParts::frozen_layers, 0, by_layers},
    PlanField{"vocabulary-multiple", "vocabulary_multiple", "N",
              "Number to whose multiple, times tp, the embedding is padded",
              &Plan::vocabulary_multiple, 1, up_to(1'000'000)},
    PlanField{"dtype",
              "",
              "fp32|tf32|bf16|fp16|fp8|fp4",
              "Number format of matrix products",
              {},
              0,
              {},
              dtype},
    PlanField{"", "parameter_bytes", "", "Bytes of a parameter", &Precision::parameter_bytes, 1,
              up_to(8)},
    PlanField{"grad-dtype", "gradient_bytes", "fp32|bf16|fp16",
              "Format in which gradients are reduced", &Precision::gradient_bytes, 1, up_to(8)},
    PlanField{"accumulate-dtype", "accumulated_gradient_bytes", "fp32|bf16|fp16",
              "Format in which gradients of micro-batches are summed",
              &Precision::accumulated_gradient_bytes, 1, up_to(8)},
    PlanField{"", "master_bytes", "", "Bytes of a master weight; 0: none", &Precision::master_bytes,
              0, up_to(8)},
    PlanField{"moments-dtype",
              "",
              "fp32|bf16",
              "Format of AdamW's two moments",
              {},
              0,
              {},
              moments_dtype},
    PlanField{"", "optimizer_state_bytes", "", "Bytes of the optimizer's states of one parameter",
              &Precision::optimizer_state_bytes, 0, up_to(64)},
    PlanField{"", "activation_bytes", "", "Bytes of an element of an activation",
              &Precision::activation_bytes, 1, up_to(8)}};

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

const PlanField* find_plan_field(std::string_view name) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  for (const PlanField& field : plan_fields())
    if (std::ranges::equal(field.name, name, {}, plain, plain)) return &field;
  return nullptr;
}

Result<Done> set_plan_field(Plan& plan, std::string_view name, std::string_view text) {
  if (const PlanField* field = find_plan_field(name)) {
    if (field->read != nullptr) return field->read(plan, text);
    return std::visit(TextReader{.plan = plan, .text = text, .least = field->least}, field->member);
  }
  std::vector<std::string_view> names;
  for (const PlanField& field : plan_fields()) names.push_back(field.name);
  return is_no(name, "part of a plan", "did you mean " + nearest_names(name, names) + "?");
}

}  // namespace stepscope
