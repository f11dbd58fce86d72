// SPDX-License-Identifier: Apache-2.0
// A plan of the user's own, in one text: settings of plan_fields(), or the path of a plan file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/verbs/inputs/plan_settings.h"

namespace stepscope {

// "tp=8,pp=16,sequence-parallel,stage-layers=10,12,10": names of plan_fields() with their values; a
// switch may stand alone, and what names no field belongs to the value before it.
[[nodiscard]] Result<std::vector<PlanSetting>> parse_settings(std::string_view text);

// Without a setting a plan file. Settings change `base`, whose degrees are 1; on the largest of
// `counts` devices, dp what is left, unless dp is given and there are several counts. Another batch
// or sequence than those of `base` is an error: the two would not do the same work; so are devices
// outside of `counts`, which are ascending. check_plan has still to be asked.
[[nodiscard]] Result<Plan> plan_against(const std::string& text, const Plan& base,
                                        std::span<const std::int64_t> counts);

}  // namespace stepscope
