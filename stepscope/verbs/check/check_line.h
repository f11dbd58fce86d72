// SPDX-License-Identifier: Apache-2.0
// One line of `stepscope check`: what a figure means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stepscope/base/enum_names.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class CheckStatus : std::uint8_t { good, look, unknown };
inline constexpr auto check_status_names = enum_names<CheckStatus::unknown>;

struct CheckLine {
  std::string name;  // "steps", "mfu", "rank_balance", "stragglers", "communication",
                     // "idle", "headroom", "gpu_utilization", "phases", "overlap"; of logs
                     // "step_time", "loss"
  CheckStatus status = CheckStatus::unknown;
  std::optional<double> value;  // share of one; steps: effective ones
  Message sentence;
};

}  // namespace stepscope
