// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "stepscope/cost/model/nearest_names.h"

namespace stepscope {
namespace {

using Set = Result<Done>;

Error is_no(std::string_view text, std::string_view what, std::string hint) {
  constexpr std::size_t longest = 80;  // of what is still printed
  return {.what = fmt::format("\"{}\" is no {}", text.substr(0, longest), what),
          .hint = std::move(hint)};
}

template <class Int>
Set whole(Int& into, std::string_view text, std::int64_t least = 1) {
  Int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    return is_no(text, least > 0 ? "positive whole number" : "whole number",
                 fmt::format("write {} or more", least));
  into = value;
  return Done{};
}

template <class Enum, std::size_t N>
Set one_of(Enum& into, std::string_view text, const std::array<std::string_view, N>& names,
           std::string_view what) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) {
    into = static_cast<Enum>(found - names.begin());
    return Done{};
  }
  std::string all = "write ";
  for (std::size_t i = 0; i < N; ++i) {
    if (i > 0) all += i + 1 == N ? " or " : ", ";
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

// Weights and activations in this format; below 16 bits the products alone are.
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

Set bytes_of_dtype(int& into, std::string_view text) {
  if (text == "fp32")
    into = 4;
  else if (text == "bf16" || text == "fp16")
    into = 2;
  else
    return is_no(text, "format of gradients", "write fp32, bf16 or fp16");
  return Done{};
}

Set stage_layers(Plan& p, std::string_view text) {
  p.stage_layers.clear();
  for (const std::string_view part : parts(text))
    if (const Set set = whole(p.stage_layers.emplace_back(), part); !set)
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

Set attention(Plan& p, std::string_view text) {
  constexpr std::array<std::string_view, 2> names = {"materialised", "fused"};
  return one_of(p.fused_attention, text, names, "way to compute attention");
}

Set recompute_every(Plan& p, std::string_view text) {
  p.recompute = Recompute::every_k;
  return whole(p.recompute_every, text);
}

Set bucket(Plan& p, std::string_view text) {
  std::int64_t mebibytes = 0;
  Set set = whole(mebibytes, text);
  if (set && mebibytes > (std::int64_t{1} << 30))
    return is_no(text, "size of a bucket", "write MiB, such as 25");
  if (set) p.bucket = Bytes{mebibytes * 1024 * 1024};
  return set;
}

using P = Plan&;
using T = std::string_view;
constexpr std::array plan_field_table = {
    PlanField{"tp", "N", "Tensor-parallel devices", [](P p, T t) { return whole(p.tp, t); }},
    PlanField{
        "tensor-layout", "1d|2d|2.5d|3d", "How tensor parallelism cuts a matrix product",
        [](P p, T t) { return one_of(p.tensor_layout, t, tensor_layout_names, "tensor layout"); }},
    PlanField{"tp-depth", "N", "Copies of the grid in the 2.5d layout",
              [](P p, T t) { return whole(p.tp_depth, t); }},
    PlanField{"sequence-parallel", "", "Split norms and residuals over the tensor-parallel devices",
              [](P p, T t) { return on_or_off(p.sequence_parallel, t); }},
    PlanField{"cp", "N", "Context-parallel devices", [](P p, T t) { return whole(p.cp, t); }},
    PlanField{"context-exchange", "all_gather|ring|all_to_all",
              "How context-parallel devices see each other's keys",
              [](P p, T t) {
                return one_of(p.context_exchange, t, context_exchange_names, "context exchange");
              }},
    PlanField{"ep", "N", "Expert-parallel devices, of the cp * dp ones",
              [](P p, T t) { return whole(p.ep, t); }},
    PlanField{"pp", "N", "Pipeline stages", [](P p, T t) { return whole(p.pp, t); }},
    PlanField{"schedule", "gpipe|1f1b|interleaved|zb-h1|zb-h2", "Order of the pipeline's passes",
              [](P p, T t) { return one_of(p.schedule, t, schedule_names, "schedule"); }},
    PlanField{"virtual-stages", "N", "Chunks of the model on one device (interleaved)",
              [](P p, T t) { return whole(p.virtual_stages, t); }},
    PlanField{"stage-layers", "N,N,...", "Layers of each (virtual) stage, in model order",
              stage_layers},
    PlanField{"dp", "N", "Data-parallel devices (default: what tp, cp and pp leave of --gpus)",
              [](P p, T t) { return whole(p.dp, t); }},
    PlanField{"zero", "0|1|2|3",
              "States split over data-parallel devices: 1 optimizer, 2 gradients, 3 parameters",
              [](P p, T t) {
                constexpr std::array<std::string_view, 4> stages = {"0", "1", "2", "3"};
                return one_of(p.zero, t, stages, "ZeRO stage");
              }},
    PlanField{"shard-group", "N", "Split states over groups of N, replicate beyond (hybrid)",
              [](P p, T t) { return whole(p.shard_group, t, 0); }},
    PlanField{"seq", "N", "Tokens of a sequence", [](P p, T t) { return whole(p.sequence, t); }},
    PlanField{"micro-batch", "N", "Sequences of one pass on one device (default 1)",
              [](P p, T t) { return whole(p.micro_batch, t); }},
    PlanField{"global-batch", "N", "Sequences of one optimizer step",
              [](P p, T t) { return whole(p.global_batch, t); }},
    PlanField{"reduce-each-micro-batch", "", "Reduce gradients after every pass, not once a step",
              [](P p, T t) { return on_or_off(p.reduce_each_micro_batch, t); }},
    PlanField{"recompute", "none|selective|full|every_k", "What backward computes again",
              [](P p, T t) { return one_of(p.recompute, t, recompute_names, "recomputation"); }},
    PlanField{"recompute-every", "K", "Keep the first of each K layers whole", recompute_every},
    PlanField{"attention", "fused|materialised", "Whether scores stay out of memory", attention},
    PlanField{"fused-pointwise", "", "Neighbouring elementwise operations share one pass",
              [](P p, T t) { return on_or_off(p.fused_pointwise, t); }},
    PlanField{"vendor-attention", "", "Fused attention is the vendor's (cuDNN)",
              [](P p, T t) { return on_or_off(p.vendor_attention, t); }},
    PlanField{"compiled", "", "A compiler's code launches the layers, not Python one by one",
              [](P p, T t) { return on_or_off(p.compiled, t); }},
    PlanField{"fused-loss", "", "Cross-entropy takes one pass each way",
              [](P p, T t) { return on_or_off(p.fused_loss, t); }},
    PlanField{"fused-gradient-sum", "", "Products add weight gradients to the micro-batches' sum",
              [](P p, T t) { return on_or_off(p.fused_gradient_sum, t); }},
    PlanField{"dtype", "FORMAT", "Format of matrix products: fp32, tf32, bf16, fp16, fp8, fp4",
              dtype},
    PlanField{"grad-dtype", "FORMAT", "Format in which gradients are reduced",
              [](P p, T t) { return bytes_of_dtype(p.precision.gradient_bytes, t); }},
    PlanField{"accumulate-dtype", "FORMAT", "Format in which micro-batches' gradients are summed",
              [](P p, T t) { return bytes_of_dtype(p.precision.accumulated_gradient_bytes, t); }},
    PlanField{"offload", "WHAT=WHERE,...", "optimizer, gradients, parameters = host or nvme",
              offload},
    PlanField{"no-overlap", "WHAT,...", "gradient, parameters: this communication hides nowhere",
              no_overlap},
    PlanField{"tp-overlap", "", "Hide tensor-parallel communication under its matrix products",
              [](P p, T t) { return on_or_off(p.overlap_tensor, t); }},
    PlanField{"prefetch", "N", "Layers gathered ahead (ZeRO-3)",
              [](P p, T t) { return whole(p.prefetch_units, t, 0); }},
    PlanField{"bucket-mb", "N", "MiB of gradients that are reduced at once", bucket},
    PlanField{"torch-buffers", "", "Buffers as PyTorch's fully_shard and pipelining keep them",
              [](P p, T t) { return on_or_off(p.torch_buffers, t); }},
    PlanField{"vocabulary-multiple", "N", "Pad the embedding to a multiple of this times tp",
              [](P p, T t) { return whole(p.vocabulary_multiple, t); }},
};

}  // namespace

std::span<const PlanField> plan_fields() { return plan_field_table; }

const PlanField* find_plan_field(std::string_view name) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  for (const PlanField& field : plan_field_table)
    if (std::ranges::equal(field.name, name, {}, plain, plain)) return &field;
  return nullptr;
}

Result<Done> set_plan_field(Plan& plan, std::string_view name, std::string_view text) {
  if (const PlanField* field = find_plan_field(name)) return field->set(plan, text);
  std::vector<std::string_view> names;
  for (const PlanField& field : plan_field_table) names.push_back(field.name);
  return is_no(name, "part of a plan", fmt::format("did you mean {}?", nearest_names(name, names)));
}

}  // namespace stepscope
