// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/whole_file.h"

#include <span>

#include "stepscope/base/files/open_source.h"

namespace stepscope {

Result<std::string> read_whole_file(ByteSource& source, const std::string& path,
                                    const ReadControl& control, const WholeFileLimit& limit) {
  std::string bytes;
  std::uint64_t reported = 0;
  for (;;) {
    if (control.stop != nullptr && control.stop->requested()) return interrupted(path);
    const std::size_t before = bytes.size();
    if (before > limit.bytes)
      return Error{.what = std::string(limit.what),
                   .file = path,
                   .byte = before,
                   .hint = std::string(limit.hint)};
    bytes.resize(before + control.chunk_bytes);
    const auto got = source.read(std::span(bytes).subspan(before));
    if (!got) return got.error();
    bytes.resize(before + *got);
    const std::uint64_t position = source.position();
    if (control.bytes_read != nullptr) control.bytes_read->fetch_add(position - reported);
    reported = position;
    if (*got < control.chunk_bytes) return bytes;
  }
}

Result<std::string> read_text_file(const std::string& path, const StopFlag* stop) {
  auto source = open_source(path);
  if (!source) return source.error();
  auto text = read_whole_file(**source, path, {.stop = stop},
                              {.bytes = 4'000'000'000,
                               .what = "has more than 4 GB of text",
                               .hint = "give a part of the file"});
  if (!text) return text;
  if (const std::string damage = (*source)->damage(); !damage.empty())
    return Error{.what = damage, .file = path, .hint = "copy the file again"};
  return text;
}

}  // namespace stepscope
