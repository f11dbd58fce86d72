// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/explain/operation_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/plan/tensor_grid.h"
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
    const Bytes bytes{static_cast<std::int64_t>(std::llround(c.bytes))};
    sum += static_cast<double>(c.count) *
           collective_time(*context.network, c.kind, bytes, *place).count();
  }
  return sum;
}

bool leaves_domain(const CostContext& context, const Operation& o) {
  const auto far = [&context](const Pass& pass) {
    return std::ranges::any_of(pass.communications, [&context](const Communication& c) {
      const auto& place = context.placements[static_cast<std::size_t>(c.dim)];
      return place && place->domains > 1;
    });
  };
  return far(o.forward) || far(o.backward);
}

// Rates in the format of the part.
IdealRates paper_rates(const CostContext& context, bool full_precision) {
  const ComputeModel& c = context.compute;
  const MatmulRates& matrix = full_precision ? c.full : c.matmul;
  const double link = context.network->up.value;
  return {FlopRate{matrix.peak}, FlopRate{c.vector_rate}, ByteRate{c.memory_rate},
          ByteRate{link > 0 ? link : 1}};
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
    row.leaves_domain = leaves_domain(context, o);
    row.ideal = ideal[i];
    row.operation = std::move(o);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<OperationRow> operation_rows(const CostContext& context, const Plan& plan) {
  const Transformer& model = *context.model;
  std::vector<OperationRow> rows;
  add(rows, context, "embedding", 1, embedding_operations(model, plan), false);
  for (std::size_t kind = 0; kind < context.kinds.size(); ++kind) {
    std::int64_t first = -1;
    std::int64_t count = 0;
    for (std::size_t layer = 0; layer < context.kind.size(); ++layer) {
      if (context.kind[layer] != kind) continue;
      if (first < 0) first = static_cast<std::int64_t>(layer);
      ++count;
    }
    if (first < 0) continue;
    add(rows, context, layer_names[std::min(kind, layer_names.size() - 1)], count,
        layer_operations(model, plan, first), false);
  }
  add(rows, context, "head", 1, head_operations(model, plan), true);
  return rows;
}

Flops recomputed_flops(const CostContext& context, const Plan& plan) {
  std::vector<std::array<double, recompute_kind_count>> of_kind(context.kinds.size());
  std::vector<bool> known(context.kinds.size());
  double sum = 0;
  std::size_t layer = 0;
  for (const std::int64_t layers : context.stages.layers)
    for (std::int64_t i = 0; i < layers; ++i, ++layer) {
      const std::size_t kind = context.kind[layer];
      if (!known[kind]) {
        known[kind] = true;
        for (const Operation& o :
             layer_operations(*context.model, plan, static_cast<std::int64_t>(layer)))
          for (std::size_t how = 0; how < recompute_kind_count; ++how)
            of_kind[kind][how] +=
                o.forward.matrix.value * share_again(o, static_cast<Recompute>(how));
      }
      sum += of_kind[kind][static_cast<std::size_t>(recompute_at(plan, i))];
    }
  return Flops{sum * static_cast<double>(micro_batches(plan)) *
               static_cast<double>(tensor_ranks(plan) * plan.cp * plan.dp)};
}

double communicated_bytes(const Pass& pass) {
  double sum = 0;
  for (const Communication& c : pass.communications) sum += c.bytes * static_cast<double>(c.count);
  return sum;
}

}  // namespace stepscope
