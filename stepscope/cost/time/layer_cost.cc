// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/layer_cost.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/cost/layer/layer_table.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/layer/tensor_layouts.h"
#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

PassTerm class_of(const Operation& operation) {
  if (operation.attention_core || operation.kind == OperationClass::attention ||
      operation.kind == OperationClass::scan) {
    return PassTerm::attention;
  }
  return operation.kind == OperationClass::matmul ? PassTerm::matmul : PassTerm::pointwise;
}

PassTerm class_of(ParallelDim dim) {
  if (dim == ParallelDim::context) return PassTerm::context;
  return dim == ParallelDim::expert ? PassTerm::expert : PassTerm::tensor;
}

double call_seconds(const Rates& rates, const Communication& c) {
  const auto& group = rates.placements[static_cast<std::size_t>(c.dim)];
  if (!group) return 0;
  return communication_seconds<double>(rates.network, c, *group);
}

// True for a column-parallel product that gathered its input and scatters its input's gradient.
// Megatron-LM gathers during the product for one gradient and scatters during the other product.
bool gathers_and_scatters(const Pass& backward) {
  return std::ranges::any_of(backward.communications, [](const Communication& c) {
    return c.kind == CollectiveKind::reduce_scatter && c.dim == ParallelDim::tensor;
  });
}

PassTime pass_time(const Operation& operation, Direction direction, const Rates& rates,
                   const Plan& plan, bool full_precision) {
  PassTime time;
  const double whole = operation_time(rates.compute, operation, direction, full_precision).count();
  time[class_of(operation)] += whole;
  double work = whole;
  const Pass& pass = direction == Direction::forward ? operation.forward : operation.backward;
  for (const Communication& c : pass.communications) {
    const double call = call_seconds(rates, c);
    const CallWindow open = call_window(c, plan, operation, direction, whole, work);
    time[class_of(c.dim)] +=
        exposed_call(call, open, call_slowdown(rates.compute, rates.network, c, call));
    work -= open.share * std::min(call, open.seconds);  // this time hides no other call
  }
  return time;
}

void place_dim(Placements& placements, const Network& network, ParallelDim dim, std::int64_t size,
               std::int64_t stride, std::optional<Error>& error) {
  if (size < 2 || error) return;
  auto& place_here = placements[static_cast<std::size_t>(dim)];
  place_here = place(static_cast<int>(size), static_cast<int>(stride), network);
  if (place_here) return;
  error =
      Error{.what = std::string(parallel_dim_names[static_cast<std::size_t>(dim)]) + " = " +
                    std::to_string(size) + " leaves a domain of " + std::to_string(network.domain) +
                    " devices, and the machine has no scale_out.gb_per_s_per_direction",
            .hint = "give the network between domains in a file for --machine"};
}

// The slowdown of arithmetic during the experts' all-to-alls: that of the largest.
double expert_slowdown(std::span<const Operation> operations, const Rates& rates) {
  double most = 0;
  for (const Operation& op : operations) {
    for (const Communication& c : op.forward.communications) {
      if (c.dim != ParallelDim::expert) continue;
      const double call = call_seconds(rates, c);
      most = std::max(most, call_slowdown(rates.compute, rates.network, c, call));
    }
  }
  return most;
}

// The host needs 1.5 times the time for backward.
constexpr double backward_launches = 1.5;

// Adds the device's wait for the host, forward and backward.
void add_host(LayerCost& cost, const ComputeModel& compute, const Plan& plan, const HostWork& work,
              bool only_forward) {
  const bool tp = tensor_ranks(plan) > 1;
  const double host = host_seconds(compute, plan.kernels, work);
  if (host <= 0) return;
  const double forward = host_excess(compute, cost.forward.total(), host, tp);
  for (std::size_t how = 0; !only_forward && how < recompute_kind_count; ++how) {
    const double device = cost.backward[how].total() + cost.again[how].total();
    const bool all = how == static_cast<std::size_t>(Recompute::full);
    const double launches = host * (backward_launches + (all ? 1 : 0));
    cost.backward[how][PassTerm::host] = host_excess(compute, device, launches, tp);
  }
  cost.forward[PassTerm::host] = forward;
}

}  // namespace

void add(LayerCost& to, const LayerCost& layer, double times) {
  to.forward.add(layer.forward, times);
  for (std::size_t how = 0; how < recompute_kind_count; ++how) {
    to.backward[how].add(layer.backward[how], times);
    to.again[how].add(layer.again[how], times);
    to.kept_bytes[how] += times * layer.kept_bytes[how];
    to.recomputed_bytes[how] = std::max(to.recomputed_bytes[how], layer.recomputed_bytes[how]);
  }
  to.weight_gradient += times * layer.weight_gradient;
  to.hidden_forward += times * layer.hidden_forward;
  for (std::size_t how = 0; how < recompute_kind_count; ++how) {
    to.hidden_backward[how] += times * layer.hidden_backward[how];
  }
  to.passing_bytes = std::max(to.passing_bytes, layer.passing_bytes);
  to.logits_bytes += times * layer.logits_bytes;
  to.logits_kept += times * layer.logits_kept;
  to.parameters += times * layer.parameters;
  to.expert_parameters += times * layer.expert_parameters;
  to.trained += times * layer.trained;
  to.trained_experts += times * layer.trained_experts;
  to.weights += times * layer.weights;
  to.vectors += times * layer.vectors;
  to.vector_elements += times * layer.vector_elements;
}

double host_seconds(const ComputeModel& compute, const Kernels& kernels, const HostWork& work) {
  if (kernels.cuda_graphs == CudaGraphs::step) return 0;
  const double layer = 1e-6 * of(compute, ComputeParameter::host_layer_us);
  if (layer <= 0) return 0;  // a machine without a host
  const bool graphs = kernels.cuda_graphs == CudaGraphs::layers;
  const double share = graphs ? graphed_share : kernels.compiled ? compiled_share : 1;
  const double launches =
      work.mixtures * mixture_launches * (graphs ? graphed_mixture_share : 1) + work.products;
  return work.layers * share * layer + 1e-6 * launch_interval_us * launches;
}

CallWindow call_window(const Communication& c, const Plan& plan, const Operation& operation,
                       Direction direction, double whole, double left) {
  if (!c.can_overlap) return {};
  if (c.dim == ParallelDim::context) {
    const auto n = static_cast<double>(plan.cp);
    return {1, left * (n - 1) / n};
  }
  if (class_of(c.dim) != PassTerm::tensor) return {};
  if (plan.tensor.sequence_parallel && direction == Direction::backward &&
      gathers_and_scatters(operation.backward)) {
    return {1, std::min(whole / 2, left)};
  }
  if (!plan.overlap.tensor) return {};
  const bool sequence = c.dim == ParallelDim::sequence || c.dim == ParallelDim::sequence_copies;
  const auto n = static_cast<double>(sequence ? group_size(plan, c.dim) : plan.tp);
  return {(n - 1) / n, left};
}

double call_slowdown(const ComputeModel& compute, const Network& network, const Communication& c,
                     double call) {
  if (call <= 0 || network.up.value <= 0) return 0;
  const double copying = static_cast<double>(c.count) * c.bytes / network.up.value;
  return of(compute, ComputeParameter::contention) * std::min(1.0, copying / call);
}

Result<Placements> layer_placements(const Plan& plan, const Network& network) {
  Placements placements;
  std::optional<Error> error;
  const auto at = [&](ParallelDim dim, std::int64_t size, std::int64_t stride) {
    place_dim(placements, network, dim, size, stride, error);
  };
  at(ParallelDim::tensor, plan.tp, 1);
  // The parts of a sequence lie side by side. Copies of a part are as far apart as it has parts.
  const std::int64_t parts = sequence_parts(plan);
  if (parts != plan.tp && parts > 1) {
    at(ParallelDim::sequence, parts, 1);
    if (plan.tp % parts == 0) at(ParallelDim::sequence_copies, plan.tp / parts, parts);
  }
  if (plan.tensor.layout != TensorLayout::one_d) {
    const DeviceGrid grid = device_grid(plan);
    at(ParallelDim::tensor_row, grid.columns, 1);
    at(ParallelDim::tensor_column, grid.rows, grid.columns);
    at(ParallelDim::tensor_depth, grid.depth, grid.columns * grid.rows);
  }
  at(ParallelDim::context, plan.cp, tensor_ranks(plan));
  at(ParallelDim::expert, plan.ep, whole_experts(plan) ? 1 : tensor_ranks(plan));
  if (error) return *error;
  return placements;
}

LayerCost layer_cost(std::span<const Operation> operations, const Rates& rates, const Plan& plan,
                     const LayerRun& run) {
  LayerCost cost;
  PassTime all_backward;
  for (const Operation& op : operations) {
    const PassTime forward = pass_time(op, Direction::forward, rates, plan, run.full_precision);
    const PassTime backward = pass_time(op, Direction::backward, rates, plan, run.full_precision);
    cost.forward.add(forward, 1);
    all_backward.add(backward, 1);
    // Two products of equal size: one for the input's gradient, one for the weight's.
    const bool has_weight =
        op.kind == OperationClass::matmul && op.parameters > 0 && op.trained && !op.forward_only;
    if (has_weight) cost.weight_gradient += backward[PassTerm::matmul] / 2;
    (op.expert ? cost.expert_parameters : cost.parameters) += op.parameters;
    if (op.trained) (op.expert ? cost.trained_experts : cost.trained) += op.parameters;
    cost.weights += static_cast<double>(op.weights);
    cost.vectors += static_cast<double>(op.vectors);
    cost.vector_elements += op.vector_elements;
    cost.passing_bytes = std::max(
        cost.passing_bytes, op.forward_only ? op.forward.input_bytes + op.forward.output_bytes
                                            : op.backward.input_bytes + op.backward.output_bytes);
    if (op.kind == OperationClass::loss) {
      cost.logits_kept += op.kept_bytes;
      cost.logits_bytes += loss_bytes<double>(op);
    }
    for (std::size_t how = 0; how < recompute_kind_count; ++how) {
      cost.again[how].add(forward, share_again(op, static_cast<Recompute>(how)));
    }
  }
  for (std::size_t i = 0; i < recompute_kind_count; ++i) {
    const auto how = static_cast<Recompute>(i);
    cost.backward[i] = all_backward;
    cost.kept_bytes[i] = kept_bytes(operations, how, run.input_bytes);
    cost.recomputed_bytes[i] = recomputed_bytes(operations, how, run.input_bytes);
  }
  if (plan.overlap.experts && plan.ep > 1) {
    const double slowdown = expert_slowdown(operations, rates);
    const auto hide = [slowdown](PassTime& pass) {
      const double calls = pass[PassTerm::expert];
      pass[PassTerm::expert] = exposed_experts<double>(calls, pass.compute(), slowdown);
      return calls - pass[PassTerm::expert];
    };
    cost.hidden_forward = hide(cost.forward);
    for (std::size_t how = 0; how < recompute_kind_count; ++how) {
      cost.hidden_backward[how] = hide(cost.backward[how]) + hide(cost.again[how]);
    }
  }
  const bool only_forward =
      !operations.empty() && std::ranges::all_of(operations, &Operation::forward_only);
  add_host(cost, rates.compute, plan, run.host, only_forward);
  return cost;
}

}  // namespace stepscope
