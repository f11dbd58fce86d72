// SPDX-License-Identifier: Apache-2.0
// Hands out the text of a byte source in chunks. A chunk begins and, as far as can be seen, ends
// between two events. Any thread may ask for the next chunk. One thread at a time inflates inside,
// while the others parse.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "stepscope/base/byte_source.h"

namespace stepscope {

struct Chunk {
  std::vector<char> bytes;     // the text, then json_text_padding bytes; reused between calls
  std::size_t size = 0;        // of the text
  std::uint64_t offset = 0;    // of the text in the inflated file
  std::uint64_t number = 0;    // 0, 1, 2 …
  bool last = false;           // no more text follows
  bool cut = false;            // no event is seen in it, and it ends anywhere
  std::uint64_t position = 0;  // of the source after this read

  [[nodiscard]] std::string_view text() const { return {bytes.data(), size}; }
};

class ChunkReader {
 public:
  // `head` is text that was already read from the source; `offset` is its position. A chunk has
  // about `chunk_bytes`. If twice that number have no recognisable event, the text is cut
  // anywhere.
  ChunkReader(ByteSource& source, std::string head, std::uint64_t offset,
              std::size_t chunk_bytes = window_bytes);

  // False if all text was handed out.
  Result<bool> next(Chunk& chunk);
  [[nodiscard]] std::uint64_t text_bytes() const { return offset_ + tail_.size(); }
  // Puts the end of the last chunk back in front of the text. Only with one reading thread.
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
  bool handed_out_ = false;  // the last chunk was handed out
};

}  // namespace stepscope
