// SPDX-License-Identifier: Apache-2.0
// The skeleton of a JSON text: where its strings begin and end and where objects and arrays open
// and close. 64 bytes a step with bit masks; the fastest variant this CPU has is chosen at run
// time. Bytes above 0x7f and control characters are let through: what a name holds is not the
// skeleton's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stepscope {

// Positions in a text, ascending: each unescaped quote, and each of { } [ ] outside strings.
struct JsonIndex {
  std::vector<std::uint32_t> at;  // ends with padding entries that hold the text's size
  std::size_t count = 0;          // without the padding
  bool has_backslash = false;     // some string may hold an escape
};
inline constexpr std::size_t json_index_padding = 8;
// Bytes that must be readable behind the text.
inline constexpr std::size_t json_text_padding = 64;

// Indexes `text`, which starts outside of any string; 64 readable bytes must follow it. Reuses
// `index`'s memory. REQUIRES: text.size() < 2^32.
void index_json(std::string_view text, JsonIndex& index);

// The variants, for the tests: all give the same index.
using JsonIndexer = void (*)(std::string_view text, JsonIndex& index);
struct NamedIndexer {
  std::string_view name;
  JsonIndexer run;
};
[[nodiscard]] std::span<const NamedIndexer>
json_indexers();  // those that this CPU can run; best first

}  // namespace stepscope
