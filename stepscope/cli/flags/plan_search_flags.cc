// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/plan_search_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "stepscope/base/number_text.h"
#include "stepscope/cli/flags/traces_flags.h"
#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"

namespace stepscope {
namespace {

// What is not searched.
constexpr std::array<std::string_view, 41> kept_fields = {"sequence-degree",
                                                          "seq",
                                                          "images",
                                                          "image-patches",
                                                          "global-batch",
                                                          "attention",
                                                          "fused-pointwise",
                                                          "dtype",
                                                          "grad-dtype",
                                                          "accumulate-dtype",
                                                          "no-overlap",
                                                          "tp-overlap",
                                                          "prefetch",
                                                          "bucket",
                                                          "vocabulary-multiple",
                                                          "narrow-attention",
                                                          "narrow-head",
                                                          "fp8-rowwise",
                                                          "expert-tp",
                                                          "expert-dispatch",
                                                          "expert-load",
                                                          "narrow-dispatch",
                                                          "expert-sms",
                                                          "ep-overlap",
                                                          "cuda-graphs",
                                                          "grouped-experts",
                                                          "fused-experts",
                                                          "recompute-modules",
                                                          "narrow-swiglu",
                                                          "narrow-attention-output",
                                                          "moments-dtype",
                                                          "vendor-attention",
                                                          "compiled",
                                                          "fused-loss",
                                                          "loss-in-place",
                                                          "fused-gradient-sum",
                                                          "torch-buffers",
                                                          "lora-rank",
                                                          "lora-targets",
                                                          "freeze",
                                                          "freeze-layers"};

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

}  // namespace

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
  declare_fields(app, f.source, kept_fields);
  app.add_option("--fix", f.fix, "Only plans with these values: tp=8,zero=1")
      ->delimiter(',')
      ->type_name("NAME=VALUE,...")
      ->group(search);
  app.add_option("--max", f.most, "Only plans with at most these values: pp=16")
      ->delimiter(',')
      ->type_name("NAME=VALUE,...")
      ->group(search);
  app.add_option("--against", f.request.against,
                 "Plan of yours beside the best: tp=8,pp=16,zero=1 or a plan file")
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

std::string framework_name(const PlanFlags& flags) {
  const auto* framework =
      std::ranges::find(frameworks, flags.framework, [](const auto& f) { return f.first; });
  return std::string(framework == frameworks.end() ? "" : framework->second);
}

}  // namespace stepscope
