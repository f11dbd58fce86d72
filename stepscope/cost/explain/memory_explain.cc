// SPDX-License-Identifier: Apache-2.0
// The formulas behind what the fullest device holds, and what lies on the host and on NVMe.
#include <algorithm>
#include <string>

#include "stepscope/cost/explain/explain_parts.h"
#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope::explain_parts {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the operators of an expression
using namespace formula;

StageLoad load_of(const Evaluated& e) {
  return stage_load(e.context.stages, e.plan, static_cast<std::size_t>(e.cost.fullest));
}

std::string on_fullest_device(const Evaluated& e) {
  return "on pipeline device " + std::to_string(e.cost.fullest) + " of " +
         std::to_string(e.plan.pp);
}

// "2 B * (n / 16 + experts / 2)".
Formula states(const Plan& plan, const StageLoad& load, double width, bool split) {
  const ShardCounts n = shard_counts(plan);
  const auto of = [split](double parameters, std::int64_t ranks) {
    return split ? count(parameters) / count(ranks) : count(parameters);
  };
  const Formula dense = of(load.parameters, n.dense);
  if (load.expert_parameters <= 0) return bytes(width) * dense;
  return bytes(width) * (dense + of(load.expert_parameters, n.expert));
}

struct State {
  std::string_view words;
  Formula bytes;
  Residence place;
};

State parameters_of(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  if (gathers_from_master(p)) return {"none but the master's", bytes(0), p.parameters_at};
  return {p.zero == 3 ? "P (weights / ranks)" : "P * weights",
          states(p, load, p.precision.parameter_bytes, p.zero == 3), p.parameters_at};
}
State gradients_of(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  const Formula held = states(p, load, p.precision.accumulated_gradient_bytes, p.zero >= 2);
  if (reduces_apart(p)) {
    return {"A * weights + A (weights / ranks), what they are reduced into",
            held + states(p, load, p.precision.accumulated_gradient_bytes, true), p.gradients_at};
  }
  return {p.zero >= 2 ? "A (weights / ranks)" : "A * weights", held, p.gradients_at};
}
State master_of(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  return {p.zero >= 1 ? "M (weights / ranks)" : "M * weights",
          states(p, load, p.precision.master_bytes, p.zero >= 1), p.optimizer_at};
}
State optimizer_of(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  return {p.zero >= 1 ? "O (weights / ranks)" : "O * weights",
          states(p, load, p.precision.optimizer_state_bytes, p.zero >= 1), p.optimizer_at};
}

std::string line(const Evaluated& e, MemoryTerm term, std::string_view words,
                 const Formula& expression) {
  return explained(memory_term_names[static_cast<std::size_t>(term)], words, expression,
                   bytes(e.cost.memory[term]), on_fullest_device(e));
}

std::string of_state(const Evaluated& e, MemoryTerm term, const State& state) {
  if (state.place == Residence::device) return line(e, term, state.words, state.bytes);
  return line(e, term, state.place == Residence::host ? "kept on the host" : "kept on NVMe",
              bytes(0));
}

double whole(const StageLoad& load) { return load.parameters + load.expert_parameters; }
double unit(const StageLoad& load) { return load.unit_parameters + load.unit_expert_parameters; }

std::string of_gathered(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  const Formula width = bytes(p.precision.parameter_bytes);
  const Formula units = count(std::int64_t{1}) + count(p.prefetch_units);
  const Formula weights = count(whole(load));
  if (gathers_into_buffers(p)) {
    const Formula ends = count(load.end_parameters);
    const Formula layer = count(load.layer_parameters);
    const Formula buffers = min(weights, max(ends, units * layer)) * width;
    if (p.zero != 3) {
      return line(e, MemoryTerm::gathered,
                  "buffers: min(weights, max(ends, (1 + prefetched) layers)) * P", buffers);
    }
    return line(e, MemoryTerm::gathered,
                "(ends + layer) * P + buffers: max(ends, (1 + prefetched) layers) * P",
                min(weights, ends + layer) * width + buffers);
  }
  const ShardCounts n = shard_counts(p);
  const bool away = p.parameters_at != Residence::device;
  if (!away && !(p.zero == 3 && (n.dense > 1 || n.expert > 1))) {
    return line(e, MemoryTerm::gathered, "none: every weight is whole all the time", bytes(0));
  }
  return line(e, MemoryTerm::gathered, "min(weights, (1 + prefetched) units) * P",
              min(weights, units * count(unit(load))) * width);
}

std::string of_buckets(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  const ShardCounts n = shard_counts(p);
  const bool away = p.gradients_at != Residence::device;
  const Formula width = bytes(p.precision.gradient_bytes);
  const Formula made = count(whole(load)) * width;
  const Formula of_unit = count(unit(load)) * width;
  const Formula bucket = bytes(static_cast<double>(p.bucket.value));
  if (away || (p.zero >= 2 && (n.dense > 1 || n.expert > 1))) {
    return line(e, MemoryTerm::buckets, "min(G * weights, 2 max(bucket, G * unit))",
                min(made, count(std::int64_t{2}) * max(bucket, of_unit)));
  }
  if (reduces_apart(p)) {
    return line(e, MemoryTerm::buckets, "P * unit, the gradient just made",
                count(unit(load)) * bytes(p.precision.parameter_bytes));
  }
  if (p.zero == 1 && n.dense > 1) {
    return line(e, MemoryTerm::buckets, "min(G * weights, bucket)", min(made, bucket));
  }
  if (p.precision.accumulated_gradient_bytes != p.precision.gradient_bytes) {
    return line(e, MemoryTerm::buckets, "min(G * weights, G * unit)", min(made, of_unit));
  }
  return line(e, MemoryTerm::buckets, "none: gradients are summed where they are made",
              bytes(0));
}

// Outputs until their gradients come, gradients, and inputs whose turn is not yet.
Formula passed_of(const Evaluated& e, const StageLoad& load) {
  const Plan& p = e.plan;
  const std::int64_t receivers = p.virtual_stages - (e.cost.fullest == 0 ? 1 : 0);
  const std::int64_t senders = p.virtual_stages - (e.cost.fullest + 1 == p.pp ? 1 : 0);
  const Formula m = count(micro_batches(p));
  const Formula held = count(load.in_flight);
  return bytes(e.context.input_bytes) *
         (count(senders) * (held + m) + count(receivers) * (m - held));
}

// The unit and the way of recomputation whose workspace is the device's.
Formula workspace_of(const Evaluated& e, double total) {
  std::vector<const LayerCost*> units;
  for (const LayerCost& kind : e.context.kinds) units.push_back(&kind);
  units.insert(units.end(), {&e.context.embedding, &e.context.head[e.plan.pp > 1 ? 1 : 0]});
  for (const LayerCost* u : units) {
    for (std::size_t how = 0; how < recompute_kind_count; ++how) {
      if (u->recomputed_bytes[how] + u->passing_bytes != total) continue;
      return bytes(u->recomputed_bytes[how]) + bytes(u->passing_bytes);
    }
  }
  return bytes(total);
}

Formula logits_of(const Evaluated& e) {
  if (e.cost.fullest + 1 != e.plan.pp) return bytes(0);
  Plan ends = e.plan;
  ends.pp = e.plan.pp > 1 ? 2 : 1;
  Formula all = bytes(0);
  for (const Operation& op : head_operations(*e.context.model, ends)) {
    if (op.kind != OperationClass::loss) continue;
    all = bytes(op.forward.input_bytes) + bytes(op.kept_bytes) + bytes(op.backward.output_bytes);
  }
  return all;
}

std::string of_all_memory(const Evaluated& e, std::string_view name) {
  Formula all = bytes(e.cost.memory.bytes[0]);
  for (std::size_t i = 1; i < memory_term_count; ++i) {
    if (e.cost.memory.bytes[i] > 0) all = all + bytes(e.cost.memory.bytes[i]);
  }
  return explained(name, "the parts on the device", all, bytes(e.cost.memory.total()),
                   on_fullest_device(e));
}

std::string of_away(const Evaluated& e, std::string_view name) {
  const Residence place = name == "host_memory" ? Residence::host : Residence::nvme;
  const StageLoad load = load_of(e);
  Formula all = bytes(0);
  for (const State& s :
       {parameters_of(e, load), gradients_of(e, load), master_of(e, load), optimizer_of(e, load)}) {
    if (s.place == place) all = all.value() == 0 ? s.bytes : all + s.bytes;
  }
  const Memory& memory = e.cost.memory;
  return explained(name, "the states kept there", all,
                   bytes(place == Residence::host ? memory.host_bytes : memory.nvme_bytes),
                   on_fullest_device(e));
}

std::string of_in_flight(const Evaluated& e, std::string_view name) {
  const Plan& p = e.plan;
  const Formula m = count(micro_batches(p));
  const Formula after = count(p.pp - 1 - e.cost.fullest);
  const Formula devices = count(p.pp);
  const Formula one = count(std::int64_t{1});
  const Formula two = count(std::int64_t{2});
  const Formula v = count(p.virtual_stages);
  const bool interleaved = p.schedule == Schedule::interleaved && p.virtual_stages > 1;
  const auto by = [&]() -> std::pair<std::string_view, Formula> {
    if (p.schedule == Schedule::gpipe) return {"m", m};
    if (p.schedule == Schedule::zero_bubble_h1) return {"min(m, p)", min(m, devices)};
    if (p.schedule == Schedule::zero_bubble_h2)
      return {"min(m, 2 p - 1)", min(m, two * devices - one)};
    if (interleaved)
      return {"min(m, (2 q + (v - 1) p + 1) / v)",
              min(m, (two * after + (v - one) * devices + one) / v)};
    return {"min(m, q + 1)", min(m, after + one)};
  };
  const auto [words, expression] = by();
  return explained(
      name, words, expression, count(load_of(e).in_flight),
      "micro-batches whose activations are held, q = stages behind; " + on_fullest_device(e));
}

// What a layer of the first kind keeps of a micro-batch (kept_bytes).
std::string of_layer_kept(const Evaluated& e, std::string_view name) {
  const Recompute how = recompute_at(e.plan, 0);
  const auto index = static_cast<std::size_t>(how);
  const double input = e.context.input_bytes;
  const auto operations = layer_operations(*e.context.model, e.plan, 0);
  Formula all = bytes(0);
  const auto add = [&all](double more) {
    if (more > 0) all = all.value() == 0 ? bytes(more) : all + bytes(more);
  };
  const bool by_operation = how == Recompute::none || how == Recompute::selective;
  if (!by_operation) add(input);
  if (how == Recompute::operations) add(kept_bytes(operations, how, 0));
  for (const Operation& op : operations) {
    if (!by_operation) break;
    const bool again = how == Recompute::selective && op.attention_core;
    add(again ? op.core_input_bytes : op.kept_bytes);
  }
  const std::size_t kind = e.context.kind.front();
  return explained(name, by_operation ? "sum over the operations" : "input of the layer + outputs",
                   all, bytes(e.context.kinds[kind].kept_bytes[index]), "the first layer");
}

}  // namespace

std::string of_memory(const Evaluated& e, MemoryTerm term) {
  const StageLoad load = load_of(e);
  switch (term) {
    case MemoryTerm::parameters:
      return of_state(e, term, parameters_of(e, load));
    case MemoryTerm::gathered:
      return of_gathered(e, load);
    case MemoryTerm::gradients:
      return of_state(e, term, gradients_of(e, load));
    case MemoryTerm::buckets:
      return of_buckets(e, load);
    case MemoryTerm::master:
      return of_state(e, term, master_of(e, load));
    case MemoryTerm::optimizer:
      return of_state(e, term, optimizer_of(e, load));
    case MemoryTerm::activations:
      if (load.passed_bytes > 0) {
        return line(e, term, "kept by the device's layers * micro-batches in flight + passed on",
                    bytes(load.activation_bytes) * count(load.in_flight) + passed_of(e, load));
      }
      return line(e, term, "kept by the device's layers * micro-batches in flight",
                  bytes(load.activation_bytes) * count(load.in_flight));
    case MemoryTerm::workspace:
      return line(e, term, "recomputed in one unit + passing between two operations",
                  workspace_of(e, load.workspace_bytes));
    case MemoryTerm::logits:
      return line(e, term, "scores + their exponentials + gradient, where the head is",
                  logits_of(e));
  }
  return {};
}

std::vector<Part> memory_parts() {
  return {{"memory", of_all_memory},
          {"in_flight", of_in_flight},
          {"layer_kept", of_layer_kept},
          {"host_memory", of_away},
          {"nvme_memory", of_away}};
}

}  // namespace stepscope::explain_parts
