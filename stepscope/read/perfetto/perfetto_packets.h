// SPDX-License-Identifier: Apache-2.0
// The packets of a native Perfetto trace (protos/perfetto/trace/trace.proto: a Trace is nothing but
// its packets, each with its length in front), one after the other through a window: a file of any
// size in the memory of its largest packet.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/read_window.h"
#include "stepscope/base/result.h"
#include "stepscope/event/import_notes.h"

namespace stepscope {

// Larger ones are stepped over, noted as oversized_packet. Perfetto's own limit is below.
inline constexpr std::size_t largest_packet = 64 << 20;

class PerfettoPackets {
 public:
  explicit PerfettoPackets(ByteSource& source, std::size_t window = window_bytes)
      : source_(source), window_(window) {}

  // The next packet, valid until the next call; false at the end. A file that ends inside a packet,
  // or goes on in bytes that are none, gives every packet before and a note with the byte.
  Result<bool> next(std::string_view& packet, ImportNotes& notes);
  // Where the packet begins in the inflated file.
  [[nodiscard]] std::uint64_t byte() const { return byte_; }
  // How far the file was read: to its end, or to where its packets end.
  [[nodiscard]] std::uint64_t text_bytes() const { return offset_ + filled_; }

 private:
  Result<std::size_t> ensure(std::size_t size);
  Result<bool> step_over(std::uint64_t size, ImportNotes& notes);
  void consume(std::size_t size);
  bool cut(ImportNotes& notes);

  ByteSource& source_;
  std::size_t window_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;        // of what is not handed out, in buffer_
  std::size_t filled_ = 0;    // of buffer_
  std::uint64_t offset_ = 0;  // of buffer_[0] in the inflated file
  std::uint64_t byte_ = 0;
  bool ended_ = false;  // the source is, or its packets are
};

// What the first bytes of an (inflated) file say: whole packets, as far as they reach.
[[nodiscard]] bool is_perfetto(std::string_view head);

// The packets inside TracePacket.compressed_packets: calls packet(bytes) for each. False where the
// data is damaged or more than `most` bytes; what comes before is given.
bool inflate_packets(std::string_view compressed, std::size_t most,
                     const std::function<void(std::string_view)>& packet);

}  // namespace stepscope
