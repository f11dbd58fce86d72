// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/chunk_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/rows/event_mend.h"

namespace stepscope {
namespace {

constexpr std::size_t longest_chunk_factor = 2;

}  // namespace

ChunkReader::ChunkReader(ByteSource& source, std::string head, std::uint64_t offset,
                         std::size_t chunk_bytes)
    : source_(source), chunk_bytes_(chunk_bytes), tail_(std::move(head)), offset_(offset) {}

void ChunkReader::make_room(Chunk& chunk, std::size_t size) {
  if (chunk.bytes.size() < size + json_text_padding) chunk.bytes.resize(size + json_text_padding);
}

// Appends up to `want` more bytes to the chunk's text.
Result<std::size_t> ChunkReader::fill(Chunk& chunk, std::size_t want) {
  make_room(chunk, chunk.size + want);
  const auto got = source_.read(std::span(chunk.bytes).subspan(chunk.size, want));
  if (!got) return got;
  chunk.size += *got;
  if (*got < want) ended_ = true;
  return got;
}

Result<bool> ChunkReader::next(Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (handed_out_) return false;
  chunk.size = tail_.size();
  chunk.offset = offset_;
  chunk.number = number_++;
  chunk.last = false;
  chunk.cut = false;
  make_room(chunk, tail_.size());
  std::ranges::copy(tail_, chunk.bytes.begin());
  tail_.clear();
  std::size_t cut = not_found;
  std::size_t want = chunk_bytes_ > chunk.size ? chunk_bytes_ - chunk.size : chunk_bytes_;
  do {
    if (ended_) break;
    if (const auto got = fill(chunk, want); !got) return got.error();
    if (!ended_) cut = find_last_event_start(chunk.text());
    want = chunk.size;
  } while (cut == not_found && chunk.size < longest_chunk_factor * chunk_bytes_);
  if (ended_) {
    handed_out_ = chunk.last = true;
  } else if (cut != not_found) {
    tail_.assign(chunk.bytes.data() + cut, chunk.size - cut);
    chunk.size = cut;
  } else {
    chunk.cut = true;
  }
  offset_ += chunk.size;
  chunk.position = source_.position();
  std::memset(chunk.bytes.data() + chunk.size, 0, json_text_padding);
  return true;
}

void ChunkReader::give_back(std::string_view text) {
  const std::lock_guard lock(mutex_);
  tail_.insert(0, text);
  offset_ -= text.size();
  handed_out_ = false;
}

}  // namespace stepscope
