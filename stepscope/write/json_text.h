// SPDX-License-Identifier: Apache-2.0
// Appends JSON to a string, for bulk output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

// "text" with quotes. Control characters are escaped; invalid UTF-8 is replaced by U+FFFD.
void append_json_string(std::string& out, std::string_view text);
void append_integer(std::string& out, std::int64_t value);
// Microseconds with exactly three decimals, so no ns is lost.
void append_microseconds(std::string& out, Ns t);

}  // namespace stepscope
