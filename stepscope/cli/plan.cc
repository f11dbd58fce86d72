// SPDX-License-Identifier: Apache-2.0
// `stepscope plan`: asks the search and hands its answer to the faces.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <thread>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/plan_against.h"
#include "stepscope/cli/plan_source.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/plan_report.h"

namespace stepscope {
namespace {

struct PlanFlags {
  PlanSource source;
  std::string gpus;  // "512" or "64:512"
  std::vector<std::string> fix;
  std::vector<std::string> most;
  std::vector<std::string> against;
  double memory_headroom = 0.1;
  bool offload = false;
  std::size_t top = 10;
  unsigned threads = 0;
  std::string framework;
  std::string json;
  std::string html;
  std::string csv;
};

// What is not searched.
constexpr std::array<std::string_view, 12> kept_fields = {
    "seq",        "global-batch", "attention",        "fused-pointwise",
    "dtype",      "grad-dtype",   "accumulate-dtype", "no-overlap",
    "tp-overlap", "prefetch",     "bucket-mb",        "vocabulary-multiple"};

struct Framework {
  const char* name;
  FrameworkFlags (*print)(const Transformer&, const Plan&);
};
constexpr std::array<Framework, 3> frameworks = {{{"megatron", megatron_flags},
                                                  {"deepspeed", deepspeed_flags},
                                                  {"torchtitan", torchtitan_flags}}};

void declare(CLI::App& app, PlanFlags& f) {
  declare_model_and_machine(app, f.source);
  app.add_option("--gpus", f.gpus, "Devices in all, or a range that is doubled through")
      ->type_name("N|A:B");
  app.add_option("--gpus-per-node", f.source.gpus_per_node, "Devices that share the fast links")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  declare_fields(app, f.source, kept_fields);
  app.add_option("--fix", f.fix, "Only plans with these: tp=8,zero=1")
      ->delimiter(',')
      ->type_name("NAME=VALUE,...");
  app.add_option("--max", f.most, "Only plans with at most these: pp=16")
      ->delimiter(',')
      ->type_name("NAME=VALUE,...");
  app.add_option("--against", f.against,
                 "A plan of yours beside the best: tp=8,pp=16,zero=1 or a plan file (repeatable)")
      ->type_name("NAME=VALUE,...|FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--memory-headroom", f.memory_headroom,
                 "Share of the memory that stays free (default 0.1)")
      ->check(CLI::Range(0.0, 0.95))
      ->type_name("SHARE");
  app.add_flag("--offload", f.offload, "Search states in host memory and on NVMe too");
  app.add_option("--top", f.top, "How many plans to show (default 10)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  app.add_option("--flags", f.framework, "The best plan for megatron, deepspeed or torchtitan")
      ->check(CLI::IsMember({"megatron", "deepspeed", "torchtitan"}))
      ->type_name("FRAMEWORK");
  app.add_option("--threads", f.threads, "Threads to use (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--json", f.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.html, "Write one self-contained page")->type_name("FILE");
  app.add_option("--csv", f.csv, "Write the tables as CSV files into this directory")
      ->type_name("DIR");
  app.footer(
      "Example: stepscope plan gpt3-175b --machine a100_sxm_80gb --gpus 1024 --global-batch 1536 "
      "--against tp=8,pp=16,schedule=interleaved,virtual-stages=3");
}

Result<std::vector<std::int64_t>> devices_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto number = [](std::string_view t) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), n);
    return error == std::errc{} && end == t.data() + t.size() && n > 0 && n <= 10'000'000
               ? std::optional(n)
               : std::nullopt;
  };
  const std::string_view all = text;
  const auto from = number(all.substr(0, colon));
  const auto to = colon == std::string::npos ? from : number(all.substr(colon + 1));
  if (!from || !to || *from > *to)
    return Error{.what = text.empty() ? "the number of GPUs is missing"
                                      : "--gpus " + text + " is no number of devices",
                 .hint = "write --gpus 512 or --gpus 64:512"};
  return device_range(*from, *to);
}

using Limit = Result<Done> (*)(SearchRequest&, std::string_view, std::string_view);

Result<Done> apply(SearchRequest& request, const std::vector<std::string>& settings,
                   std::string_view flag, Limit limit_by) {
  for (const std::string& setting : settings) {
    const std::size_t is = setting.find('=');
    if (is == std::string::npos)
      return Error{.what = fmt::format("--{} {} is no setting", flag, setting),
                   .hint = "write tp=8"};
    std::string key = setting.substr(0, is);
    for (char& c : key)
      if (c == '-') c = '_';
    if (const auto set = limit_by(request, key, std::string_view(setting).substr(is + 1)); !set) {
      Error error = set.error();
      error.what = fmt::format("--{} {}: {}", flag, setting, error.what);
      return error;
    }
  }
  return Done{};
}

Result<SearchRequest> request_of(const PlanFlags& flags, const Transformer& model,
                                 const Machine& machine, std::vector<std::string>& notes) {
  SearchRequest request;
  auto devices = devices_of(flags.gpus);
  if (!devices) return devices.error();
  PlanSource source = flags.source;
  source.gpus = devices->front();
  const auto base = make_plan(source, model, machine);
  if (!base) return base.error();
  notes = base->notes;
  request.base = base->plan;
  request.devices = std::move(*devices);
  request.memory_headroom = flags.memory_headroom;
  request.offload = flags.offload;
  request.top = flags.top;
  request.threads =
      flags.threads > 0 ? flags.threads : std::max(1U, std::thread::hardware_concurrency());
  if (const auto set = apply(request, flags.fix, "fix", fix); !set) return set.error();
  if (const auto set = apply(request, flags.most, "max", limit); !set) return set.error();
  return request;
}

// The plans of --against, before anything is searched.
Result<std::vector<AgainstPlan>> own_plans(const PlanFlags& flags, const SearchRequest& request) {
  std::vector<AgainstPlan> plans;
  for (const std::string& text : flags.against) {
    auto plan = plan_against(text, request.base, request.devices);
    if (!plan) return plan.error();
    plans.push_back({.label = text, .plan = std::move(*plan)});
  }
  return plans;
}

void price(AgainstPlan& own, const PlanReport& report, const Network& network) {
  constexpr std::int64_t most_evaluations = 4'000'000;  // a few seconds
  const auto fail = [&own](const Error& error) { own.why_not = error.message(); };
  if (const auto can = check_plan(*report.model, own.plan); !can) return fail(can.error());
  auto context = make_cost_context(*report.model, *report.machine, network, own.plan);
  if (!context) return fail(context.error());
  const auto cost = evaluate(*context, own.plan);
  if (!cost) return fail(cost.error());
  own.cost = *cost;
  const auto rank = rank_plan(*report.model, *report.machine, network, report.request,
                              {.step = cost->step().count(),
                               .devices = own.plan.devices,
                               .offload = report.result.offload_searched,
                               .most_evaluations = most_evaluations});
  if (rank) own.rank = *rank;  // else the search has failed with the same error
}

void add_framework_flags(const PlanFlags& flags, PlanReport& report) {
  if (report.result.best.empty()) return;
  const Plan& best = report.result.best.front().plan;
  for (const Framework& f : frameworks) {
    report.flags.push_back(f.print(*report.model, best));
    if (f.name == flags.framework) report.framework = report.flags.back().framework;
  }
}

void write_outputs(const PlanFlags& flags, const PlanReport& report, Failures& failures) {
  if (!flags.json.empty() || !flags.html.empty()) {
    const std::string json = json_text(plan_tree(report));
    write_json_text(flags.json, json, failures);
    if (!flags.html.empty()) failures.keep(write_file(flags.html, render_html(json)));
  }
  if (!flags.csv.empty()) write_tables(flags.csv, plan_csv(report), failures);
}

Error nothing_fits(const SearchResult& result) {
  return {.what = "no plan can run",
          .hint = result.smallest_devices
                      ? fmt::format("{} devices would be enough", *result.smallest_devices)
                      : "see what was rejected and why"};
}

int answer(const PlanFlags& flags) {
  const PlanSource& source = flags.source;
  if (source.model.empty() || source.machine.empty())
    return refused(
        {.what = source.model.empty() ? "the model is missing" : "the machine is missing",
         .hint = "write stepscope plan MODEL --machine NAME --gpus N --global-batch N"});
  const auto model = find_model(source.model);
  if (!model) return refused(model.error());
  const auto machine = machine_named(source.machine);
  if (!machine) return refused(machine.error());
  const auto network = make_network(*machine, {.domain = domain_of(source)});
  if (!network) return refused(network.error());
  PlanReport report;
  auto request = request_of(flags, *model, *machine, report.warnings);
  if (!request) return refused(request.error());
  auto own = own_plans(flags, *request);
  if (!own) return refused(own.error());
  request->stop = &stop_on_signals();
  auto found = search_plans(*model, *machine, *network, *request);
  if (!found) return refused(found.error());
  report.version = STEPSCOPE_VERSION;
  report.model = &*model;
  report.machine = &*machine;
  report.request = std::move(*request);
  report.result = std::move(*found);
  report.against = std::move(*own);
  for (AgainstPlan& plan : report.against) price(plan, report, *network);
  add_framework_flags(flags, report);
  Failures failures;
  if (flags.json != "-")
    print_text(plan_text(
        report, {.width = terminal_width(), .colour = wants_colour(), .details = flags.html}));
  write_outputs(flags, report, failures);
  flush_output(failures);
  if (report.result.stopped) return exit_interrupted;
  if (report.result.best.empty()) failures.add(nothing_fits(report.result));
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
