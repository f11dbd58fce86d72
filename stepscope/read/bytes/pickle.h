// SPDX-License-Identifier: Apache-2.0
// Reads Python pickles (protocols 0 to 5) of plain data, as PyTorch's flight recorder and memory
// snapshots write them. Nothing is imported, called or built. An opcode or global that does more
// than hold plain data is refused; the error gives its name and byte. The only known globals are
// the list builders of `torch.jit._pickle`, which stand for the list that they are given.
//
//   values    none, bool, int, float, text, bytes, list, tuple, dict (sets are refused)
//   bounds    work and memory are linear in the size of the input, however the memo shares nodes;
//             nesting beyond `deepest_pickle` and a value that contains itself are refused
//   source    Python's pickletools, which describes each opcode
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

inline constexpr std::size_t deepest_pickle = 64;

// Whether a file with these first bytes may be a pickle. They are a protocol, or the start of a
// dict or list of protocol 0 or 1.
[[nodiscard]] bool is_pickle(std::string_view head);

// Parses the whole text, at most 4 GB; the tree owns it. Errors name `path` and the byte.
[[nodiscard]] Result<PlainTree> parse_pickle(std::string bytes, std::string_view path);

// The values that begin in the first bytes of a pickle; what is open at their end is closed there.
// Errors: what parse_pickle() refuses in these bytes, nesting and cycles apart.
[[nodiscard]] Result<PlainTree> parse_pickle_head(std::string bytes, std::string_view path);

}  // namespace stepscope
