// SPDX-License-Identifier: Apache-2.0
// Hands the text of a byte source out in chunks that begin and (as far as can be seen) end between
// two events. Any thread may ask for the next chunk; inflating happens inside, one thread at a
// time, while the others parse.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/read_window.h"

namespace stepscope {

struct Chunk {
  std::vector<char>
      bytes;             // the text and json_text_padding bytes behind it; reused from call to call
  std::size_t size = 0;  // of the text
  std::uint64_t offset = 0;    // of the text in the inflated file
  std::uint64_t number = 0;    // 0, 1, 2 …
  bool last = false;           // no text follows
  std::uint64_t position = 0;  // of the source, when this was read

  [[nodiscard]] std::string_view text() const { return {bytes.data(), size}; }
};

class ChunkReader {
 public:
  // `head` is text already read from the source that still counts; `offset` its place. A chunk has
  // about `chunk_bytes`; a text without a recognisable event in 32 times as many is cut anywhere.
  ChunkReader(ByteSource& source, std::string head, std::uint64_t offset,
              std::size_t chunk_bytes = window_bytes);

  // False when all text was handed out.
  Result<bool> next(Chunk& chunk);
  [[nodiscard]] std::uint64_t text_bytes() const { return offset_ + tail_.size(); }
  // Puts the end of the chunk that was just handed out back in front of the text. Only where one
  // thread reads.
  void give_back(std::string_view text);

 private:
  Result<std::size_t> fill(Chunk& chunk, std::size_t want);
  static void make_room(Chunk& chunk, std::size_t size);

  std::mutex mutex_;
  ByteSource& source_;
  std::size_t chunk_bytes_;
  std::string tail_;      // text behind the last cut
  std::uint64_t offset_;  // of tail_
  std::uint64_t number_ = 0;
  bool ended_ = false;       // the source is at its end
  bool handed_out_ = false;  // the last chunk was given
};

}  // namespace stepscope
