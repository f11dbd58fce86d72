// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/snappy.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace stepscope {
namespace {

// Upper limit of output bytes per input byte (a copy of 64 bytes takes three).
constexpr std::uint64_t most_ratio = 22;

// A little-endian number; nullopt if the block ends before it.
std::optional<std::uint32_t> number(std::string_view block, std::size_t at, std::size_t bytes) {
  if (block.size() - at < bytes) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(block[at + i])) << (8 * i);
  return value;
}

// One element: `length` bytes of the block if `offset` is 0, else of the output `offset` bytes
// back.
struct Element {
  std::uint64_t length = 0;
  std::uint64_t offset = 0;
  std::size_t header = 1;  // bytes of the element itself
};

std::optional<Element> element(std::string_view block, std::size_t at) {
  const auto tag = static_cast<unsigned char>(block[at]);
  const std::uint32_t upper = tag >> 2U;
  constexpr std::uint32_t long_literal = 60;  // from here the length is in 1 to 4 further bytes
  switch (tag & 3U) {
    case 0: {
      if (upper < long_literal) return Element{.length = upper + 1};
      const std::size_t bytes = upper - long_literal + 1;
      const auto length = number(block, at + 1, bytes);
      if (!length) return std::nullopt;
      return Element{.length = std::uint64_t{*length} + 1, .header = 1 + bytes};
    }
    case 1: {
      const auto low = number(block, at + 1, 1);
      if (!low) return std::nullopt;
      return Element{.length = (upper & 7U) + 4,
                     .offset = (std::uint64_t{upper >> 3U} << 8U) | *low,
                     .header = 2};
    }
    default: {
      const std::size_t bytes = (tag & 3U) == 2 ? 2 : 4;
      const auto offset = number(block, at + 1, bytes);
      if (!offset) return std::nullopt;
      return Element{.length = upper + 1, .offset = *offset, .header = 1 + bytes};
    }
  }
}

}  // namespace

Result<std::string> unpack_snappy(std::string_view block) {
  const auto wrong = [](std::string what, std::size_t at) {
    return Error{.what = "snappy: " + std::move(what), .byte = at};
  };
  std::uint64_t size = 0;
  std::size_t at = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at == block.size() || shift > 28) return wrong("no length", at);
    const auto byte = static_cast<unsigned char>(block[at++]);
    size |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  if (size > block.size() * most_ratio) return wrong("a length that its bytes cannot give", 0);
  std::string out(size, '\0');
  std::size_t done = 0;
  while (at < block.size()) {
    const auto e = element(block, at);
    if (!e) return wrong("an element that is cut", at);
    const bool copy = (static_cast<unsigned char>(block[at]) & 3U) != 0;
    if (e->length > size - done) return wrong("more bytes than its length says", at);
    if (copy && (e->offset == 0 || e->offset > done))
      return wrong("a copy from before its first byte", at);
    if (!copy && e->length > block.size() - at - e->header)
      return wrong("a literal that is cut", at);
    at += e->header;
    if (!copy) {
      std::memcpy(out.data() + done, block.data() + at, e->length);
      at += e->length;
    } else if (e->offset >= e->length) {
      std::memcpy(out.data() + done, out.data() + done - e->offset, e->length);
    } else {
      for (std::uint64_t i = 0; i < e->length; ++i) out[done + i] = out[done + i - e->offset];
    }
    done += e->length;
  }
  if (done != size) return wrong("fewer bytes than its length says", at);
  return out;
}

}  // namespace stepscope
