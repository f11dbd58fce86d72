// SPDX-License-Identifier: Apache-2.0
// The structure of a JSON text: where strings begin and end, and where objects and arrays open and
// close. Bit masks process 64 bytes a step; the fastest variant for this CPU is chosen at run time.
// Bytes above 0x7f and control characters are accepted: the content of strings is not checked here.
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
  bool has_backslash = false;     // some string may contain an escape
};
inline constexpr std::size_t json_index_padding = 8;
// Number of readable bytes that must follow the text.
inline constexpr std::size_t json_text_padding = 64;

// Indexes `text`, which starts outside any string; 64 readable bytes must follow it. Reuses the
// memory of `index`. REQUIRES: text.size() < 2^32.
void index_json(std::string_view text, JsonIndex& index);

// The variants, for tests. All give the same index.
using JsonIndexer = void (*)(std::string_view text, JsonIndex& index);
struct NamedIndexer {
  std::string_view name;
  JsonIndexer run;
};
[[nodiscard]] std::span<const NamedIndexer> json_indexers();  // variants for this CPU; best first

}  // namespace stepscope
