// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/plan/plan_against.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

using Settings = std::vector<PlanSetting>;

Error in_flag(const std::string& text, Error error) {
  error.what = fmt::format("--against {}: {}", text.substr(0, 120), error.what);
  return error;
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// No setting begins it: a path then.
bool is_path(std::string_view text) {
  const std::string_view first = text.substr(0, std::min(text.find(','), text.size()));
  return !without_spaces(text).empty() && text.find('=') == std::string_view::npos &&
         find_plan_field(without_spaces(first)) == nullptr;
}

// Whether "gradients=host" of "offload=optimizer=host,gradients=host" belongs to what is before it.
bool continues(const Settings& settings, std::string_view part) {
  if (settings.empty()) return false;
  if (part.find('=') == std::string_view::npos) return true;
  return find_plan_field(settings.back().name) == find_plan_field("offload");
}

// A product beyond all counts stays one, and check_plan refuses it.
std::int64_t product(std::initializer_list<std::int64_t> degrees) {
  constexpr double max_product = 1e15;
  double all = 1;
  for (const std::int64_t n : degrees) all = std::min(all * static_cast<double>(n), max_product);
  return static_cast<std::int64_t>(all);
}

Result<Plan> from_settings(const std::string& text, const Plan& base,
                           std::span<const std::int64_t> counts) {
  const auto settings = parse_settings(text);
  if (!settings) return settings.error();
  Plan plan = base;
  plan.dp = 0;
  for (const auto& [name, value] : *settings)
    if (const auto set = set_plan_field(plan, name, value); !set) return set.error();
  const std::int64_t model_ranks = product({tensor_ranks(plan), plan.cp, plan.pp});
  plan.devices = plan.dp > 0 && counts.size() > 1 ? product({model_ranks, plan.dp}) : counts.back();
  if (plan.dp == 0) plan.dp = std::max<std::int64_t>(1, plan.devices / model_ranks);
  return plan;
}

}  // namespace

Result<Settings> parse_settings(std::string_view text) {
  Settings settings;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = without_spaces(text.substr(at, end - at));
    at = end + 1;
    const std::size_t is = std::min(part.find('='), part.size());
    const PlanField* field = find_plan_field(part.substr(0, is));
    const bool assigns = is < part.size();
    if (field != nullptr && !assigns && field->value.empty())
      settings.push_back({std::string(part), "true"});
    else if ((field == nullptr || !assigns) && continues(settings, part))
      settings.back().value.append(",").append(part);
    else if (assigns)
      settings.push_back({std::string(part.substr(0, is)),
                          std::string(part.substr(is + 1))});  // no field: refused later
    else
      return Error{.what = fmt::format("\"{}\" is no setting", part.substr(0, 80)),
                   .hint = "write tp=8,pp=16, or the path of a plan file"};
  }
  return settings;
}

Result<Plan> plan_against(const std::string& text, const Plan& base,
                          std::span<const std::int64_t> counts) {
  const bool file = is_path(text);
  auto plan = file ? read_plan(text) : from_settings(text, base, counts);
  if (!plan) return file ? plan.error() : in_flag(text, plan.error());
  if (plan->batch.global != base.batch.global || plan->batch.sequence != base.batch.sequence)
    return in_flag(text, {.what = fmt::format("it trains {} × {} tokens a step, the search {} × {}",
                                              plan->batch.global, plan->batch.sequence,
                                              base.batch.global, base.batch.sequence),
                          .hint = "give --global-batch and --seq that both share"});
  if (plan->devices < counts.front() || plan->devices > counts.back())
    return in_flag(
        text, {.what = fmt::format(
                   "it runs on {} devices, the search is for {}{}", plan->devices, counts.front(),
                   counts.size() > 1 ? fmt::format(" to {}", counts.back()) : std::string()),
               .hint = "give --gpus that both share"});
  return plan;
}

}  // namespace stepscope
