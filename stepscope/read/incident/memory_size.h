// SPDX-License-Identifier: Apache-2.0
// Sizes in the lines of allocators: "35.60 GiB", "0 bytes", XLA's "15.48G".
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

// What "GB" means: PyTorch's allocator on MPS, its memory_summary(), DeepSpeed and Paddle write GB
// for 2^30 bytes.
enum class SizeUnits : bool { decimal, binary };

// The size at the front of `text`.
[[nodiscard]] std::optional<Bytes> size_at_front(std::string_view text,
                                                 SizeUnits units = SizeUnits::decimal);
// The size behind the first `key`.
[[nodiscard]] std::optional<Bytes> size_behind(std::string_view text, std::string_view key,
                                               SizeUnits units = SizeUnits::decimal);
// The size in front of the first `key`: its two words.
[[nodiscard]] std::optional<Bytes> size_before(std::string_view text, std::string_view key);

}  // namespace stepscope
