// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/plan_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {

std::string_view words_of(StepTerm term) {
  return label_of("step_term", step_term_names[static_cast<std::size_t>(term)]);
}

std::string_view words_of(StepTerm term, const Transformer& model) {
  if (term != StepTerm::attention) return words_of(term);
  bool attends = false;
  bool scans = false;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const Mixer mixer = layer_kind(model, layer).mixer;
    const bool scan = mixer == Mixer::linear || mixer == Mixer::state_space;
    scans = scans || scan;
    attends = attends || !(scan || mixer == Mixer::none);
  }
  if (!scans) return words_of(term);
  return attends ? "attention and scans of states" : "scans of states";
}

std::string_view words_of(MemoryTerm term) {
  return label_of("predicted_memory", memory_term_names[static_cast<std::size_t>(term)]);
}

Message words_of(const Shortage& lacks) {
  Messages parts;
  if (lacks.device > 0) parts.push_back(msg::plain(ByteSize{lacks.device}));
  if (lacks.host > 0) parts.push_back(msg::host_memory_of(ByteSize{lacks.host}));
  if (lacks.nvme > 0) parts.push_back(msg::nvme_of(ByteSize{lacks.nvme}));
  return parts.empty() ? Message() : msg::device_lacks(std::move(parts));
}

std::string grid_in_words(const Plan& plan) {
  if (plan.tensor.layout == TensorLayout::one_d) return {};
  const auto grid = tensor_grid(plan);
  if (!grid) return {};
  const bool three = plan.tensor.layout == TensorLayout::three_d;
  if (grid->rows == grid->columns && (!three || grid->depth == grid->rows)) return {};
  return plan.tensor.layout == TensorLayout::two_d
             ? fmt::format("{} × {}", grid->rows, grid->columns)
             : fmt::format("{} × {} × {}", grid->rows, grid->columns, grid->depth);
}

std::string collectives_in_words(std::span<const CollectiveKind> kinds) {
  std::vector<std::string> names;
  for (const CollectiveKind kind : kinds) names.push_back(name_of(collective_kind_names, kind));
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string tiers_in_words(const PassRow& pass) {
  if (!pass.leaves_domain) return pass.in_domain ? "domain" : "";
  return pass.in_domain ? "domain + network" : "network";
}

namespace {

// Stages with equal numbers of layers together, in model order; none if stages are not given.
Messages stages_of(const std::vector<std::int64_t>& layers) {
  Messages out;
  for (std::size_t i = 0, next = 0; i < layers.size(); i = next) {
    while (next < layers.size() && layers[next] == layers[i]) ++next;
    out.push_back((i == 0 ? msg::alike_stages : msg::more_alike_stages)(next - i, layers[i]));
  }
  return out;
}

// None where adapters freeze every weight.
Messages frozen_parts(const TrainedParts& t) {
  Messages frozen;
  for (std::size_t i = 0; i < model_part_names.size(); ++i)
    if (t.lora_rank == 0 && t.frozen.has(static_cast<ModelPart>(i)))
      frozen.push_back(msg::plain(model_part_names[i]));
  if (t.frozen_layers > 0) frozen.push_back(msg::first_layers(t.frozen_layers));
  return frozen;
}

// What is kept there.
std::vector<std::string> kept_at(const MemoryPlan& m, Residence place) {
  std::vector<std::string> kept;
  if (m.optimizer_at == place) kept.emplace_back("optimizer");
  if (m.gradients_at == place) kept.emplace_back("gradients");
  if (m.parameters_at == place) kept.emplace_back("parameters");
  return kept;
}

}  // namespace

Message plan_in_words(const Plan& p) {
  Messages parts;
  const bool one_d = p.tensor.layout == TensorLayout::one_d;
  const bool own_degree = p.tensor.sequence_degree != 0 && p.tensor.sequence_degree != p.tp;
  if (tensor_ranks(p) > 1)
    parts.push_back(msg::tp_degree(
        p.tp, value_if(!one_d, name_of(tensor_layout_names, p.tensor.layout)), grid_in_words(p),
        sequence_parts(p) > 1, value_if(own_degree, p.tensor.sequence_degree)));
  if (p.cp > 1)
    parts.push_back(msg::cp_degree(p.cp, name_of(context_exchange_names, p.context_exchange)));
  if (p.ep > 1) parts.push_back(msg::ep_degree(p.ep));
  if (p.pp > 1)
    parts.push_back(
        msg::pp_degree(p.pp, name_of(schedule_names, p.pipeline.schedule),
                       value_if(p.pipeline.virtual_stages > 1, p.pipeline.virtual_stages),
                       stages_of(p.pipeline.stage_layers)));
  parts.push_back(msg::dp_degree(p.dp, value_if(p.zero > 0, p.zero),
                                 value_if(p.shard_group > 0, p.shard_group)));
  if (p.secondary_group > 0) parts.push_back(msg::secondary_group(p.secondary_group));
  parts.push_back(msg::batch_division(micro_batches(p), p.batch.micro, p.batch.sequence));
  if (p.memory.recompute == Recompute::every_k)
    parts.push_back(msg::recompute_all_but(p.memory.recompute_every));
  else if (p.memory.recompute != Recompute::none)
    parts.push_back(msg::recompute_which(name_of(recompute_names, p.memory.recompute)));
  if (const TrainedParts& t = p.trained; t.lora_rank > 0)
    parts.push_back(msg::lora_of_rank(t.lora_rank));
  if (Messages frozen = frozen_parts(p.trained); !frozen.empty())
    parts.push_back(msg::parts_frozen(std::move(frozen)));
  for (const Residence place : {Residence::host, Residence::nvme})
    if (const auto kept = kept_at(p.memory, place); !kept.empty())
      parts.push_back(msg::offloaded_to(kept, place == Residence::host));
  parts.push_back(msg::plain(name(p.precision.matmul)));
  return msg::plan_parts(std::move(parts));
}

Message interval_in_words(const StepCost& cost) {
  const StepInterval i = cost.interval();
  return msg::step_interval(Digits{interval_coverage * 100}, i.low, i.high);
}

std::string plan_in_brief(const Plan& p) {
  std::string out = fmt::format("tp{}{}", p.tp, p.tensor.sequence_parallel ? "+sp" : "");
  if (p.tensor.sequence_parallel && p.tensor.sequence_degree > 0 &&
      p.tensor.sequence_degree != p.tp)
    out += std::to_string(p.tensor.sequence_degree);
  if (p.tensor.layout != TensorLayout::one_d)
    out += fmt::format(" {}", name_of(tensor_layout_names, p.tensor.layout));
  std::string sides = grid_in_words(p);
  std::erase(sides, ' ');
  if (!sides.empty()) out += " " + sides;
  if (p.cp > 1)
    out += fmt::format(" cp{} {}", p.cp, name_of(context_exchange_names, p.context_exchange));
  if (p.ep > 1) out += fmt::format(" ep{}", p.ep);
  if (p.pp > 1) out += fmt::format(" pp{} {}", p.pp, name_of(schedule_names, p.pipeline.schedule));
  if (p.pipeline.virtual_stages > 1) out += fmt::format("×{}", p.pipeline.virtual_stages);
  out += fmt::format(" dp{} zero{}", p.dp, p.zero);
  if (p.shard_group > 0) out += fmt::format("/{}", p.shard_group);
  if (p.secondary_group > 0) out += fmt::format(" hpz{}", p.secondary_group);
  out += fmt::format(" {}×{}", p.batch.micro, micro_batches(p));
  if (p.memory.recompute != Recompute::none)
    out += fmt::format(" recompute {}", name_of(recompute_names, p.memory.recompute));
  if (p.memory.recompute == Recompute::every_k) out += fmt::format("={}", p.memory.recompute_every);
  if (p.memory.optimizer_at != Residence::device || p.memory.gradients_at != Residence::device ||
      p.memory.parameters_at != Residence::device)
    out += " offload";
  return out;
}

}  // namespace stepscope
