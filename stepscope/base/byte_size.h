// SPDX-License-Identifier: Apache-2.0
// Byte sizes as text. Units are powers of 1000; with an "i" they are powers of 1024.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Accepts "1KB", "64 MiB", "1e9" and "1.5GB"; from 1 byte to 1e15 bytes.
[[nodiscard]] Result<std::int64_t> parse_bytes(std::string_view text);

// The exact size in the largest unit that needs no fraction: "25MB", "16MiB", "1001B". parse_bytes
// reads it back.
[[nodiscard]] std::string byte_size_text(Bytes bytes);

}  // namespace stepscope
