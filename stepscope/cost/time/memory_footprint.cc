// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/memory_footprint.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the numbers of a term
using namespace formula;

double whole(const StageLoad& load) { return load.parameters + load.expert_parameters; }

double unit(const StageLoad& load) { return load.unit_parameters + load.unit_expert_parameters; }

bool shares(const Plan& plan) {
  const ShardCounts n = shard_counts(plan);
  return n.dense > 1 || n.expert > 1;
}

// Some of a device's weights: all, or those with gradients.
struct Held {
  double dense = 0;
  double experts = 0;
  std::string_view name = "weights";
  std::string_view name_of_experts = "experts";

  [[nodiscard]] double all() const { return dense + experts; }
};
Held trained(const StageLoad& load) {
  const bool some = load.trained + load.trained_experts < whole(load);
  return {load.trained, load.trained_experts, some ? "trained weights" : "weights",
          some ? "trained experts" : "experts"};
}
Held every(const StageLoad& load) { return {load.parameters, load.expert_parameters}; }
Held frozen(const StageLoad& load) {
  return {load.parameters - load.trained, load.expert_parameters - load.trained_experts,
          "frozen weights", "frozen experts"};
}

// A device's weights, or its share if each kind is sharded over its own ranks.
template <Number N>
N weights(const Held& held, const ShardCounts& n, bool split) {
  if (!split) return count<N>(held.all(), held.name);
  N dense = count<N>(held.dense, held.name) / count<N>(n.dense, "ranks");
  if (held.experts <= 0) return dense;
  return dense + count<N>(held.experts, held.name_of_experts) / count<N>(n.expert, "expert ranks");
}

template <Number N>
N gathered_bytes(const Plan& plan, const StageLoad& load) {
  const N width = bytes<N>(plan.precision.parameter_bytes, "P");
  const N all = count<N>(whole(load), "weights");
  const N units = 1.0 + count<N>(plan.overlap.prefetch, "prefetch distance");
  const N layer = count<N>(load.layer_parameters, "layer");
  if (gathers_into_buffers(plan)) {
    // The root's units, the running layer, and the buffers they came through.
    const N ends = count<N>(load.end_parameters, "ends");
    const N buffers = min(all, max(ends, units * layer)) * width;
    return plan.zero == 3 ? min(all, ends + layer) * width + buffers : buffers;
  }
  const bool away = plan.memory.parameters_at != Residence::device;
  if (!away && !(plan.zero == 3 && shares(plan)))
    return bytes<N>(0, "none: every weight is whole all the time");
  // The running unit and the units fetched ahead of it.
  return min(all, units * count<N>(unit(load), "unit")) * width;
}

// Gradients that backward has just made and another rank sums: a bucket being filled and a bucket
// being sent.
template <Number N>
N bucket_bytes(const Plan& plan, const StageLoad& load, const ShardCounts& n) {
  const auto& precision = plan.precision;
  const N width = bytes<N>(precision.gradient_bytes, "G");
  const Held held = trained(load);
  const N made = count<N>(held.all(), held.name) * width;
  const N of_unit = count<N>(load.unit_trained, "unit") * width;
  const N bucket = bytes<N>(static_cast<double>(plan.overlap.bucket.value), "bucket");
  const bool away = plan.memory.gradients_at != Residence::device;
  const bool split = n.dense > 1 || n.expert > 1;
  if (away || (plan.zero >= 2 && split)) return min(made, 2.0 * max(bucket, of_unit));
  if (reduces_apart(plan))
    return count<N>(load.unit_trained, "unit") * bytes<N>(precision.parameter_bytes, "P");
  // ZeRO-1 sends each gradient's share elsewhere, from a bucket into which gradients are copied.
  if (plan.zero == 1 && n.dense > 1) return min(made, bucket);
  if (precision.accumulated_gradient_bytes != precision.gradient_bytes) return min(made, of_unit);
  return bytes<N>(0, "none: gradients are summed where they are made");
}

// Each part once: put(term, its place, bytes).
template <Number N, class Put>
void each_part(const Plan& plan, const StageLoad& load, Put put) {
  const ShardCounts n = shard_counts(plan);
  const Precision& p = plan.precision;
  const auto device = Residence::device;
  const Held states = trained(load);
  const bool from_master = gathers_from_master(plan);
  const Held own = from_master ? frozen(load) : every(load);
  const N parameters = from_master && own.all() <= 0
                           ? bytes<N>(0, "none but the master's")
                           : weights<N>(own, n, plan.zero == 3) * bytes<N>(p.parameter_bytes, "P");
  put(MemoryTerm::parameters, plan.memory.parameters_at, parameters);
  if (plan.secondary_group > 0)
    put(MemoryTerm::gathered, device,
        gathered_bytes<N>(plan, load) + weights<N>(every(load), secondary_counts(plan), true) *
                                            bytes<N>(p.parameter_bytes, "P"));
  else
    put(MemoryTerm::gathered, device, gathered_bytes<N>(plan, load));
  N summed = weights<N>(states, n, plan.zero >= 2);
  if (reduces_apart(plan)) summed = summed + weights<N>(states, n, true);
  put(MemoryTerm::gradients, plan.memory.gradients_at,
      summed * bytes<N>(p.accumulated_gradient_bytes, "A"));
  put(MemoryTerm::buckets, device, bucket_bytes<N>(plan, load, n));
  const N owned = weights<N>(states, n, plan.zero >= 1);
  put(MemoryTerm::master, plan.memory.optimizer_at, owned * bytes<N>(p.master_bytes, "M"));
  put(MemoryTerm::optimizer, plan.memory.optimizer_at,
      owned * bytes<N>(p.optimizer_state_bytes, "O"));
  put(MemoryTerm::activations, device,
      bytes<N>(load.activation_bytes, "kept by the device's layers") *
              count<N>(load.in_flight, "micro-batches in flight") +
          bytes<N>(load.passed_bytes, "passed_on"));
  put(MemoryTerm::workspace, device, bytes<N>(load.workspace_bytes, "workspace"));
  put(MemoryTerm::logits, device, bytes<N>(load.logits_bytes, "logits"));
}

}  // namespace

namespace {

ShardCounts counts_within(const Plan& plan, std::int64_t ranks) {
  const std::int64_t replicas = plan.dp * plan.cp;
  if (ranks == 0) return {.dense = replicas, .expert = expert_replicas(plan)};
  const std::int64_t group = std::min(ranks, replicas);
  const std::int64_t of_experts = group * (whole_experts(plan) ? plan.tp : 1) / plan.ep;
  return {.dense = group, .expert = std::max<std::int64_t>(1, of_experts)};
}

}  // namespace

ShardCounts shard_counts(const Plan& plan) { return counts_within(plan, plan.shard_group); }

ShardCounts secondary_counts(const Plan& plan) {
  return plan.secondary_group > 0 ? counts_within(plan, plan.secondary_group) : shard_counts(plan);
}

bool gathers_from_master(const Plan& plan) {
  const Precision& p = plan.precision;
  return plan.memory.torch_buffers && plan.zero == 3 && shares(plan) &&
         plan.memory.parameters_at == Residence::device && p.master_bytes >= p.parameter_bytes;
}

bool gathers_into_buffers(const Plan& plan) {
  return plan.memory.torch_buffers && plan.zero > 0 && shares(plan) &&
         plan.memory.parameters_at == Residence::device;
}

bool reduces_apart(const Plan& plan) {
  return plan.memory.torch_buffers && plan.zero == 1 && shares(plan);
}

Memory memory_of(const Plan& plan, const StageLoad& load) {
  Memory memory;
  each_part<double>(plan, load, [&memory](MemoryTerm term, Residence place, double bytes) {
    if (place == Residence::device) memory.bytes[static_cast<std::size_t>(term)] = bytes;
    if (place == Residence::host) memory.host_bytes += bytes;
    if (place == Residence::nvme) memory.nvme_bytes += bytes;
  });
  return memory;
}

std::vector<MemoryPart> memory_parts(const Plan& plan, const StageLoad& load) {
  std::vector<MemoryPart> parts;
  each_part<Formula>(plan, load, [&parts](MemoryTerm term, Residence place, Formula bytes) {
    parts.push_back({term, place, std::move(bytes)});
  });
  return parts;
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
