// SPDX-License-Identifier: Apache-2.0
// One block of Snappy's raw format (github.com/google/snappy, format_description.txt), unpacked.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope {

// The error says what is wrong and, in Error::byte, at which byte of the block. Allocates no more
// than such a block can give.
[[nodiscard]] Result<std::string> unpack_snappy(std::string_view block);

}  // namespace stepscope
