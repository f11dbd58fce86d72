// SPDX-License-Identifier: Apache-2.0
// A calibration as JSON (docs/reference/json.md).
#pragma once

#include <string>

#include "stepscope/fit/calibration.h"
#include "stepscope/pipeline/calibrate/calibrate_from.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// `file`: the machine file that was written.
[[nodiscard]] Json calibrate_tree(const CalibrateResult& result, const std::string& file);
// REQUIRES: a fit.
[[nodiscard]] Json calibrate_tree(const CalibrateFromResult& result, const std::string& file);

}  // namespace stepscope
