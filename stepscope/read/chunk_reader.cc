// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/chunk_reader.h"

#include <cstring>
#include <utility>

#include "stepscope/read/event_mend.h"
#include "stepscope/read/json_index.h"

namespace stepscope {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
// A text without a recognisable event in this many bytes is handed out uncut.
constexpr std::size_t longest_chunk = 32 << 20;

}  // namespace

ChunkReader::ChunkReader(ByteSource& source, std::string head, std::uint64_t offset)
    : source_(source), tail_(std::move(head)), offset_(offset) {}

// Reads up to `want` more bytes behind the chunk's text.
Result<std::size_t> ChunkReader::fill(Chunk& chunk, std::size_t want) {
  if (chunk.bytes.size() < chunk.size + want + json_text_padding)
    chunk.bytes.resize(chunk.size + want + json_text_padding);
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
  if (chunk.bytes.size() < tail_.size())
    chunk.bytes.resize(tail_.size() + chunk_bytes + json_text_padding);
  std::memcpy(chunk.bytes.data(), tail_.data(), tail_.size());
  tail_.clear();
  std::size_t cut = not_found;
  std::size_t want = chunk_bytes > chunk.size ? chunk_bytes - chunk.size : chunk_bytes;
  while (cut == not_found && !ended_ && chunk.size < longest_chunk) {
    if (const auto got = fill(chunk, want); !got) return got.error();
    if (!ended_) cut = find_last_event_start(chunk.text());
    want = chunk.size;
  }
  if (ended_) {
    handed_out_ = chunk.last = true;
  } else if (cut != not_found && cut > 0) {
    tail_.assign(chunk.bytes.data() + cut, chunk.size - cut);
    chunk.size = cut;
  }
  offset_ += chunk.size;
  std::memset(chunk.bytes.data() + chunk.size, 0, json_text_padding);
  return true;
}

void ChunkReader::give_back(std::string_view text) {
  const std::lock_guard lock(mutex_);
  tail_.insert(0, text);
  offset_ -= text.size();
}

}  // namespace stepscope
