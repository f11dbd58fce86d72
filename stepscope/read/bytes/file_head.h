// SPDX-License-Identifier: Apache-2.0
// The first bytes of a file, inflated. They show what the file is, so that a reader of one kind
// refuses the files of another without reading them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

inline constexpr std::size_t file_head_bytes = 64 << 10;

// What a file may be by its first bytes.
enum class Beginning : std::uint8_t {
  empty,
  pickle,
  json,  // an object or a list; lines of a log may begin so, too
  page,  // HTML
  other
};
[[nodiscard]] Beginning beginning_of(std::string_view head);

struct FileHead {
  std::string text{};    // at most file_head_bytes
  bool whole = false;    // the file has no more bytes
  std::string damage{};  // why the file ended early, or empty
};

// Errors: those of opening and reading the file.
[[nodiscard]] Result<FileHead> head_of_file(const std::string& path);

// The values of a pickle or JSON that begin in these bytes, as if what is open at their end were
// closed there. Errors: the damage of a pickle inside these bytes, as parse_pickle() names it.
[[nodiscard]] Result<PlainTree> plain_head(const FileHead& head, std::string_view path);

}  // namespace stepscope
