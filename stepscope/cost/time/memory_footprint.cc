// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/memory_footprint.h"

#include <algorithm>

namespace stepscope {
namespace {

double& at(Memory& memory, MemoryTerm term) { return memory.bytes[static_cast<std::size_t>(term)]; }

// `bytes` of a state that lives where `place` says.
void put(Memory& memory, MemoryTerm term, Residence place, double bytes) {
  if (place == Residence::device) at(memory, term) += bytes;
  if (place == Residence::host) memory.host_bytes += bytes;
  if (place == Residence::nvme) memory.nvme_bytes += bytes;
}

// Elements on this rank when each kind is split over its own ranks.
double split(const StageLoad& load, const ShardCounts& n) {
  return load.parameters / static_cast<double>(n.dense) +
         load.expert_parameters / static_cast<double>(n.expert);
}

double whole(const StageLoad& load) { return load.parameters + load.expert_parameters; }

double unit(const StageLoad& load) { return load.unit_parameters + load.unit_expert_parameters; }

bool shares(const Plan& plan) {
  const ShardCounts n = shard_counts(plan);
  return n.dense > 1 || n.expert > 1;
}

void add_parameters(Memory& memory, const Plan& plan, const StageLoad& load, const ShardCounts& n) {
  const double width = plan.precision.parameter_bytes;
  const double held = plan.zero == 3 ? split(load, n) : whole(load);
  if (!gathers_from_master(plan)) {
    put(memory, MemoryTerm::parameters, plan.parameters_at, held * width);
  }
  const double units = 1 + static_cast<double>(plan.prefetch_units);
  if (gathers_into_buffers(plan)) {
    // The root's units, the layer that runs, and the buffers they came through.
    const double kept = plan.zero == 3 ? load.end_parameters + load.layer_parameters : 0;
    const double buffers = std::max(load.end_parameters, units * load.layer_parameters);
    at(memory, MemoryTerm::gathered) +=
        std::min(whole(load), kept) * width + std::min(whole(load), buffers) * width;
  } else if (plan.parameters_at != Residence::device || (plan.zero == 3 && shares(plan))) {
    // The unit that runs and those fetched ahead of it.
    at(memory, MemoryTerm::gathered) += std::min(whole(load), units * unit(load)) * width;
  }
}

void add_gradients(Memory& memory, const Plan& plan, const StageLoad& load, const ShardCounts& n) {
  const auto& precision = plan.precision;
  const bool away = plan.gradients_at != Residence::device;
  const double held = plan.zero >= 2 ? split(load, n) : whole(load);
  const double reduced = reduces_apart(plan) ? split(load, n) : 0;
  put(memory, MemoryTerm::gradients, plan.gradients_at,
      (held + reduced) * precision.accumulated_gradient_bytes);
  // What backward has just made and somebody else sums: a bucket that fills and one that is sent.
  const bool leaves = away || (plan.zero >= 2 && (n.dense > 1 || n.expert > 1));
  const bool narrower = precision.accumulated_gradient_bytes != precision.gradient_bytes;
  const double made = whole(load) * precision.gradient_bytes;
  const double of_unit = unit(load) * precision.gradient_bytes;
  // ZeRO-1 sends each gradient's share elsewhere: from a bucket that they are copied into.
  if (leaves) {
    const double bucket = static_cast<double>(plan.bucket.value);
    at(memory, MemoryTerm::buckets) += std::min(made, 2 * std::max(bucket, of_unit));
  } else if (reduces_apart(plan)) {
    at(memory, MemoryTerm::buckets) += unit(load) * precision.parameter_bytes;
  } else if (plan.zero == 1 && n.dense > 1) {
    at(memory, MemoryTerm::buckets) += std::min(made, static_cast<double>(plan.bucket.value));
  } else if (narrower) {
    at(memory, MemoryTerm::buckets) += std::min(made, of_unit);
  }
}

}  // namespace

ShardCounts shard_counts(const Plan& plan) {
  const std::int64_t replicas = plan.dp * plan.cp;
  const std::int64_t expert_replicas = replicas / plan.ep;
  if (plan.shard_group == 0) return {.dense = replicas, .expert = expert_replicas};
  const std::int64_t group = std::min(plan.shard_group, replicas);
  return {.dense = group, .expert = std::max<std::int64_t>(1, group / plan.ep)};
}

bool gathers_from_master(const Plan& plan) {
  const Precision& p = plan.precision;
  return plan.torch_buffers && plan.zero == 3 && shares(plan) &&
         plan.parameters_at == Residence::device && p.master_bytes >= p.parameter_bytes;
}

bool gathers_into_buffers(const Plan& plan) {
  return plan.torch_buffers && plan.zero > 0 && shares(plan) &&
         plan.parameters_at == Residence::device;
}

bool reduces_apart(const Plan& plan) {
  return plan.torch_buffers && plan.zero == 1 && shares(plan);
}

Memory memory_of(const Plan& plan, const StageLoad& load) {
  Memory memory;
  const ShardCounts n = shard_counts(plan);
  add_parameters(memory, plan, load, n);
  add_gradients(memory, plan, load, n);
  const double owned = plan.zero >= 1 ? split(load, n) : whole(load);
  put(memory, MemoryTerm::master, plan.optimizer_at, owned * plan.precision.master_bytes);
  put(memory, MemoryTerm::optimizer, plan.optimizer_at,
      owned * plan.precision.optimizer_state_bytes);
  at(memory, MemoryTerm::activations) = load.activation_bytes * load.in_flight + load.passed_bytes;
  at(memory, MemoryTerm::workspace) = load.workspace_bytes;
  at(memory, MemoryTerm::logits) = load.logits_bytes;
  return memory;
}

Shortage shortage(const Memory& memory, const Machine& machine) {
  const auto lacks = [](double needed, const std::optional<Bytes>& room) {
    return room ? std::max(0.0, needed - static_cast<double>(room->value)) : 0;
  };
  return {.device = lacks(memory.total(), machine.memory),
          .host = machine.host ? lacks(memory.host_bytes, machine.host->memory) : 0,
          .nvme = machine.nvme ? lacks(memory.nvme_bytes, machine.nvme->capacity) : 0};
}

}  // namespace stepscope
