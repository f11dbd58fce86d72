// SPDX-License-Identifier: Apache-2.0
// Each figure's formula comes from the term that computes it (formula.h). This file adds its name
// and its meaning.
#include "stepscope/cost/explain/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "stepscope/base/nearest_names.h"
#include "stepscope/cost/explain/operation_rows.h"
#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/layer/recomputed_flops.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/step/equal_stages.h"
#include "stepscope/cost/step/offload_time.h"
#include "stepscope/cost/step/stage_cost.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the numbers of a term
using namespace formula;

// An evaluated plan and the inputs of its evaluation.
struct Evaluated {
  const CostContext& context;
  const Plan& plan;
  const StepCost& cost;
  const DataEntry& data;
  const OffloadRates& offload;
};

struct Line {
  Formula expression;
  Formula result;
  std::string where{};
};

Formula in_seconds(double s) { return seconds<Formula>(s); }
Formula in_bytes(double b) { return bytes<Formula>(b); }
Formula in_flops(double f) { return flops<Formula>(f); }

std::string pipeline_device(const Evaluated& e, std::int64_t device) {
  return "pipeline device " + std::to_string(device) + " of " + std::to_string(e.plan.pp);
}

// The virtual stages of a device.
template <class Visit>
void each_stage(const Evaluated& e, std::int64_t device, Visit visit) {
  each_stage_of(e.plan, static_cast<std::size_t>(device), e.context.stages,
                [&](std::size_t s, double) { visit(s); });
}

std::string on_busiest_device(const Evaluated& e) {
  std::int64_t layers = 0;
  each_stage(e, e.cost.pipeline.busiest,
             [&](std::size_t s) { layers += e.context.stages.layers[s]; });
  return "m = " + std::to_string(micro_batches(e.plan)) + " micro-batches, on the busiest " +
         pipeline_device(e, e.cost.pipeline.busiest) + " with " + std::to_string(layers) +
         " layers";
}

std::string on_fullest_device(const Evaluated& e) {
  return "on " + pipeline_device(e, e.cost.fullest);
}

Line of_step_term(const Evaluated& e, StepTerm term) {
  const auto formulas = step_formulas(e.context, e.offload, e.plan, e.cost);
  std::string where = on_busiest_device(e);
  if (term == StepTerm::recompute) {
    where += ", recomputation " +
             std::string(recompute_names[static_cast<std::size_t>(e.plan.memory.recompute)]);
  } else if (term == StepTerm::bubble || term == StepTerm::pipeline) {
    where = std::string(schedule_names[static_cast<std::size_t>(e.plan.pipeline.schedule)]) +
            " of " + std::to_string(e.plan.pp * e.plan.pipeline.virtual_stages) + " stages and " +
            std::to_string(micro_batches(e.plan)) + " micro-batches";
  } else if (term == StepTerm::optimizer) {
    where = {};
  }
  return {formulas[static_cast<std::size_t>(term)], in_seconds(e.cost[term]), std::move(where)};
}

Line of_whole_step(const Evaluated& e) {
  Formula all = in_seconds(0);
  for (std::size_t i = 0; i < step_term_count; ++i)
    all = all + seconds<Formula>(e.cost.seconds[i], step_term_names[i]);
  return {all, in_seconds(e.cost.step().count())};
}

Line of_busy(const Evaluated& e) {
  Total<Formula> all("stages");
  each_stage(e, e.cost.pipeline.busiest, [&](std::size_t s) {
    const StageTime& t = e.context.stages.times[s];
    const Formula both =
        seconds<Formula>(t.forward.count(), "F") + seconds<Formula>(t.backward.count(), "B");
    all.add(e.plan.pipeline.schedule == Schedule::dualpipe ? both / count<Formula>(2.0) : both);
  });
  return {count<Formula>(micro_batches(e.plan), "m") * all.value(),
          in_seconds(e.cost.pipeline.busy.count()), on_busiest_device(e)};
}

// The host's time to launch the forward of a layer of the first kind.
Line of_host_layer(const Evaluated& e) {
  const ComputeModel& c = e.context.compute;
  const LayerCost& layer = e.context.kinds.front();
  const double waits = layer.forward[PassTerm::host];
  const Formula device = seconds<Formula>(layer.forward.total() - waits, "device");
  const Transformer& model = *e.context.model;
  const double host = host_seconds(
      c, e.plan.kernels,
      host_work(model, layer_kind(model, 0), e.plan, layer_training(e.plan.trained, 0)));
  if (host <= 0) return {seconds<Formula>(0, "none: the host takes no time"), in_seconds(waits)};
  return {host_excess(c, device, seconds<Formula>(host, "host"), e.plan.tp > 1), in_seconds(waits),
          "of a layer forward"};
}

// The bubble of a pipeline whose stages are equal.
Line of_equal_stages(const Evaluated& e) {
  const auto equal = equal_stages(e.context, e.plan);
  if (!equal)
    return {quantity(0, Unit::percent, "none: one stage"), quantity(0, Unit::percent, {})};
  const auto expression = equal_bubble_formula(e.plan);
  const Formula result = quantity(equal->bubble, Unit::percent, {});
  return {expression.value_or(quantity(equal->bubble, Unit::percent, "schedule of equal stages")),
          result,
          "of the passes of equal stages; the busiest device here, " +
              pipeline_device(e, equal->busiest) + ", waits " +
              quantity(equal->own, Unit::percent, {}).figures().text + " and computes " +
              count<Formula>(equal->ratio).figures().text + " of the mean"};
}

Line of_send(const Evaluated& e) {
  return {send_formula(e.context, e.data, e.plan), in_seconds(e.data.send),
          "of a micro-batch to the next stage"};
}

// The work of the device with the largest `value`; the first of equal ones.
struct Busiest {
  std::int64_t device = 0;
  PipelineWork work;
};
template <class Value>
Busiest largest(const Evaluated& e, Value value) {
  Busiest best;
  double most = -1;
  double drain = 0;
  for (std::int64_t device = 0; device < e.plan.pp; ++device) {
    const auto d = static_cast<std::size_t>(device);
    const PipelineWork work = work_of(e.context.stages, e.plan, d, drain);
    drain += e.context.stages.times[d].backward.count();
    const double v = value(work);
    if (v <= most) continue;
    most = v;
    best = {device, work};
  }
  return best;
}

// A part of the end of the step, on the device with the longest time.
template <double DeviceTail<double>::* Number, Formula DeviceTail<Formula>::* Text,
          double StepTail::* Result>
Line of_tail(const Evaluated& e) {
  const Busiest b = largest(e, [&e](const PipelineWork& work) {
    return device_tail<double>(e.context, e.data, e.plan, work).*Number;
  });
  return {device_tail<Formula>(e.context, e.data, e.plan, b.work).*Text,
          in_seconds(e.cost.tail.*Result),
          "R reduce, C gather, F and B forward and backward of a micro-batch, j buckets; " +
              pipeline_device(e, b.device)};
}

// The exposed communication of ZeRO-3 on the busiest device, with its units.
Line of_units(const Evaluated& e, Direction direction, double StageCost::* part,
              std::string where) {
  if (e.plan.zero != 3) return {seconds<Formula>(0, "none: of ZeRO-3 alone"), in_seconds(0)};
  double all = 0;
  each_stage(e, e.cost.pipeline.busiest, [&](std::size_t s) { all += e.context.stages[s].*part; });
  return {exposed_units(e.context, e.data, e.plan, e.cost.pipeline.busiest, direction),
          in_seconds(all), std::move(where)};
}
Line of_units_forward(const Evaluated& e) {
  return of_units(e, Direction::forward, &StageCost::data_forward,
                  "C gathers a layer, embedding or head during F, its forward");
}
Line of_units_backward(const Evaluated& e) {
  return of_units(e, Direction::backward, &StageCost::data_backward,
                  "C gathers and R reduces a layer, embedding or head during B, its backward");
}

Line of_data_sent(const Evaluated& e) {
  const auto held = [](const PipelineWork& w) {
    return HeldWeights{w.parameters, w.expert_parameters, w.trained, w.trained_experts};
  };
  const auto sent = [&](const PipelineWork& w) { return data_volume(e.plan, held(w)); };
  const Busiest b = largest(e, [&sent](const PipelineWork& w) { return sent(w).total(); });
  return {data_sent(e.plan, held(b.work)), in_bytes(sent(b.work).total()),
          "n ranks, k of a shard group; " + pipeline_device(e, b.device)};
}

StageLoad load_of(const Evaluated& e) {
  return stage_load(e.context.stages, e.plan, static_cast<std::size_t>(e.cost.fullest));
}

// The unit and recomputation with the device's workspace.
Formula workspace_of(const Evaluated& e, double total) {
  std::vector<const LayerCost*> units;
  for (const LayerCost& kind : e.context.kinds) units.push_back(&kind);
  units.insert(units.end(), {&e.context.embedding, &e.context.head[e.plan.pp > 1 ? 1 : 0]});
  for (const LayerCost* u : units) {
    for (std::size_t how = 0; how < recompute_kind_count; ++how) {
      if (u->recomputed_bytes[how] + u->passing_bytes != total) continue;
      return bytes<Formula>(u->recomputed_bytes[how], "recomputed in one unit") +
             bytes<Formula>(u->passing_bytes, "passing between two operations");
    }
  }
  return in_bytes(total);
}

Formula logits_of(const Evaluated& e) {
  Formula all = bytes<Formula>(0, "none: the device has no head");
  bool has_head = false;
  each_stage(e, e.cost.fullest,
             [&](std::size_t s) { has_head |= s + 1 == e.context.stages.layers.size(); });
  if (!has_head) return all;
  Plan ends = e.plan;
  ends.pp = e.plan.pp > 1 ? 2 : 1;
  for (const Operation& op : head_operations(*e.context.model, ends))
    if (op.kind == OperationClass::loss) all = loss_bytes<Formula>(op);
  const auto& prediction = e.context.model->prediction;
  if (prediction) all = count<Formula>(1 + prediction->modules, "losses") * all;
  return all;
}

Line of_memory_term(const Evaluated& e, MemoryTerm term) {
  const StageLoad load = load_of(e);
  const auto parts = memory_parts(e.plan, load);
  const MemoryPart& part = *std::ranges::find(parts, term, &MemoryPart::term);
  Formula bytes_of = part.bytes;
  if (part.place == Residence::host) bytes_of = bytes<Formula>(0, "kept on the host");
  if (part.place == Residence::nvme) bytes_of = bytes<Formula>(0, "kept on NVMe");
  if (term == MemoryTerm::workspace) bytes_of = workspace_of(e, load.workspace_bytes);
  if (term == MemoryTerm::logits) bytes_of = logits_of(e);
  return {bytes_of, in_bytes(e.cost.memory[term]), on_fullest_device(e)};
}

Line of_all_memory(const Evaluated& e) {
  Formula all = in_bytes(0);
  for (std::size_t i = 0; i < memory_term_count; ++i)
    all = all + bytes<Formula>(e.cost.memory.bytes[i], memory_term_names[i]);
  return {all, in_bytes(e.cost.memory.total()), on_fullest_device(e)};
}

Line of_away(const Evaluated& e, Residence place, double bytes_there) {
  Formula all = in_bytes(0);
  for (const MemoryPart& part : memory_parts(e.plan, load_of(e)))
    if (part.place == place) all = all + part.bytes;
  if (all.is_nothing()) all = bytes<Formula>(0, "none: no state is kept there");
  return {all, in_bytes(bytes_there), on_fullest_device(e)};
}
Line of_host_memory(const Evaluated& e) {
  return of_away(e, Residence::host, e.cost.memory.host_bytes);
}
Line of_nvme_memory(const Evaluated& e) {
  return of_away(e, Residence::nvme, e.cost.memory.nvme_bytes);
}

Line of_passed_on(const Evaluated& e) {
  const auto device = static_cast<std::size_t>(e.cost.fullest);
  return {passed_bytes_formula(e.context.stages, e.plan, device), in_bytes(load_of(e).passed_bytes),
          on_fullest_device(e)};
}

Line of_in_flight(const Evaluated& e) {
  const Plan& p = e.plan;
  return {in_flight<Formula>(p.pipeline.schedule, p.pp, e.cost.fullest, p.pipeline.virtual_stages,
                             micro_batches(p)),
          count<Formula>(load_of(e).in_flight),
          "micro-batches whose activations are held, q = stages behind; " + on_fullest_device(e)};
}

Line of_layer_kept(const Evaluated& e) {
  const Recompute how = recompute_at(e.plan, 0);
  const auto operations = layer_operations(*e.context.model, e.plan, 0);
  const LayerCost& first = e.context.kinds[e.context.kind.front()];
  return {kept_bytes_formula(operations, how, e.context.input_bytes),
          in_bytes(first.kept_bytes[static_cast<std::size_t>(how)]), "the first layer"};
}

Line of_tokens(const Evaluated& e) {
  return {tokens_per_second<Formula>(e.plan, e.cost.step().count()),
          quantity(e.cost.tokens_per_second, Unit::per_second, {})};
}

Formula model_flops_of(const Evaluated& e, FlopsConvention convention) {
  return model_flops_formula(*e.context.model, e.plan.batch.global, e.plan.batch.sequence,
                             convention, e.plan.trained, images_of(e.plan));
}

Line of_model_flops(const Evaluated& e) {
  const double counted = static_cast<double>(e.plan.batch.global) * e.context.sequence_flops[0];
  return {model_flops_of(e, FlopsConvention::causal_halved), in_flops(counted),
          std::string(convention_name(*e.context.model, FlopsConvention::causal_halved))};
}

template <FlopsConvention convention>
Line of_mfu(const Evaluated& e) {
  const auto c = static_cast<std::size_t>(convention);
  return {
      utilization(model_flops_of(e, convention), e.context.compute, e.plan, e.cost.step().count()),
      quantity(e.cost.mfu[c], Unit::percent, {}),
      std::string(convention_name(*e.context.model, convention))};
}

Line of_hfu(const Evaluated& e) {
  const Formula model =
      flops<Formula>(model_flops_of(e, FlopsConvention::causal_halved).value(), "model_flops");
  const Formula again = flops<Formula>(
      recomputed_flops(*e.context.model, e.plan, e.context.stages.layers).value, "recomputed");
  const Formula hfu = utilization(model + again, e.context.compute, e.plan, e.cost.step().count());
  const double mfu = e.cost.mfu[static_cast<std::size_t>(FlopsConvention::causal_halved)];
  return {hfu, quantity(mfu * (1 + again.value() / model.value()), Unit::percent, {})};
}

// The parts of the terms.
struct Part {
  std::string_view name;
  Line (*line)(const Evaluated& e);
};
using D = DeviceTail<double>;
using F = DeviceTail<Formula>;
constexpr std::array parts = {
    Part{"step", of_whole_step},
    Part{"busy", of_busy},
    Part{"host_layer", of_host_layer},
    Part{"equal_stages", of_equal_stages},
    Part{"send", of_send},
    Part{"reduce", of_tail<&D::reduce, &F::reduce, &StepTail::reduce>},
    Part{"reduce_exposed",
         of_tail<&D::reduce_exposed, &F::reduce_exposed, &StepTail::reduce_exposed>},
    Part{"reduce_earlier",
         of_tail<&D::reduce_earlier, &F::reduce_earlier, &StepTail::reduce_earlier>},
    Part{"gather", of_tail<&D::gather, &F::gather, &StepTail::gather>},
    Part{"gather_exposed",
         of_tail<&D::gather_exposed, &F::gather_exposed, &StepTail::gather_exposed>},
    Part{"units_forward", of_units_forward},
    Part{"units_backward", of_units_backward},
    Part{"data_sent", of_data_sent},
    Part{"memory", of_all_memory},
    Part{"in_flight", of_in_flight},
    Part{"passed_on", of_passed_on},
    Part{"layer_kept", of_layer_kept},
    Part{"host_memory", of_host_memory},
    Part{"nvme_memory", of_nvme_memory},
    Part{"tokens_per_second", of_tokens},
    Part{"model_flops", of_model_flops},
    Part{"mfu", of_mfu<FlopsConvention::causal_halved>},
    Part{"hfu", of_hfu},
    Part{"mfu_6n", of_mfu<FlopsConvention::six_n>},
    Part{"mfu_palm", of_mfu<FlopsConvention::palm>},
    Part{"mfu_torchtitan", of_mfu<FlopsConvention::torchtitan>}};

std::string text_of(std::string_view name, const Line& line) {
  return explained(name, line.expression, line.result, line.where);
}

std::string of_term(const Evaluated& e, StepTerm term) {
  return text_of(step_term_names[static_cast<std::size_t>(term)], of_step_term(e, term));
}
std::string of_term(const Evaluated& e, MemoryTerm term) {
  return text_of(memory_term_names[static_cast<std::size_t>(term)], of_memory_term(e, term));
}

// The lines for one of explained_names(); absent if the name is an operation's or unknown.
std::optional<std::string> of_name(const Evaluated& e, std::string_view name) {
  if (const auto* at = std::ranges::find(step_term_names, name); at != step_term_names.end())
    return of_term(e, static_cast<StepTerm>(at - step_term_names.begin()));
  if (const auto* at = std::ranges::find(memory_term_names, name); at != memory_term_names.end())
    return of_term(e, static_cast<MemoryTerm>(at - memory_term_names.begin()));
  const auto* part = std::ranges::find(parts, name, &Part::name);
  if (part == parts.end()) return std::nullopt;
  return text_of(name, part->line(e));
}

void add_operation_line(const OperationRow& row, std::string_view what, const Formula& expression,
                        double seconds, std::vector<std::string>& lines) {
  std::string where = "of " + std::string(row.part);
  if (row.count > 1) where += ", " + std::to_string(row.count) + " layers";
  lines.push_back(text_of(std::string(row.operation.name) + " " + std::string(what),
                          {expression, in_seconds(seconds), std::move(where)}));
}

// One line for each call of a pass alone, and for the exposed rest of calls that can overlap.
void add_calls(const Evaluated& e, const OperationRow& row, Direction direction,
               std::vector<std::string>& lines) {
  const bool forward = direction == Direction::forward;
  const Pass& pass = forward ? row.operation.forward : row.operation.backward;
  const double whole = forward ? row.forward : row.backward;
  double left = whole;
  for (const Communication& c : pass.communications) {
    const auto& group = e.context.placements[static_cast<std::size_t>(c.dim)];
    if (!group) continue;
    const Formula calls = communication_seconds<Formula>(*e.context.network, c, *group);
    const double time = communication_seconds<double>(*e.context.network, c, *group);
    const std::string what = std::string(collective_kind_names[static_cast<std::size_t>(c.kind)]) +
                             " over " +
                             std::string(parallel_dim_names[static_cast<std::size_t>(c.dim)]) +
                             (forward ? " forward" : " backward");
    add_operation_line(row, what, calls, time, lines);
    if (!c.can_overlap) continue;
    const CallWindow open = call_window(c, e.plan, row.operation, direction, whole, left);
    if (open.share == 0) continue;
    const double lost = call_slowdown(e.context.compute, *e.context.network, c, time);
    left -= open.share * std::min(time, open.seconds);
    add_operation_line(row, "exposed " + what,
                       exposed_call(seconds<Formula>(time, "call"), open, lost),
                       exposed_call(time, open, lost), lines);
  }
}

// Lines of every operation with that name; of all operations if it is empty.
std::vector<std::string> of_operations(const Evaluated& e, std::string_view name) {
  std::vector<std::string> lines;
  for (const OperationRow& row : operation_rows(e.context, e.plan)) {
    if (!name.empty() && row.operation.name != name) continue;
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const bool forward = direction == Direction::forward;
      add_operation_line(
          row, forward ? "forward" : "backward",
          operation_formula(e.context.compute, row.operation, direction,
                            row.part.ends_with("head") && !e.plan.kernels.narrow_head),
          forward ? row.forward : row.backward, lines);
      add_calls(e, row, direction, lines);
    }
  }
  return lines;
}

template <class Answer>
auto evaluated(CostContext& context, const Plan& plan, Answer answer)
    -> decltype(answer(std::declval<const Evaluated&>())) {
  const Result<StepCost> cost = evaluate(context, plan);
  if (!cost) return cost.error();
  const Result<const DataEntry*> data = data_entry(context, plan);
  if (!data) return data.error();
  const Result<OffloadRates> offload = offload_rates(*context.machine, plan);
  if (!offload) return offload.error();
  return answer(Evaluated{context, plan, *cost, **data, *offload});
}

using Lines = Result<std::vector<std::string>>;

Lines unknown(const Evaluated& e, std::string_view name) {
  std::vector<std::string_view> names = explained_names();
  for (const OperationRow& row : operation_rows(e.context, e.plan)) {
    if (std::ranges::find(names, row.operation.name) == names.end())
      names.push_back(row.operation.name);
  }
  constexpr std::size_t longest = 80;  // of a text that is still printed
  return Error{.what = "there is no term \"" + std::string(name.substr(0, longest)) + "\"",
               .hint = "did you mean " + nearest_names(name, names) + "?"};
}

}  // namespace

std::vector<std::string_view> explained_names() {
  std::vector<std::string_view> names(step_term_names.begin(), step_term_names.end());
  names.insert(names.end(), memory_term_names.begin(), memory_term_names.end());
  for (const Part& part : parts) names.push_back(part.name);
  return names;
}

Lines explain(CostContext& context, const Plan& plan, std::string_view name) {
  return evaluated(context, plan, [name](const Evaluated& e) -> Lines {
    if (name.empty()) return unknown(e, name);
    auto lines = of_operations(e, name);  // some have a term's name
    if (name == step_term_names[static_cast<std::size_t>(StepTerm::bubble)] && e.plan.pp > 1)
      lines.insert(lines.begin(), *of_name(e, "equal_stages"));
    if (auto line = of_name(e, name)) lines.insert(lines.begin(), *std::move(line));
    if (lines.empty()) return unknown(e, name);
    return lines;
  });
}

Lines explain_all(CostContext& context, const Plan& plan) {
  return evaluated(context, plan, [](const Evaluated& e) -> Lines {
    std::vector<std::string> lines;
    for (const std::string_view name : explained_names()) lines.push_back(*of_name(e, name));
    for (std::string& line : of_operations(e, {})) lines.push_back(std::move(line));
    return lines;
  });
}

Result<std::string> explain(CostContext& context, const Plan& plan, StepTerm term) {
  return evaluated(context, plan,
                   [term](const Evaluated& e) -> Result<std::string> { return of_term(e, term); });
}

Result<std::string> explain(CostContext& context, const Plan& plan, MemoryTerm term) {
  return evaluated(context, plan,
                   [term](const Evaluated& e) -> Result<std::string> { return of_term(e, term); });
}

}  // namespace stepscope
