// SPDX-License-Identifier: Apache-2.0
// `stepscope plan`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/number_text.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/verbs/inputs/plan_source.h"
#include "stepscope/verbs/inputs/traces_flags.h"
#include "stepscope/verbs/plan/plan.h"
#include "stepscope/verbs/plan/plan_views.h"

namespace stepscope {

namespace {

struct PlanFlags {
  PlanSource source;
  std::string gpus;  // "512" or "64:512"
  std::vector<std::string> fix;
  std::vector<std::string> most;
  PlanRequest request;  // what the others say, once they are understood
  std::string framework;
  OutputPaths out;
};

// Fields without a flag here: the search chooses them, or does not take them.
constexpr std::array<std::string_view, 22> not_taken = {"tp",
                                                        "tensor-layout",
                                                        "tp-rows",
                                                        "tp-columns",
                                                        "tp-depth",
                                                        "sequence-parallel",
                                                        "cp",
                                                        "context-exchange",
                                                        "ep",
                                                        "pp",
                                                        "schedule",
                                                        "virtual-stages",
                                                        "stage-layers",
                                                        "dp",
                                                        "zero",
                                                        "shard-group",
                                                        "micro-batch",
                                                        "reduce-each-micro-batch",
                                                        "recompute",
                                                        "offload",
                                                        "gather-singly",
                                                        "secondary-group"};

// As typed, and as its flags are named.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> frameworks = {
    {{"megatron", "Megatron-LM"}, {"deepspeed", "DeepSpeed"}, {"torchtitan", "torchtitan"}}};

Result<std::vector<std::int64_t>> devices_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto number = [](std::string_view t) {
    const auto n = number_of<std::int64_t>(t);
    return n && *n > 0 && *n <= 10'000'000 ? n : std::nullopt;
  };
  const std::string_view all = text;
  const auto from = number(all.substr(0, colon));
  const auto to = colon == std::string::npos ? from : number(all.substr(colon + 1));
  if (!from || !to || *from > *to)
    return Error{.what = "--gpus " + text + " is no number of devices",
                 .hint = "write --gpus 512 or --gpus 64:512"};
  return device_range(*from, *to);
}

Result<std::vector<PlanSetting>> settings_in(const std::vector<std::string>& texts,
                                             std::string_view flag) {
  std::vector<PlanSetting> settings;
  for (const std::string& text : texts) {
    const std::size_t is = text.find('=');
    if (is == std::string::npos)
      return Error{.what = fmt::format("--{} {} is no setting", flag, text), .hint = "write tp=8"};
    settings.push_back({text.substr(0, is), text.substr(is + 1)});
  }
  return settings;
}

void declare(CLI::App& app, PlanFlags& f) {
  const char* search = "Search";
  app.description(
      "Searches the fastest way to run a model on a number of GPUs among all ways to divide its "
      "work. Says why it wins, what else was near, and how far a plan of yours is from it.");
  declare_model_and_machine(app, f.source);
  app.add_option("--gpus", f.gpus, "Devices in all, or a range that is doubled through")
      ->type_name("N|A:B")
      ->group("Machine");
  declare_gpus_per_node(app, f.source);
  declare_fields(app, f.source, not_taken);
  app.add_option("--fix", f.fix, "Only plans with these values: tp=8,zero=1")
      ->delimiter(',')
      ->type_name("NAME=VALUE,...")
      ->group(search);
  app.add_option("--max", f.most, "Only plans with at most these values: pp=16")
      ->delimiter(',')
      ->type_name("NAME=VALUE,...")
      ->group(search);
  app.add_option("--against", f.request.against,
                 "Plan of yours to compare with the best: tp=8,pp=16,zero=1 or a plan file")
      ->type_name("NAME=VALUE,...|FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(search);
  as_share(app.add_option("--memory-headroom", f.request.memory_headroom,
                          "Share of the memory that stays free"),
           0, 0.95)
      ->group(search);
  app.add_flag("--search-offload,--offload", f.request.offload,
               "Search states in host memory and on NVMe too")
      ->group(search);
  declare_threads(app, f.request.threads, search);
  as_count(app.add_option("--top", f.request.top, "Plans to show"), 1, 1000)->group("Outputs");
  as_choice(app.add_option("--flags", f.framework, "Show the best plan as flags of a framework"),
            {"megatron", "deepspeed", "torchtitan"})
      ->group("Outputs");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  declare_csv(app, f.out.csv);
  mark_common(app, {"--machine", "--gpus", "--seq", "--global-batch", "--fix", "--max", "--against",
                    "--top", "--json", "--html"});
  app.footer(
      "stepscope plan gpt3-175b --machine a100_sxm_80gb --gpus 1024 --global-batch 1536 "
      "--against tp=8,pp=16,schedule=interleaved,virtual-stages=3");
}

// As understood. The errors say what is wrong and what to write.
Result<PlanRequest> plan_request(const PlanFlags& flags) {
  PlanRequest request = flags.request;
  request.model = flags.source.model;
  request.machine = flags.source.machine;
  request.base = settings_of(flags.source);
  if (!flags.gpus.empty()) {
    auto devices = devices_of(flags.gpus);
    if (!devices) return devices.error();
    request.devices = std::move(*devices);
  }
  auto fixed = settings_in(flags.fix, "fix");
  if (!fixed) return fixed.error();
  request.fix = std::move(*fixed);
  auto most = settings_in(flags.most, "max");
  if (!most) return most.error();
  request.most = std::move(*most);
  return request;
}

// The name of the framework whose flags are asked for ("Megatron-LM"); empty: none.
std::string framework_name(const PlanFlags& flags) {
  const auto* framework =
      std::ranges::find(frameworks, flags.framework, [](const auto& f) { return f.first; });
  return std::string(framework == frameworks.end() ? "" : framework->second);
}

Error nothing_fits(const SearchResult& result) {
  return {.what = "no plan can run on the devices of --gpus",
          .hint = result.smallest_devices
                      ? fmt::format("give --gpus {}, where one fits", *result.smallest_devices)
                  : result.candidates == 0
                      ? "no way to divide the work keeps to --fix and --max: change them"
                      : "see what was rejected, and change the model or the limits"};
}

Result<Answer> answer(const PlanFlags& flags, const Progress& progress) {
  const auto request = plan_request(flags);
  if (!request) return wrong_request(request.error());
  auto found = plan(*request, progress);
  if (!found) return found.error();
  const auto result = std::make_shared<const PlanResult>(std::move(*found));
  return Answer{.tree = [result] { return plan_tree(*result); },
                .text =
                    [result, framework = framework_name(flags)](const TextOptions& options) {
                      return plan_text(*result, {.text = options, .framework = framework});
                    },
                .tables = plan_tables,
                .page = page_of_tree,
                .exit = result->found.stopped ? exit_interrupted : exit_done,
                .lacking = result->found.best.empty() && !result->found.stopped
                               ? std::optional(nothing_fits(result->found))
                               : std::nullopt};
}

VerbRun declare_plan(CLI::App& app) { return declare_answering<PlanFlags>(app, answer); }

}  // namespace

extern const Verb plan_verb{"plan", "Search the fastest way to run a model on a number of GPUs",
                            "Plan ahead", "how-to/search-a-plan.md", declare_plan};

}  // namespace stepscope
