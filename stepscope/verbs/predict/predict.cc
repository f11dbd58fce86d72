// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "stepscope/cost/explain/explain.h"
#include "stepscope/cost/layer/recomputed_flops.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/search/search.h"

namespace stepscope {
namespace {

// One plan of a comparison: "zero=1 recompute=full" and what it sets.
struct Variant {
  std::string label;
  std::vector<PlanSetting> settings;
};

// The product of the axes; empty without axes.
Result<std::vector<Variant>> variants_of(const std::vector<PlanAxis>& axes) {
  constexpr std::size_t max_plans = 256;
  std::vector<Variant> variants = {{}};
  for (const PlanAxis& axis : axes) {
    Plan scratch;
    std::vector<Variant> product;
    for (const Variant& before : variants)
      for (const std::string& value : axis.values) {
        if (const auto set = set_plan_field(scratch, axis.name, value); !set) {
          Error error = set.error();
          error.what =
              fmt::format("--vary {}={}: {}", axis.name, fmt::join(axis.values, ","), error.what);
          return error;
        }
        Variant v = before;
        v.label += fmt::format("{}{}={}", v.label.empty() ? "" : " ", axis.name, value);
        v.settings.push_back({axis.name, value});
        product.push_back(std::move(v));
      }
    if (product.size() > max_plans)
      return Error{.what = fmt::format("--vary asks for more than {} plans", max_plans),
                   .hint = "compare fewer values, or let stepscope plan search"};
    variants = std::move(product);
  }
  if (axes.empty()) variants.clear();
  return variants;
}

// Bytes that a device sends within layers in a step: whole buffers.
double communicated(const std::vector<OperationRow>& rows, const Plan& plan) {
  double sum = 0;
  for (const OperationRow& row : rows)
    sum += static_cast<double>(row.count) *
           (communicated_bytes(row.operation.forward) + communicated_bytes(row.operation.backward));
  return sum * static_cast<double>(micro_batches(plan)) / static_cast<double>(plan.pp);
}

// Bytes that the busiest device of the pipeline sends to data-parallel ranks in a step.
double sent_to_data_ranks(const Stages& stages, const Plan& plan) {
  double most = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(plan.pp); ++d) {
    const StageLoad load = stage_load(stages, plan, d);
    const DataVolume v = data_volume(
        plan, {load.parameters, load.expert_parameters, load.trained, load.trained_experts});
    most = std::max(most, v.reduced + v.averaged + v.gathered);
  }
  return most;
}

ComparedPlan compare(const PredictRequest& request, const PredictResult& result,
                     const Network& network, const Variant& variant) {
  ComparedPlan compared{.label = variant.label, .values = {}, .plan = {}, .cost = {}};
  for (const PlanSetting& setting : variant.settings) compared.values.push_back(setting.value);
  const auto fail = [&](const Error& error) {
    compared.why_not = error.what;
    return compared;
  };
  const auto made = make_plan(request.plan, result.model, result.machine, variant.settings);
  if (!made) return fail(made.error());
  compared.plan = made->plan;
  if (const auto checked = check_plan(result.model, made->plan); !checked)
    return fail(checked.error());
  auto context = make_cost_context(result.model, result.machine, network, made->plan);
  if (!context) return fail(context.error());
  const auto cost = evaluate(*context, made->plan);
  if (!cost) return fail(cost.error());
  compared.cost = *cost;
  compared.data_bytes = sent_to_data_ranks(context->stages, made->plan);
  compared.communicated_bytes = communicated(operation_rows(*context, made->plan), made->plan);
  return compared;
}

Result<Done> add_formulas(PredictResult& result, CostContext& context) {
  for (std::size_t t = 0; t < step_term_count; ++t) {
    auto text = explain(context, result.plan, static_cast<StepTerm>(t));
    if (!text) return text.error();
    result.formulas[t] = std::move(*text);
  }
  for (std::size_t t = 0; t < memory_term_count; ++t) {
    auto text = explain(context, result.plan, static_cast<MemoryTerm>(t));
    if (!text) return text.error();
    result.memory_formulas[t] = std::move(*text);
  }
  return Done{};
}

void add_flops(PredictResult& result, const CostContext& context) {
  const Plan& plan = result.plan;
  for (std::size_t c = 0; c < flops_convention_count; ++c)
    result.step_flops[c] = static_cast<double>(plan.batch.global) * context.sequence_flops[c];
  const double model = result.step_flops[0];
  result.hfu = result.cost.mfu[0] *
               (1 + recomputed_flops(*context.model, plan, context.stages.layers).value / model);
  result.peak = context.compute.matmul.peak;
  result.memory_rate = context.compute.memory_rate;
}

// Figures that were taken from most machines make one remark together, which names a few.
void add_assumptions(const CostContext& context, Messages& warnings) {
  constexpr std::size_t few = 3;
  std::vector<std::string> taken;
  for (const TakenValue& value : context.compute.assumptions) {
    if (value.from.empty())
      taken.push_back(value.taken());
    else
      warnings.push_back(msg::plain(value.text()));
  }
  if (!taken.empty()) {
    const std::size_t more = taken.size() > few + 1 ? taken.size() - few : 0;
    taken.resize(taken.size() - more);
    warnings.push_back(msg::as_of_most_machines(taken, value_if(more > 0, more)));
  }
  append(warnings, quoted(context.network->assumptions));
}

Result<Done> fill(PredictResult& result, CostContext& context) {
  const auto cost = evaluate(context, result.plan);
  if (!cost) return cost.error();
  result.cost = *cost;
  result.equal_stages = equal_stages(context, result.plan);
  if (result.equal_stages)
    if (const auto formula = equal_bubble_formula(result.plan))
      result.equal_bubble = formula->figures().text;
  add_flops(result, context);
  result.operations = operation_rows(context, result.plan);
  add_assumptions(context, result.warnings);
  return add_formulas(result, context);
}

// What would fit: another plan on the same devices, else more of them.
std::optional<FittingPlan> fitting_plan(const PredictResult& r, const Network& network,
                                        const Progress& progress) {
  if (!shortage(r.cost.memory, r.machine).any()) return std::nullopt;
  SearchRequest request;
  request.base = r.plan;
  request.devices = {r.plan.devices};
  request.memory_headroom = 0;
  request.threads = std::max(1U, std::thread::hardware_concurrency());
  request.stop = progress.stop;
  const auto found = find_fitting(r.model, r.machine, network, request);
  if (!found) return FittingPlan{.why_not = found.error()};
  return FittingPlan{.plan = found->plan, .smallest_devices = found->devices};
}

// The formulas asked for, one a line.
Result<std::string> explained(CostContext& context, const Plan& plan,
                              const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    auto lines = name == "all" ? explain_all(context, plan) : explain(context, plan, name);
    // A row of a text's tables, by its name there.
    if (const auto ours = operation_of_row(name); !lines && !ours.empty())
      lines = explain(context, plan, ours);
    if (!lines) return lines.error();
    for (const std::string& line : *lines) out += line + '\n';
  }
  return out;
}

Error unknown_conventions(std::string_view name) {
  std::vector<std::string_view> names;
  for (const LayerConventions& c : layer_conventions()) names.push_back(c.name);
  return {.what = fmt::format("the conventions \"{}\" are unknown", name),
          .hint = fmt::format("write {}", fmt::join(names, " or "))};
}

}  // namespace

Result<PredictResult> predict(const PredictRequest& request, const Progress& progress) {
  if (request.model.empty())
    return *missing_settings(request.plan, !request.machine.empty(), nullptr);
  const LayerConventions* conventions = find_layer_conventions(request.conventions);
  if (conventions == nullptr) return unknown_conventions(request.conventions);
  const auto variants = variants_of(request.compare);
  if (!variants) return variants.error();
  auto model = find_model(request.model);
  if (!model) return model.error();
  const std::vector<PlanSetting> first =
      variants->empty() ? std::vector<PlanSetting>{} : variants->front().settings;
  if (request.machine.empty()) return *missing_settings(request.plan, false, &*model, true, first);
  auto machine = machine_named(request.machine);
  if (!machine) return machine.error();
  const auto network = make_network(*machine, {.domain = domain_of(request.plan)});
  if (!network) return network.error();
  PredictResult result{.model = std::move(*model), .machine = std::move(*machine)};
  const auto made = make_plan(request.plan, result.model, result.machine, first);
  if (!made) return made.error();
  if (const auto checked = check_plan(result.model, made->plan); !checked)
    return with_plan_file(request.plan, result.model, checked.error());
  result.plan = made->plan;
  result.parameters = parameter_count(result.model);
  result.trained_parameters = trained_parameters(result.model, result.plan.trained);
  result.warnings = quoted(made->notes);
  append(result.warnings, quoted(result.model.notes));
  result.price_per_gpu_hour = request.price_per_gpu_hour;
  auto context = make_cost_context(result.model, result.machine, *network, result.plan);
  if (!context) return context.error();
  if (const auto filled = fill(result, *context); !filled) return filled.error();
  result.conventions = conventions;
  if (conventions != layer_conventions().data())
    result.layer_tables = layer_tables(*context, result.plan, *conventions);
  auto formulas = explained(*context, result.plan, request.explain);
  if (!formulas) return formulas.error();
  result.explained = std::move(*formulas);
  result.fitting = fitting_plan(result, *network, progress);
  if (progress.stopped()) return interrupted();
  for (const PlanAxis& axis : request.compare) result.axes.push_back(axis.name);
  for (const Variant& v : *variants)
    result.comparison.push_back(compare(request, result, *network, v));
  return result;
}

}  // namespace stepscope
