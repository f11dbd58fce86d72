// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/explain/operation_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 8> layer_names = {
    "layer", "layer 2", "layer 3", "layer 4", "layer 5", "layer 6", "layer 7", "layer 8"};

double communication_time(const CostContext& context, const Pass& pass) {
  double sum = 0;
  for (const Communication& c : pass.communications) {
    const auto& place = context.placements[static_cast<std::size_t>(c.dim)];
    if (!place) continue;
    sum += communication_seconds<double>(*context.network, c, *place);
  }
  return sum;
}

// Rates in the format of the part. A device that communicates with none needs no time for it.
IdealRates paper_rates(const CostContext& context, bool full_precision) {
  const ComputeModel& c = context.compute;
  const MatmulRates& matrix = full_precision ? c.full : c.matmul;
  IdealRates rates{.matrix = FlopRate{matrix.peak},
                   .vector = FlopRate{c.vector_rate},
                   .memory = ByteRate{c.memory_rate},
                   .link = same_link({std::numeric_limits<double>::infinity()})};
  for (std::size_t dim = 0; dim < parallel_dim_count; ++dim)
    if (const auto& place = context.placements[dim]; place && place->size > 1) {
      rates.link[dim] = slowest_rate(*place);
      rates.leaves_domain[dim] = place->domains > 1;
    }
  return rates;
}

void add(std::vector<OperationRow>& rows, const CostContext& context, std::string_view part,
         std::int64_t count, std::vector<Operation> operations, bool full_precision) {
  const std::vector<LayerRow> ideal =
      layer_table(operations, context.shape, paper_rates(context, full_precision));
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Operation& o = operations[i];
    OperationRow row{.part = part, .count = count};
    row.forward = operation_time(context.compute, o, Direction::forward, full_precision).count();
    row.backward = operation_time(context.compute, o, Direction::backward, full_precision).count();
    row.communication_forward = communication_time(context, o.forward);
    row.communication_backward = communication_time(context, o.backward);
    row.ideal = ideal[i];
    row.operation = std::move(o);
    rows.push_back(std::move(row));
  }
}

void add_to(OperationSum& sum, const OperationRow& row) {
  const auto times = static_cast<double>(row.count);
  const Pass& f = row.operation.forward;
  const Pass& b = row.operation.backward;
  sum.matrix_forward += Flops{times * f.matrix.value};
  sum.matrix_backward += Flops{times * b.matrix.value};
  sum.vector_forward += Flops{times * f.vector.value};
  sum.vector_backward += Flops{times * b.vector.value};
  sum.bytes_forward += times * f.bytes();
  sum.bytes_backward += times * b.bytes();
  sum.kept_bytes += times * row.operation.kept_bytes;
  sum.parameters += times * row.operation.parameters;
  sum.weight_bytes += times * row.ideal.weight_bytes;
  sum.weight_gradient_bytes += times * row.ideal.weight_gradient_bytes;
  sum.sent_forward += times * communicated_bytes(f);
  sum.sent_backward += times * communicated_bytes(b);
  sum.forward += times * row.forward;
  sum.backward += times * row.backward;
  sum.communication_forward += times * row.communication_forward;
  sum.communication_backward += times * row.communication_backward;
}

// A kind of layer: the first of them, and how many there are.
struct LayersOfKind {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::vector<LayersOfKind> layers_of_kinds(const CostContext& context) {
  std::vector<LayersOfKind> kinds(context.kinds.size());
  for (std::size_t layer = 0; layer < context.kind.size(); ++layer) {
    LayersOfKind& kind = kinds[context.kind[layer]];
    if (kind.count++ == 0) kind.first = static_cast<std::int64_t>(layer);
  }
  return kinds;
}

std::string_view mixer_name(Mixer mixer) {
  if (mixer == Mixer::linear) return "linear_attention";
  return mixer == Mixer::state_space ? "mamba" : "attention";
}

LayerTable table_of(const CostContext& context, const LayerConventions& conventions,
                    std::string name, std::int64_t layers, std::span<const Operation> operations) {
  IdealRates rates = paper_rates(context, false);
  rates.volume = conventions.volume;
  LayerTable table{.name = std::move(name),
                   .layers = layers,
                   .rows = layer_table(operations, context.shape, rates)};
  table.sum = layer_sum(table.rows, layers);
  return table;
}

}  // namespace

std::vector<OperationRow> operation_rows(const CostContext& context, const Plan& plan) {
  const Transformer& model = *context.model;
  std::vector<OperationRow> rows;
  add(rows, context, "embedding", 1, embedding_operations(model, plan), false);
  if (model.tower && plan.batch.images > 0) {
    add(rows, context, "tower", model.tower->layers, tower_layer_operations(model, plan), false);
    add(rows, context, "tower ends", 1, tower_end_operations(model, plan), false);
  }
  const std::vector<LayersOfKind> kinds = layers_of_kinds(context);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind].count == 0) continue;
    add(rows, context, layer_names[std::min(kind, layer_names.size() - 1)], kinds[kind].count,
        layer_operations(model, plan, kinds[kind].first), false);
  }
  add(rows, context, "head", 1, head_operations(model, plan), !plan.kernels.narrow_head);
  if (!model.prediction) return rows;
  const std::int64_t modules = model.prediction->modules;
  std::vector<Operation> body = prediction_operations(model, plan);
  if (model.prediction->one_module) {
    for (Operation& o : body) o.parameters /= static_cast<double>(modules);
  }
  add(rows, context, "prediction", modules, std::move(body), false);
  add(rows, context, "prediction head", modules, prediction_head_operations(model, plan),
      !plan.kernels.narrow_head);
  return rows;
}

std::vector<OperationSum> operation_sums(const std::vector<OperationRow>& rows) {
  std::vector<OperationSum> sums;
  OperationSum all{.part = "all", .count = 0};
  for (const OperationRow& row : rows) {
    if (sums.empty() || sums.back().part != row.part) {
      sums.push_back({.part = row.part, .count = row.count});
      if (row.part.starts_with("layer")) all.count += row.count;
    }
    add_to(sums.back(), row);
    add_to(all, row);
  }
  sums.push_back(all);
  return sums;
}

std::vector<LayerTable> layer_tables(const CostContext& context, const Plan& plan,
                                     const LayerConventions& conventions) {
  std::vector<LayerTable> tables;
  const std::vector<LayersOfKind> kinds = layers_of_kinds(context);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind].count == 0) continue;
    const std::vector<Operation> ops =
        layer_operations(*context.model, plan, kinds[kind].first, conventions.counting);
    // The feed-forward part begins with its norm, or with its first product if it has no norm.
    auto cut = std::ranges::find_if(
        ops, [](const Operation& o) { return o.name == "feed_forward_norm" || o.name == "fc1"; });
    const LayerKind parts = layer_kind(*context.model, kinds[kind].first);
    const bool norm = cut != ops.end() && cut->name == "feed_forward_norm";
    const bool with_mixer = conventions.next_norm_with_attention && parts.mixer != Mixer::none;
    if (norm && with_mixer) ++cut;
    const auto mixer = static_cast<std::size_t>(cut - ops.begin());
    const std::string number = kind == 0 ? "" : " " + std::to_string(kind + 1);
    const std::span all(ops);
    // A layer of one part has one table.
    const auto add_table = [&](std::string_view name, std::span<const Operation> part) {
      if (part.empty()) return;
      tables.push_back(
          table_of(context, conventions, std::string(name) + number, kinds[kind].count, part));
    };
    add_table(mixer_name(parts.mixer), all.first(mixer));
    add_table("feed_forward", all.subspan(mixer));
  }
  return tables;
}

double communicated_bytes(const Pass& pass) {
  double sum = 0;
  for (const Communication& c : pass.communications) sum += c.bytes * static_cast<double>(c.count);
  return sum;
}

}  // namespace stepscope
