// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/layer/layer_table.h"

#include <algorithm>

#include "stepscope/cost/layer/tensor_layouts.h"

namespace stepscope {
namespace {

using enum CollectiveKind;

double on_link(const Communication& c, std::int64_t group, LinkVolume volume) {
  const double bytes = c.bytes * static_cast<double>(c.count);
  const auto n = static_cast<double>(group);
  const double part = volume == LinkVolume::whole ? 1 : (n - 1) / n;
  switch (c.kind) {
    case all_reduce:
      return 2 * bytes * part;
    case all_gather:
    case reduce_scatter:
    case all_to_all:
      return bytes * part;
    default:
      return bytes;
  }
}

PassRow pass_row(const Pass& pass, const Plan& plan, const IdealRates& rates) {
  PassRow row{.flops = pass.flops(),
              .bytes = pass.bytes(),
              .compute = pass.matrix / rates.matrix + pass.vector / rates.vector,
              .memory = Seconds{pass.bytes() / rates.memory.value}};
  for (const Communication& c : pass.communications) {
    const std::int64_t group = group_size(plan, c.dim);
    row.group = std::max(row.group, group);
    if (std::ranges::find(row.sent_by, c.kind) == row.sent_by.end()) row.sent_by.push_back(c.kind);
    const auto dim = static_cast<std::size_t>(c.dim);
    (rates.leaves_domain[dim] ? row.leaves_domain : row.in_domain) = true;
    const double sent = on_link(c, group, rates.volume);
    row.sent_bytes += sent;
    row.communication += Seconds{sent / rates.link[dim].value};
  }
  return row;
}

void add_to(PassSum& sum, const PassRow& row, double times) {
  sum.flops += Flops{times * row.flops.value};
  sum.bytes += times * row.bytes;
  sum.sent_bytes += times * row.sent_bytes;
  sum.roofline += times * row.roofline();
  sum.communication += times * row.communication;
}

}  // namespace

std::int64_t group_size(const Plan& plan, ParallelDim dim) {
  switch (dim) {
    case ParallelDim::tensor:
      return plan.tp;
    case ParallelDim::sequence:
      return sequence_parts(plan);
    case ParallelDim::sequence_copies:
      return std::max<std::int64_t>(1, plan.tp / sequence_parts(plan));
    case ParallelDim::tensor_row:
      return device_grid(plan).columns;
    case ParallelDim::tensor_column:
      return device_grid(plan).rows;
    case ParallelDim::tensor_depth:
      return device_grid(plan).depth;
    case ParallelDim::context:
      return plan.cp;
    case ParallelDim::expert:
      return plan.ep;
    case ParallelDim::pipeline:
      return plan.pp;
    case ParallelDim::data:
      return plan.dp;
    case ParallelDim::shard:
      return plan.shard_group > 0 ? plan.shard_group : plan.dp * plan.cp;
  }
  return 1;
}

std::vector<LayerRow> layer_table(std::span<const Operation> operations, const Plan& plan,
                                  const IdealRates& rates) {
  std::vector<LayerRow> rows;
  rows.reserve(operations.size());
  for (const Operation& op : operations) {
    rows.push_back(
        {.name = op.name,
         .kind = op.kind,
         .input_bytes = op.forward.input_bytes,
         .other_bytes = op.forward.other_bytes,
         .output_bytes = op.forward.output_bytes,
         .kept_bytes = op.kept_bytes,
         .weight_bytes = op.parameters * plan.precision.parameter_bytes,
         .gradient_bytes = op.backward.input_bytes + op.backward.output_bytes,
         .weight_gradient_bytes = op.trained ? op.parameters * plan.precision.gradient_bytes : 0,
         .forward = pass_row(op.forward, plan, rates),
         .backward = pass_row(op.backward, plan, rates)});
  }
  return rows;
}

LayerSum layer_sum(std::span<const LayerRow> rows, std::int64_t layers) {
  const auto times = static_cast<double>(layers);
  LayerSum sum;
  for (const LayerRow& row : rows) {
    sum.kept_bytes += times * row.kept_bytes;
    sum.weight_bytes += times * row.weight_bytes;
    sum.weight_gradient_bytes += times * row.weight_gradient_bytes;
    add_to(sum.forward, row.forward, times);
    add_to(sum.backward, row.backward, times);
  }
  return sum;
}

}  // namespace stepscope
