// SPDX-License-Identifier: Apache-2.0
// The summary of a whole run in the JSON of `stepscope train`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct TrainSummary {
  std::optional<double> mfu;  // shares of 1
  std::optional<double> hfu;
  bool judged = false;              // the run has a verdict
  std::string why_unjudged;         // without a full stop; empty if the run does not say
  std::optional<std::string> late;  // the verdict, without a full stop, if it accuses ranks
  // Sums over the steps of a rank, in ns by budget category, and the number of its steps.
  struct Rank {
    std::map<std::string, double> budget_ns;
    std::uint64_t steps = 0;
  };
  std::map<int, Rank> ranks;
};

// Errors: not JSON, or not of `stepscope train`.
[[nodiscard]] Result<TrainSummary> read_train_summary(const std::string& path);
[[nodiscard]] Result<TrainSummary> parse_train_summary(ByteSource& source, std::string_view path);

}  // namespace stepscope
