// SPDX-License-Identifier: Apache-2.0
// Findings for the terminal: all of them in four lists, or the first few.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/diagnose/finding.h"

namespace stepscope {

// Faults, opportunities, bounds and what costs no time, each with its evidence and advice; says so
// where nothing was found. What is under another finding is one line there, with its own advice if
// it is the larger one.
[[nodiscard]] std::string findings_text(std::span<const Finding> findings, const JobResult& job,
                                        std::size_t width);

// The first `most` that are not under another: what, gain and advice, two lines each at most.
// `but`: the key of a finding that was said already. Empty without any.
[[nodiscard]] std::string first_findings_text(std::span<const Finding> findings,
                                              const JobResult& job, std::string_view but,
                                              std::size_t most, std::size_t width);

// The finding with the largest gain that is not under another one; null without any.
[[nodiscard]] const Finding* largest_finding(std::span<const Finding> findings);

// The names of the first `most` that have a gain, with it, as a sentence; empty without any.
[[nodiscard]] std::string named_findings_text(std::span<const Finding> findings,
                                              std::string_view but, std::size_t most,
                                              std::size_t width);

}  // namespace stepscope
