// SPDX-License-Identifier: Apache-2.0
// Decompresses one block of Snappy's raw format (github.com/google/snappy, format_description.txt).
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope {

// Error::byte is the damaged byte of the block. Allocates no more than the block's size allows.
[[nodiscard]] Result<std::string> unpack_snappy(std::string_view block);

}  // namespace stepscope
