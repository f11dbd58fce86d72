// SPDX-License-Identifier: Apache-2.0
// Python pickles (protocols 0 to 5) of plain data, as PyTorch's flight recorder and its memory
// snapshots are. Nothing is ever imported, called or built: an opcode or a global that does more
// than hold plain data is refused by its name and its byte. The only globals that are understood
// are the list builders of `torch.jit._pickle`, which stand for the list they are given.
//
//   values    none, bool, int, float, text, bytes, list, tuple, dict (sets are refused)
//   bounds    work and memory are linear in the size of the input, whatever the memo shares;
//   nesting
//             beyond `deepest_pickle` and a value that contains itself are refused
//   source    Python's pickletools, which describes each opcode
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

inline constexpr std::size_t deepest_pickle = 64;

// Whether a file that begins so may be a pickle: with its protocol, or with the first bytes that a
// dict or a list of protocol 0 or 1 has.
[[nodiscard]] bool is_pickle(std::string_view head);

// Takes the whole text, at most 4 GB; the tree keeps it. Errors name `path` and the byte.
[[nodiscard]] Result<PlainTree> parse_pickle(std::string bytes, std::string_view path);

}  // namespace stepscope
