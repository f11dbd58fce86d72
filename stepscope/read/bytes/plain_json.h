// SPDX-License-Identifier: Apache-2.0
// Parses large JSON texts that programs write into the same tree as pickles. Python's NaN and
// Infinity are numbers. If a key is given twice, the last value counts.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

// Parses the whole text, at most 4 GB; the tree owns it. Errors name `path` and the byte: a syntax
// error, nesting beyond deepest_pickle. Bytes behind the value that are not white space are counted
// in trailing_bytes.
[[nodiscard]] Result<PlainTree> parse_plain_json(std::string text, std::string_view path);

// The values that begin in the first bytes of a text; what is open at their end is closed there,
// and so is what is no JSON.
[[nodiscard]] Result<PlainTree> parse_plain_json_head(std::string text, std::string_view path);

}  // namespace stepscope
