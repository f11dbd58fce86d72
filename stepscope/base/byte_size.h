// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: units are powers of 1000, with an i of 1024.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope {

// "1KB", "64 MiB", "1e9", "1.5GB"; from 1 byte to 1e15.
[[nodiscard]] Result<std::int64_t> parse_bytes(std::string_view text);

// Exactly, in the largest unit that has no fraction: "25MB", "16MiB", "1001B". parse_bytes reads it
// back.
[[nodiscard]] std::string byte_size_text(Bytes bytes);

}  // namespace stepscope
