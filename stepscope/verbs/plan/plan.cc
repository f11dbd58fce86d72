// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/verbs/plan/plan_against.h"

namespace stepscope {
namespace {

using Limit = Result<Done> (*)(SearchRequest&, std::string_view, std::string_view);

Result<Done> restrict_to(SearchRequest& request, const std::vector<PlanSetting>& settings,
                         std::string_view flag, Limit limit_by) {
  for (const PlanSetting& setting : settings) {
    std::string key = setting.name;
    std::ranges::replace(key, '-', '_');
    if (const auto set = limit_by(request, key, setting.value); !set) {
      Error error = set.error();
      error.what = fmt::format("--{} {}={}: {}", flag, setting.name, setting.value, error.what);
      return error;
    }
  }
  return Done{};
}

Result<SearchRequest> search_request(const PlanRequest& asked, const Transformer& model,
                                     const Machine& machine, Messages& notes) {
  SearchRequest request;
  PlanSettings settings = asked.base;
  settings.gpus = asked.devices.front();
  const auto base = make_plan(settings, model, machine);
  if (!base) return base.error();
  notes = quoted(base->notes);
  request.base = base->plan;
  request.devices = asked.devices;
  request.memory_headroom = asked.memory_headroom;
  request.offload = asked.offload;
  request.top = asked.top;
  request.threads =
      asked.threads > 0 ? asked.threads : std::max(1U, std::thread::hardware_concurrency());
  if (const auto set = restrict_to(request, asked.fix, "fix", fix); !set) return set.error();
  if (const auto set = restrict_to(request, asked.most, "max", limit); !set) return set.error();
  return request;
}

// Why the values of --fix and --max leave no plan to search: that of the plan with the fixed values
// on the first number of devices; nothing where that plan can run.
std::optional<Error> why_none(const PlanRequest& asked, const PlanResult& result) {
  if (asked.fix.empty()) return std::nullopt;
  PlanSettings settings = asked.base;
  settings.gpus = asked.devices.front();
  std::string flags;
  for (const PlanSetting& s : asked.fix)
    flags += (flags.empty() ? "" : ",") + s.name + '=' + s.value;
  const auto of_fix = [&](Error error) {
    error.what = fmt::format("--fix {} leaves no plan of {} GPUs: {}", flags, asked.devices.front(),
                             error.what);
    return error;
  };
  const auto made = make_plan(settings, result.model, result.machine, asked.fix);
  if (!made) return of_fix(made.error());
  if (const auto can = check_plan(result.model, made->plan); !can) return of_fix(can.error());
  return std::nullopt;
}

// The plans of one's own, before anything is searched.
Result<std::vector<AgainstPlan>> own_plans(const PlanRequest& asked, const SearchRequest& request) {
  std::vector<AgainstPlan> plans;
  for (const std::string& text : asked.against) {
    auto own = plan_against(text, request.base, request.devices);
    if (!own) return own.error();
    plans.push_back({.label = text, .plan = std::move(*own)});
  }
  return plans;
}

void price(AgainstPlan& own, const PlanResult& result, const Network& network) {
  constexpr std::int64_t most_evaluations = 4'000'000;  // a few seconds
  const auto fail = [&own](const Error& error) { own.why_not = error.message(); };
  if (const auto can = check_plan(result.model, own.plan); !can) return fail(can.error());
  auto context = make_cost_context(result.model, result.machine, network, own.plan);
  if (!context) return fail(context.error());
  const auto cost = evaluate(*context, own.plan);
  if (!cost) return fail(cost.error());
  own.cost = *cost;
  const auto rank = rank_plan(result.model, result.machine, network, result.request,
                              {.step = cost->step().count(),
                               .devices = own.plan.devices,
                               .offload = result.found.offload_searched,
                               .most_evaluations = most_evaluations});
  if (rank) own.rank = *rank;  // else the search has failed with the same error
}

}  // namespace

Result<PlanResult> plan(const PlanRequest& request, const Progress& progress) {
  const bool machine_given = !request.machine.empty();
  if (request.model.empty())
    return *missing_settings(request.base, machine_given, nullptr, request.devices.empty());
  auto model = find_model(request.model);
  if (!model) return model.error();
  if (auto missing =
          missing_settings(request.base, machine_given, &*model, request.devices.empty()))
    return *std::move(missing);
  auto machine = machine_named(request.machine);
  if (!machine) return machine.error();
  const auto network = make_network(*machine, {.domain = domain_of(request.base)});
  if (!network) return network.error();
  PlanResult result{.model = std::move(*model), .machine = std::move(*machine)};
  auto search = search_request(request, result.model, result.machine, result.warnings);
  if (!search) return search.error();
  auto own = own_plans(request, *search);
  if (!own) return own.error();
  search->stop = progress.stop;
  if (progress.show)
    search->show = [&](std::int64_t devices, std::uint64_t done, std::uint64_t total) {
      progress.show(fmt::format("searching plans of {} GPUs", devices), done, total);
    };
  auto found = search_plans(result.model, result.machine, *network, *search);
  if (!found) return found.error();
  result.request = std::move(*search);
  result.found = std::move(*found);
  result.against = std::move(*own);
  if (result.found.best.empty() && result.found.candidates == 0 && !result.found.stopped)
    if (auto why = why_none(request, result)) return *std::move(why);
  for (AgainstPlan& one : result.against) price(one, result, *network);
  result.request.stop = nullptr;  // the caller's, who need not outlive the result
  result.request.show = nullptr;
  if (!result.found.best.empty()) {
    const Plan& best = result.found.best.front().plan;
    result.flags = {megatron_flags(result.model, best), deepspeed_flags(result.model, best),
                    torchtitan_flags(result.model, best)};
  }
  return result;
}

const FoundPlan* fastest_beside(const PlanResult& r, const AgainstPlan& own) {
  const auto& counts = r.found.by_devices;
  const auto same = std::ranges::find(counts, own.plan.devices,
                                      [](const FoundPlan& p) { return p.plan.devices; });
  if (same != counts.end()) return &*same;
  return r.found.best.empty() ? nullptr : &r.found.best.front();
}

double allowed_bytes(const PlanResult& r) {
  return static_cast<double>(r.machine.memory.value_or(Bytes{0}).value) *
         (1 - r.request.memory_headroom);
}

}  // namespace stepscope
