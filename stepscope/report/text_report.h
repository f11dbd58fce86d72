// SPDX-License-Identifier: Apache-2.0
// The terminal face: the answer and the account on the first screen, then tables.
#pragma once

#include <string>

#include "stepscope/report/analyze_report.h"

namespace stepscope {

struct TextOptions {
  int width = 100;
  bool colour = false;
  std::string details{};  // where more is to be seen ("report.html"), or empty
};

[[nodiscard]] std::string analyze_text(const AnalyzeReport& report,
                                       const TextOptions& options = {});

}  // namespace stepscope
