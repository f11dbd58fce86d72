// SPDX-License-Identifier: Apache-2.0
// A flag for each field of a plan.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/pipeline/plan_settings.h"

namespace stepscope {

// One text for each of plan_fields(); empty: not given.
using PlanFieldTexts = std::vector<std::string>;

// Flags for all fields but those of `elsewhere`; `app` must not outlive `texts`.
void declare_plan_fields(CLI::App& app, PlanFieldTexts& texts,
                         std::span<const std::string_view> elsewhere = {});
[[nodiscard]] std::vector<PlanSetting> settings_of(const PlanFieldTexts& texts);

}  // namespace stepscope
