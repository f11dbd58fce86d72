// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/plan_field_flags.h"

#include <algorithm>

#include "stepscope/cost/plan/plan_fields.h"

namespace stepscope {

void declare_plan_fields(CLI::App& app, PlanFieldTexts& texts,
                         std::span<const std::string_view> elsewhere) {
  const auto fields = plan_fields();
  texts.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (std::ranges::find(elsewhere, fields[i].name) != elsewhere.end()) continue;
    const std::string flag = "--" + std::string(fields[i].name);
    if (fields[i].value.empty())
      app.add_flag(flag + "{true}", texts[i], std::string(fields[i].what))->group("Plan");
    else
      app.add_option(flag, texts[i], std::string(fields[i].what))
          ->type_name(std::string(fields[i].value))
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
          ->group("Plan");
  }
}

std::vector<PlanSetting> settings_of(const PlanFieldTexts& texts) {
  std::vector<PlanSetting> settings;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].empty()) settings.push_back({std::string(plan_fields()[i].name), texts[i]});
  return settings;
}

}  // namespace stepscope
