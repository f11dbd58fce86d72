// SPDX-License-Identifier: Apache-2.0
// Out-of-memory messages other than those of PyTorch's allocator: errors of CUDA, HIP and XPU
// without sizes, allocators of TensorFlow, XLA, Paddle and Gaudi, and vLLM's start.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/event/oom_message.h"

namespace stepscope {

// Other text may stand around the message.
[[nodiscard]] std::optional<OomMessage> framework_oom(std::string_view line);

// What an allocator of TensorFlow or XLA says of itself behind "Stats:", on lines of their own:
// "Limit: 68719476736", "InUse: 68719476736".
struct BfcStats {
  Bytes limit{};
  Bytes in_use{};
};
// Reads the line with the limit and the next one.
[[nodiscard]] std::optional<BfcStats> bfc_stats(std::string_view line, std::string_view behind);
// Whether the request does not fit below the limit.
[[nodiscard]] bool lacks(const BfcStats& stats, const std::optional<Bytes>& request);
// Gives them to a message of such an allocator that has no sizes yet. Returns whether it fits.
bool give_stats(OomMessage& message, const BfcStats& stats);

}  // namespace stepscope
