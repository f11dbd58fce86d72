// SPDX-License-Identifier: Apache-2.0
// A text file as UTF-8 lines. The first bytes can be examined before reading. UTF-16 with a byte
// order mark is transcoded, byte order marks are dropped, and lines may end in CR LF.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"

namespace stepscope {

// Delivers `head` first. position() and damage() are those of the source behind it.
class PeekedSource final : public ByteSource {
 public:
  static Result<std::unique_ptr<PeekedSource>> open(std::unique_ptr<ByteSource> raw,
                                                    std::size_t bytes = 1 << 16);
  Result<std::size_t> read(std::span<char> into) override;
  [[nodiscard]] std::uint64_t position() const override { return raw_->position(); }
  [[nodiscard]] std::string damage() const override { return raw_->damage(); }
  [[nodiscard]] std::string_view head() const { return head_; }

 private:
  PeekedSource(std::unique_ptr<ByteSource> raw, std::string head)
      : raw_(std::move(raw)), head_(std::move(head)) {}
  std::unique_ptr<ByteSource> raw_;
  std::string head_;
  std::size_t given_ = 0;
};

// The UTF-8 of a source that may begin with a byte order mark. Invalid UTF-16 becomes U+FFFD.
[[nodiscard]] Result<std::unique_ptr<PeekedSource>> open_text(std::unique_ptr<ByteSource> raw);

// Takes a line off a text, without its end.
[[nodiscard]] std::string_view take_line(std::string_view& text);

class LineReader {
 public:
  static constexpr std::size_t longest_line = 1 << 24;
  explicit LineReader(ByteSource& source, std::size_t buffer = window_bytes);

  // False at the end, or if the source failed. The view is valid until the next call, and longer as
  // long as generation() does not change.
  bool next(std::string_view& line);
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }          // bytes read so far
  [[nodiscard]] std::uint64_t cut_lines() const { return cut_lines_; }  // longer than longest_line
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  bool refill();
  ByteSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0;  // start of the unread part
  std::size_t end_ = 0;
  bool over_ = false;
  bool skipping_ = false;  // in the rest of a line that is too long
  std::uint64_t generation_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t cut_lines_ = 0;
  std::optional<Error> error_;
};

}  // namespace stepscope
