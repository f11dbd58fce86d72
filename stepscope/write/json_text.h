// SPDX-License-Identifier: Apache-2.0
// JSON written by appending, for bulk output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

// "text" with quotes; control characters escaped, bytes that are no UTF-8 replaced by U+FFFD.
void append_json_string(std::string& out, std::string_view text);
void append_integer(std::string& out, std::int64_t value);
// Microseconds with exactly three decimals: the ns lose nothing.
void append_microseconds(std::string& out, Ns t);

}  // namespace stepscope
