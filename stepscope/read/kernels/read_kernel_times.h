// SPDX-License-Identifier: Apache-2.0
// Reads the times of kernels that `python -m stepscope.torch.kernels` writes: one JSON object a
// line (docs/reference/inputs.md). A line that is not understood is counted, and so is one with
// `error`.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/kernel_times.h"

namespace stepscope {

// True if the first line that is not empty is an object with "kind" and "name". Cheap.
[[nodiscard]] bool looks_like_kernel_times(std::string_view head);

// Errors: no line with a time.
[[nodiscard]] Result<KernelTimes> parse_kernel_times(ByteSource& source, std::string_view path);

// The same of a text in memory.
[[nodiscard]] Result<KernelTimes> parse_kernel_times(std::string_view text, std::string_view path);

}  // namespace stepscope
