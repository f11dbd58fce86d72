// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/plan_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/report/sentences/names.h"
#include "stepscope/say/format.h"
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

std::string words_of(const Shortage& lacks) {
  std::vector<std::string> parts;
  if (lacks.device > 0) parts.push_back(format_bytes(lacks.device));
  if (lacks.host > 0) parts.push_back(format_bytes(lacks.host) + " of host memory");
  if (lacks.nvme > 0) parts.push_back(format_bytes(lacks.nvme) + " of NVMe");
  return parts.empty() ? std::string()
                       : fmt::format("each device lacks {}", fmt::join(parts, " and "));
}

namespace {

// "optimizer, gradients"; empty: nothing is kept there.
std::string offloaded_to(const Plan& p, Residence place) {
  std::vector<std::string_view> kept;
  if (p.optimizer_at == place) kept.emplace_back("optimizer");
  if (p.gradients_at == place) kept.emplace_back("gradients");
  if (p.parameters_at == place) kept.emplace_back("parameters");
  return fmt::format("{}", fmt::join(kept, ", "));
}

// "embedding, first 4 layers frozen"; empty: nothing is, or adapters freeze every weight.
std::string frozen_in_words(const TrainedParts& t) {
  std::vector<std::string> frozen;
  for (std::size_t i = 0; i < model_part_names.size(); ++i)
    if (t.lora_rank == 0 && t.frozen.has(static_cast<ModelPart>(i)))
      frozen.emplace_back(model_part_names[i]);
  if (t.frozen_layers > 0)
    frozen.push_back(t.frozen_layers == 1 ? "first layer"
                                          : fmt::format("first {} layers", t.frozen_layers));
  return frozen.empty() ? std::string() : fmt::format("{} frozen", fmt::join(frozen, ", "));
}

// " (2d)", " (2d, 4 × 2)"; nothing for 1d.
std::string layout_in_words(const Plan& p) {
  if (p.tensor_layout == TensorLayout::one_d) return {};
  const std::string sides = grid_in_words(p);
  return fmt::format(" ({}{}{})", name_of(tensor_layout_names, p.tensor_layout),
                     sides.empty() ? "" : ", ", sides);
}

std::string sequence_in_words(const Plan& p) {
  if (sequence_parts(p) <= 1) return {};
  if (p.sequence_degree == 0 || p.sequence_degree == p.tp) return " with sequence parallelism";
  return fmt::format(" with sequence parallelism over {}", p.sequence_degree);
}

}  // namespace

std::string grid_in_words(const Plan& plan) {
  if (plan.tensor_layout == TensorLayout::one_d) return {};
  const auto grid = tensor_grid(plan);
  if (!grid) return {};
  const bool three = plan.tensor_layout == TensorLayout::three_d;
  if (grid->rows == grid->columns && (!three || grid->depth == grid->rows)) return {};
  return plan.tensor_layout == TensorLayout::two_d
             ? fmt::format("{} × {}", grid->rows, grid->columns)
             : fmt::format("{} × {} × {}", grid->rows, grid->columns, grid->depth);
}

std::string collectives_in_words(std::span<const CollectiveKind> kinds) {
  std::vector<std::string> names;
  for (const CollectiveKind kind : kinds) names.push_back(name_of(collective_kind_names, kind));
  return fmt::format("{}", fmt::join(names, " + "));
}

namespace {

// ", 15 stages of 4 layers, 1 of 1" in model order; empty if stages are not given.
std::string stages_in_words(const Plan& p) {
  std::string out;
  for (std::size_t i = 0, next = 0; i < p.stage_layers.size(); i = next) {
    while (next < p.stage_layers.size() && p.stage_layers[next] == p.stage_layers[i]) ++next;
    const std::size_t alike = next - i;
    out += i > 0 ? fmt::format(", {} of {}", alike, p.stage_layers[i])
                 : fmt::format(", {} stage{} of {} layer{}", alike, alike == 1 ? "" : "s",
                               p.stage_layers[i], p.stage_layers[i] == 1 ? "" : "s");
  }
  return out;
}

}  // namespace

std::string plan_in_words(const Plan& p) {
  std::vector<std::string> parts;
  if (tensor_ranks(p) > 1)
    parts.push_back(fmt::format("TP {}{}{}", p.tp, layout_in_words(p), sequence_in_words(p)));
  if (p.cp > 1)
    parts.push_back(
        fmt::format("CP {} ({})", p.cp, name_of(context_exchange_names, p.context_exchange)));
  if (p.ep > 1) parts.push_back(fmt::format("EP {}", p.ep));
  if (p.pp > 1)
    parts.push_back(fmt::format("PP {} ({}{}{})", p.pp, name_of(schedule_names, p.schedule),
                                p.virtual_stages > 1 ? fmt::format(" × {}", p.virtual_stages) : "",
                                stages_in_words(p)));
  parts.push_back(fmt::format("DP {}{}", p.dp, p.zero > 0 ? fmt::format(", ZeRO-{}", p.zero) : ""));
  if (p.shard_group > 0) parts.back() += fmt::format(" over {}", p.shard_group);
  parts.push_back(fmt::format("{} micro-batch{} of {} × {} tokens", micro_batches(p),
                              micro_batches(p) == 1 ? "" : "es", p.micro_batch, p.sequence));
  if (p.recompute != Recompute::none)
    parts.push_back(p.recompute == Recompute::every_k
                        ? fmt::format("recompute but every {}th layer", p.recompute_every)
                        : fmt::format("recompute {}", name_of(recompute_names, p.recompute)));
  if (const TrainedParts& t = p.trained; t.lora_rank > 0)
    parts.push_back(fmt::format("LoRA of rank {}", t.lora_rank));
  if (const std::string frozen = frozen_in_words(p.trained); !frozen.empty())
    parts.push_back(frozen);
  for (const Residence place : {Residence::host, Residence::nvme})
    if (const std::string there = offloaded_to(p, place); !there.empty())
      parts.push_back(
          fmt::format("{} in {}", there, place == Residence::host ? "host memory" : "NVMe"));
  parts.emplace_back(name(p.precision.matmul));
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string interval_in_words(const StepCost& cost) {
  const StepInterval i = cost.interval();
  return fmt::format(
      "{:.0f} % interval of the step: {} to {} (by published runs whose source no fit had seen).",
      interval_coverage * 100, format_seconds(i.low.count()), format_seconds(i.high.count()));
}

std::string plan_in_brief(const Plan& p) {
  std::string out = fmt::format("tp{}{}", p.tp, p.sequence_parallel ? "+sp" : "");
  if (p.sequence_parallel && p.sequence_degree > 0 && p.sequence_degree != p.tp)
    out += std::to_string(p.sequence_degree);
  if (p.tensor_layout != TensorLayout::one_d)
    out += fmt::format(" {}", name_of(tensor_layout_names, p.tensor_layout));
  std::string sides = grid_in_words(p);
  std::erase(sides, ' ');
  if (!sides.empty()) out += " " + sides;
  if (p.cp > 1)
    out += fmt::format(" cp{} {}", p.cp, name_of(context_exchange_names, p.context_exchange));
  if (p.ep > 1) out += fmt::format(" ep{}", p.ep);
  if (p.pp > 1) out += fmt::format(" pp{} {}", p.pp, name_of(schedule_names, p.schedule));
  if (p.virtual_stages > 1) out += fmt::format("×{}", p.virtual_stages);
  out += fmt::format(" dp{} zero{}", p.dp, p.zero);
  if (p.shard_group > 0) out += fmt::format("/{}", p.shard_group);
  out += fmt::format(" {}×{}", p.micro_batch, micro_batches(p));
  if (p.recompute != Recompute::none)
    out += fmt::format(" recompute {}", name_of(recompute_names, p.recompute));
  if (p.recompute == Recompute::every_k) out += fmt::format("={}", p.recompute_every);
  if (p.optimizer_at != Residence::device || p.gradients_at != Residence::device ||
      p.parameters_at != Residence::device)
    out += " offload";
  return out;
}

}  // namespace stepscope
