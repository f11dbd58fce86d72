// SPDX-License-Identifier: Apache-2.0
// Iterates over the packets of a native Perfetto trace (protos/perfetto/trace/trace.proto: a Trace
// is a list of packets, each after its length). A file of any size is read through a window in the
// memory of its largest packet.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Larger packets are skipped and noted as oversized_packet. Perfetto's own limit is lower.
inline constexpr std::size_t largest_packet = 64 << 20;

class PerfettoPackets {
 public:
  explicit PerfettoPackets(ByteSource& source, std::size_t window = window_bytes)
      : source_(source), window_(window) {}

  // The next packet, valid until the next call; false at the end. If the file ends inside a packet
  // or continues with other bytes, all packets before are given, and a note has the byte.
  Result<bool> next(std::string_view& packet, ImportNotes& notes);
  // Position of the packet in the inflated file.
  [[nodiscard]] std::uint64_t byte() const { return byte_; }
  // Number of bytes read: up to the end of the file or of its packets.
  [[nodiscard]] std::uint64_t text_bytes() const { return offset_ + filled_; }

 private:
  Result<std::size_t> ensure(std::size_t size);
  Result<bool> step_over(std::uint64_t size, ImportNotes& notes);
  void consume(std::size_t size);
  bool cut(ImportNotes& notes);

  ByteSource& source_;
  std::size_t window_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;        // start of the remaining bytes in buffer_
  std::size_t filled_ = 0;    // bytes in buffer_
  std::uint64_t offset_ = 0;  // of buffer_[0] in the inflated file
  std::uint64_t byte_ = 0;
  bool ended_ = false;  // end of the source or of its packets
};

// Whether the first (inflated) bytes of a file are whole packets.
[[nodiscard]] bool is_perfetto(std::string_view head);

// Calls packet(bytes) for each packet inside TracePacket.compressed_packets. False if the data is
// damaged or exceeds `most` bytes; the packets before are given.
bool inflate_packets(std::string_view compressed, std::size_t most,
                     const std::function<void(std::string_view)>& packet);

}  // namespace stepscope
