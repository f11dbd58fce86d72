// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope analyze` (docs/json.md).
#pragma once

#include <string>

#include "stepscope/report/analyze_report.h"

namespace stepscope {

struct JsonOptions {
  bool timeline = false;  // with `timeline`, where the job has one
  bool pretty = false;
};

// One JSON object in UTF-8; bytes of names that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string analyze_json(const AnalyzeReport& report,
                                       const JsonOptions& options = {});

}  // namespace stepscope
