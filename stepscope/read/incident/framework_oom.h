// SPDX-License-Identifier: Apache-2.0
// Out-of-memory messages other than those of PyTorch's allocator: errors of CUDA, HIP and XPU
// without sizes, allocators of TensorFlow, XLA, Paddle and Gaudi.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/event/oom_message.h"

namespace stepscope {

// Other text may stand around the message.
[[nodiscard]] std::optional<OomMessage> framework_oom(std::string_view line);

}  // namespace stepscope
