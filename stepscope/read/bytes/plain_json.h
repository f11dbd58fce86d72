// SPDX-License-Identifier: Apache-2.0
// JSON of machines, large and plain, into the same tree that harmless pickles become. Python's NaN
// and Infinity are numbers. Of a key given twice the last one holds.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

// Takes the whole text, at most 4 GB; the tree keeps it. Errors name `path` and the byte: a syntax
// error, nesting beyond deepest_pickle. What follows the value but white space is counted in
// trailing_bytes.
[[nodiscard]] Result<PlainTree> parse_plain_json(std::string text, std::string_view path);

}  // namespace stepscope
