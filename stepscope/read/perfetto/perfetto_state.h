// SPDX-License-Identifier: Apache-2.0
// The state of a packet sequence in a Perfetto trace. A packet depends on earlier packets of its
// sequence: interned texts (InternedData), defaults, and whether all of that is still valid
// (protos/perfetto/trace/trace_packet.proto, interned_data.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/base/string_pool.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Texts by the number that their writer assigned. Most writers count from 1.
class InternTable {
 public:
  void set(std::uint64_t iid, StringId text);
  [[nodiscard]] StringId find(std::uint64_t iid) const;  // empty_string if unknown
  void clear();

 private:
  std::vector<StringId> dense_;
  std::unordered_map<std::uint64_t, StringId> sparse_;
};

struct PacketSequence {
  InternTable categories;
  InternTable event_names;
  InternTable argument_names;
  InternTable argument_texts;
  InternTable gpu_stages;  // specifications of render stages and of hardware queues
  std::unordered_map<std::uint64_t, InternTable> gpu_counters;  // counter id → name, by descriptor
  std::optional<std::uint32_t> clock;                           // defaults
  std::optional<std::uint64_t> track;
  bool valid = false;  // nothing was lost since the state began

  void clear();
};

// The fields of a packet that are needed to read the rest.
struct PacketHead {
  std::uint64_t time = 0;
  bool has_time = false;
  std::optional<std::uint32_t> clock;
  std::uint32_t sequence = 0;  // 0: none
};

class PacketSequences {
 public:
  // Applies the flags, defaults and texts of a packet to its sequence. Null, and a note, if the
  // packet depends on lost data.
  PacketSequence* enter(std::string_view packet, PacketHead& head, std::uint64_t byte,
                        ImportNotes& notes);
  [[nodiscard]] std::string_view text(StringId id) const { return texts_[id]; }

 private:
  void intern(std::string_view data, PacketSequence& sequence);
  void intern_counters(std::string_view descriptor, PacketSequence& sequence);

  StringPool texts_;
  std::unordered_map<std::uint32_t, PacketSequence> sequences_;
};

// Reads the counter names of a GpuCounterDescriptor.
void read_gpu_counter_names(std::string_view descriptor, StringPool& texts, InternTable& names);

}  // namespace stepscope
