// SPDX-License-Identifier: Apache-2.0
// Findings as JSON and as text.
#pragma once

#include <span>
#include <string>

#include "stepscope/diagnose/finding.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

[[nodiscard]] Json findings_json(std::span<const Finding> findings, Ns origin);
// "First thing to try: …" and the list; says so where nothing was found.
[[nodiscard]] std::string findings_text(std::span<const Finding> findings, const JobResult& job,
                                        std::size_t width);

}  // namespace stepscope
