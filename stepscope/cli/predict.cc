// SPDX-License-Identifier: Apache-2.0
// `stepscope predict`: asks the cost model and hands its answers to the faces.
#include "stepscope/cli/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cost/explain/explain.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/search/search.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/predict_report.h"

namespace stepscope {
namespace {

// What the report refers to.
struct Prediction {
  Transformer model;
  Machine machine;
  Network network;
  PredictReport report;
  std::string explained{};  // what --explain asks for
};

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
    const DataVolume v = data_volume(plan, load.parameters, load.expert_parameters);
    most = std::max(most, v.reduced + v.averaged + v.gathered);
  }
  return most;
}

ComparedPlan compare(const PredictFlags& flags, const Prediction& p, const Variant& variant) {
  ComparedPlan compared{.label = variant.label, .plan = {}, .cost = {}};
  const auto fail = [&](const Error& error) {
    compared.why_not = error.what;
    return compared;
  };
  const auto made = make_plan(flags.source, p.model, p.machine, variant.settings);
  if (!made) return fail(made.error());
  compared.plan = made->plan;
  if (const auto checked = check_plan(p.model, made->plan); !checked) return fail(checked.error());
  auto context = make_cost_context(p.model, p.machine, p.network, made->plan);
  if (!context) return fail(context.error());
  const auto cost = evaluate(*context, made->plan);
  if (!cost) return fail(cost.error());
  compared.cost = *cost;
  compared.data_bytes = sent_to_data_ranks(context->stages, made->plan);
  compared.communicated_bytes = communicated(operation_rows(*context, made->plan), made->plan);
  return compared;
}

Result<Done> add_formulas(PredictReport& report, CostContext& context) {
  for (std::size_t t = 0; t < step_term_count; ++t) {
    auto text = explain(context, report.plan, static_cast<StepTerm>(t));
    if (!text) return text.error();
    report.formulas[t] = std::move(*text);
  }
  for (std::size_t t = 0; t < memory_term_count; ++t) {
    auto text = explain(context, report.plan, static_cast<MemoryTerm>(t));
    if (!text) return text.error();
    report.memory_formulas[t] = std::move(*text);
  }
  return Done{};
}

void add_flops(PredictReport& report, const CostContext& context) {
  const Plan& plan = report.plan;
  for (std::size_t c = 0; c < flops_convention_count; ++c)
    report.step_flops[c] = static_cast<double>(plan.global_batch) * context.sequence_flops[c];
  const double model = report.step_flops[0];
  report.hfu = report.cost.mfu[0] * (1 + recomputed_flops(context, plan).value / model);
  report.peak = context.compute.matmul.peak;
  report.memory_rate = context.compute.memory_rate;
}

// Figures that were taken from most machines make one remark together, which names a few.
void add_assumptions(std::vector<std::string>& warnings, const std::vector<std::string>& assumed) {
  constexpr std::string_view usual = ", as of most machines";
  constexpr std::size_t few = 3;
  std::vector<std::string> taken;
  for (const std::string& a : assumed) {
    if (a.ends_with(usual))
      taken.push_back(a.substr(0, a.size() - usual.size()));
    else
      warnings.push_back(a);
  }
  if (taken.empty()) return;
  const std::size_t more = taken.size() > few + 1 ? taken.size() - few : 0;
  taken.resize(taken.size() - more);
  warnings.push_back(fmt::format(
      "as of most machines: {}{}; to have this machine's, fit them to "
      "measured runs with bench/fit_compute (docs/reference/benchmarks.md)",
      fmt::join(taken, ", "), more > 0 ? fmt::format(" and {} more", more) : std::string()));
}

Result<Done> fill(PredictReport& report, CostContext& context) {
  const auto cost = evaluate(context, report.plan);
  if (!cost) return cost.error();
  report.cost = *cost;
  add_flops(report, context);
  report.operations = operation_rows(context, report.plan);
  add_assumptions(report.warnings, context.compute.assumptions);
  add_assumptions(report.warnings, context.network->assumptions);
  return add_formulas(report, context);
}

// What would fit: another plan on the same devices, else more of them.
void suggest_what_fits(Prediction& p) {
  PredictReport& report = p.report;
  if (!shortage(report.cost.memory, p.machine).any()) return;
  SearchRequest request;
  request.base = report.plan;
  request.devices = {report.plan.devices};
  request.memory_headroom = 0;
  const auto found = search_plans(p.model, p.machine, p.network, request);
  if (!found) return report.warnings.push_back(found.error().message());
  if (!found->best.empty())
    report.warnings.push_back(fmt::format("{} devices can hold it by another plan: {}",
                                          report.plan.devices,
                                          plan_in_words(found->best.front().plan)));
  else if (found->smallest_devices)
    report.warnings.push_back(fmt::format("no plan fits {} devices; {} would be enough",
                                          report.plan.devices, *found->smallest_devices));
}

// The formulas asked for, one a line.
Result<std::string> explained(CostContext& context, const Plan& plan,
                              const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const auto lines = name == "all" ? explain_all(context, plan) : explain(context, plan, name);
    if (!lines) return lines.error();
    for (const std::string& line : *lines) out += line + '\n';
  }
  return out;
}

Result<std::unique_ptr<Prediction>> predict(const PredictFlags& flags) {
  const PlanSource& source = flags.source;
  if (source.model.empty() || source.machine.empty())
    return Error{.what = source.model.empty() ? "the model is missing" : "the machine is missing",
                 .hint = "write stepscope predict MODEL --machine NAME --gpus N --global-batch N"};
  const auto variants = parse_variants(flags.compare);
  if (!variants) return variants.error();
  auto model = find_model(source.model);
  if (!model) return model.error();
  auto machine = machine_named(source.machine);
  if (!machine) return machine.error();
  auto network = make_network(*machine, {.domain = domain_of(source)});
  if (!network) return network.error();
  auto p = std::make_unique<Prediction>(
      Prediction{std::move(*model), std::move(*machine), std::move(*network), {}, {}});
  const auto made = make_plan(source, p->model, p->machine,
                              variants->empty() ? std::vector<std::pair<std::string, std::string>>{}
                                                : variants->front().settings);
  if (!made) return made.error();
  if (const auto checked = check_plan(p->model, made->plan); !checked) return checked.error();
  PredictReport& report = p->report;
  report.version = STEPSCOPE_VERSION;
  report.model = &p->model;
  report.machine = &p->machine;
  report.plan = made->plan;
  report.parameters = parameter_count(p->model);
  report.warnings = made->notes;
  report.warnings.insert(report.warnings.end(), p->model.notes.begin(), p->model.notes.end());
  if (flags.price_per_gpu_hour > 0) report.price_per_gpu_hour = flags.price_per_gpu_hour;
  auto context = make_cost_context(p->model, p->machine, p->network, made->plan);
  if (!context) return context.error();
  if (const auto filled = fill(report, *context); !filled) return filled.error();
  auto formulas = explained(*context, made->plan, flags.explain);
  if (!formulas) return formulas.error();
  p->explained = std::move(*formulas);
  suggest_what_fits(*p);
  for (const Variant& v : *variants) report.comparison.push_back(compare(flags, *p, v));
  return p;
}

void write_outputs(const PredictFlags& flags, const PredictReport& report, Failures& failures) {
  if (!flags.json.empty() || !flags.html.empty()) {
    const std::string json = json_text(predict_tree(report));
    write_json_text(flags.json, json, failures);
    if (!flags.html.empty()) failures.keep(write_file(flags.html, render_html(json)));
  }
  if (!flags.csv.empty()) write_tables(flags.csv, predict_csv(report), failures);
}

int answer(const PredictFlags& flags) {
  const auto prediction = predict(flags);
  if (!prediction) return refused(prediction.error());
  const PredictReport& report = (*prediction)->report;
  Failures failures;
  if (flags.json != "-")
    print_text(!flags.explain.empty() ? (*prediction)->explained
                                      : predict_text(report, {.text = {.width = terminal_width(),
                                                                       .colour = wants_colour(),
                                                                       .details = flags.html},
                                                              .layers = flags.layers}));
  write_outputs(flags, report, failures);
  flush_output(failures);
  const std::string lacks = words_of(shortage(report.cost.memory, *report.machine));
  if (!lacks.empty())
    failures.add({.what = "the plan does not fit: " + lacks,
                  .hint = "stepscope plan searches for one that does"});
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_predict(CLI::App& app) {
  auto flags = std::make_shared<PredictFlags>();
  declare(app, *flags);
  return
      [flags] { return flags->collective.empty() ? answer(*flags) : predict_collective(*flags); };
}

}  // namespace stepscope
