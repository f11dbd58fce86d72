// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto_packets.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "stepscope/base/proto_wire.h"

namespace stepscope {
namespace {

constexpr std::size_t longest_head = 20;  // a tag and a length
constexpr std::uint64_t packet_tag = 1 << 3 | 2;
constexpr std::size_t inflate_block = 256 * 1024;

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// A text that begins with an empty line also begins with the tag of a packet.
bool is_json(std::string_view head) {
  std::size_t p = 0;
  while (p < head.size() && is_space(head[p])) ++p;
  if (p == head.size() || (head[p] != '{' && head[p] != '[')) return false;
  for (++p; p < head.size() && is_space(head[p]);) ++p;
  return p < head.size() && std::string_view("\"{}[]").find(head[p]) != std::string_view::npos;
}

}  // namespace

void PerfettoPackets::consume(std::size_t size) { at_ += size; }

// Makes `size` bytes readable behind at_ if the file has them; returns how many there are. The
// buffer grows with the bytes read, not with the length in the file.
Result<std::size_t> PerfettoPackets::ensure(std::size_t size) {
  while (filled_ - at_ < size && !ended_) {
    if (at_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
      filled_ -= at_;
      offset_ += at_;
      at_ = 0;
    }
    buffer_.resize(std::max(window_, 2 * filled_));
    const std::span<char> room = std::span(buffer_).subspan(filled_);
    const auto got = source_.read(room);
    if (!got) return got.error();
    ended_ = *got < room.size();
    filled_ += *got;
  }
  return filled_ - at_;
}

// The file ends inside the packet that begins at byte_.
bool PerfettoPackets::cut(ImportNotes& notes) {
  notes.truncated = true;
  notes.add("truncated_event", byte_);
  at_ = filled_;
  return false;
}

Result<bool> PerfettoPackets::step_over(std::uint64_t size, ImportNotes& notes) {
  while (size > 0) {
    const auto got = ensure(1);
    if (!got) return got.error();
    if (*got == 0) return cut(notes);
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(size, *got));
    consume(step);
    size -= step;
  }
  return true;
}

Result<bool> PerfettoPackets::next(std::string_view& packet, ImportNotes& notes) {
  for (;;) {
    const auto got = ensure(longest_head);
    if (!got) return got.error();
    byte_ = offset_ + at_;
    if (*got == 0) return false;
    const std::string_view head(buffer_.data() + at_, std::min(*got, longest_head));
    std::string_view rest = head;
    std::uint64_t tag = 0;
    std::uint64_t size = 0;
    bool whole = take_varint(rest, tag);
    const unsigned type = tag & 7;
    const bool known = tag >> 3 != 0 && (type == 0 || type == 1 || type == 2 || type == 5);
    if (whole && known) {
      if (type == 0 || type == 2) whole = take_varint(rest, size);
      if (type == 0) size = 0;
      if (type == 1) size = 8;
      if (type == 5) size = 4;
    }
    if (!whole && *got < longest_head) return cut(notes);
    if (!whole || !known) {  // the start of the next packet is lost
      notes.truncated = true;
      notes.add("not_a_packet", byte_);
      ended_ = true;
      filled_ = at_;
      return false;
    }
    consume(head.size() - rest.size());
    if (tag != packet_tag || size > largest_packet) {
      if (tag == packet_tag) notes.add("oversized_packet", byte_);
      const auto stepped = step_over(size, notes);
      if (!stepped || !*stepped) return stepped;
      continue;
    }
    const auto there = ensure(static_cast<std::size_t>(size));
    if (!there) return there.error();
    if (*there < size) return cut(notes);
    packet = {buffer_.data() + at_, static_cast<std::size_t>(size)};
    consume(packet.size());
    return true;
  }
}

bool is_perfetto(std::string_view head) {
  if (head.empty() || static_cast<unsigned char>(head[0]) != packet_tag || is_json(head))
    return false;
  std::string_view rest = head;
  for (int packets = 0; !rest.empty(); ++packets) {
    std::uint64_t tag = 0;
    std::uint64_t size = 0;
    if (!take_varint(rest, tag)) return rest.size() < longest_head;
    if (tag != packet_tag) return packets > 1;  // other data behind a trace
    if (!take_varint(rest, size)) return rest.size() < longest_head;
    const bool whole = size <= rest.size();
    ProtoFields f(
        rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(size, rest.size()))));
    // Field 1 of a packet is a message; XLA's planes have a number there.
    while (f.next())
      if (f.field() == 1 && !f.is_bytes()) return false;
    if (f.damaged() && (whole || !f.cut_short())) return false;
    if (!whole) break;
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

bool inflate_packets(std::string_view compressed, std::size_t most,
                     const std::function<void(std::string_view)>& packet) {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_ZLIB;
  std::string input(compressed);  // ISA-L needs writable input
  state->next_in = reinterpret_cast<std::uint8_t*>(input.data());
  state->avail_in = static_cast<std::uint32_t>(input.size());
  std::string text;
  bool sound = true;
  while (sound && state->block_state != ISAL_BLOCK_FINISH) {
    const std::size_t before = text.size();
    text.resize(before + inflate_block);
    state->next_out = reinterpret_cast<std::uint8_t*>(text.data() + before);
    state->avail_out = inflate_block;
    const int status = isal_inflate(state.get());
    const std::size_t got = inflate_block - state->avail_out;
    text.resize(before + got);
    sound = status == ISAL_DECOMP_OK && text.size() <= most;
    if (got == 0 && state->avail_in == 0 && state->block_state != ISAL_BLOCK_FINISH) sound = false;
  }
  ProtoFields f(text);
  while (f.next())
    if (f.field() == 1 && f.is_bytes()) packet(f.bytes());
  return sound && !f.damaged();
}

}  // namespace stepscope
