// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto_state.h"

#include <array>

#include "stepscope/base/proto_wire.h"

namespace stepscope {
namespace {

// Perfetto's service numbers its writers with 16 bits.
constexpr std::size_t most_sequences = 1 << 16;
// A number that exceeds the count of texts by more is stored in the map.
constexpr std::size_t gap = 64;

enum SequenceFlags : std::uint64_t { state_cleared = 1, needs_state = 2 };

// By their fields of InternedData.
constexpr std::array<std::pair<std::uint32_t, InternTable PacketSequence::*>, 5> intern_tables = {
    {{1, &PacketSequence::categories},
     {2, &PacketSequence::event_names},
     {3, &PacketSequence::argument_names},
     {24, &PacketSequence::gpu_stages},
     {29, &PacketSequence::argument_texts}}};

struct NumberedText {
  std::uint64_t iid = 0;
  std::string_view text{};
};

// EventCategory, EventName, InternedString and the like: field 1 is the number, 2 the text.
NumberedText numbered_text(std::string_view message) {
  NumberedText t;
  take_fields(message, ProtoInto(1, t.iid), ProtoInto(2, t.text));
  return t;
}

}  // namespace

void InternTable::set(std::uint64_t iid, StringId text) {
  if (iid > dense_.size() + gap) {
    sparse_[iid] = text;
    return;
  }
  if (iid >= dense_.size()) dense_.resize(static_cast<std::size_t>(iid) + 1, empty_string);
  dense_[static_cast<std::size_t>(iid)] = text;
}

StringId InternTable::find(std::uint64_t iid) const {
  if (iid < dense_.size() && dense_[static_cast<std::size_t>(iid)] != empty_string)
    return dense_[static_cast<std::size_t>(iid)];
  if (sparse_.empty()) return empty_string;
  const auto at = sparse_.find(iid);
  return at == sparse_.end() ? empty_string : at->second;
}

void InternTable::clear() {
  dense_.clear();
  sparse_.clear();
}

void PacketSequence::clear() {
  for (InternTable* table :
       {&categories, &event_names, &argument_names, &argument_texts, &gpu_stages})
    table->clear();
  gpu_counters.clear();
  clock.reset();
  track.reset();
}

PacketSequence* PacketSequences::enter(std::string_view packet, PacketHead& head,
                                       std::uint64_t byte, ImportNotes& notes) {
  head = {};
  std::uint64_t flags = 0;
  bool dropped = false;
  std::string_view interned;
  std::string_view defaults;
  for (ProtoFields f(packet); f.next();) switch (f.field()) {
      case 8:
        head.time = f.number();
        head.has_time = true;
        break;
      case 58:
        head.clock = static_cast<std::uint32_t>(f.number());
        break;
      case 10:
        head.sequence = static_cast<std::uint32_t>(f.number());
        break;
      case 13:
        flags = f.number();
        break;
      case 41:  // older form of the flag
        if (f.number() != 0) flags |= state_cleared;
        break;
      case 42:
        dropped = f.number() != 0;
        break;
      case 12:
        interned = f.bytes();
        break;
      case 59:
        defaults = f.bytes();
        break;
      default:
        break;
    }
  auto at = sequences_.find(head.sequence);
  if (at == sequences_.end()) {
    if (sequences_.size() >= most_sequences) {
      notes.add("too_many_sequences", byte);
      return nullptr;
    }
    at = sequences_.try_emplace(head.sequence).first;
  }
  PacketSequence& sequence = at->second;
  if (dropped) sequence.valid = false;
  if ((flags & state_cleared) != 0) {
    sequence.clear();
    sequence.valid = true;
  }
  if ((flags & needs_state) != 0 && !sequence.valid) {
    notes.add("packet_without_its_state", byte);
    return nullptr;
  }
  if (!interned.empty()) intern(interned, sequence);
  for (ProtoFields f(defaults); f.next();) {
    if (f.field() == 58) sequence.clock = static_cast<std::uint32_t>(f.number());
    if (f.field() != 11) continue;
    for (ProtoFields g(f.bytes()); g.next();)
      if (g.field() == 11) sequence.track = g.number();
  }
  return &sequence;
}

void PacketSequences::intern(std::string_view data, PacketSequence& sequence) {
  for (ProtoFields f(data); f.next();) {
    if (f.field() == 47) intern_counters(f.bytes(), sequence);
    for (const auto& [field, table] : intern_tables) {
      if (f.field() != field) continue;
      const NumberedText t = numbered_text(f.bytes());
      (sequence.*table).set(t.iid, texts_.intern(t.text));
    }
  }
}

// InternedGpuCounterDescriptor: field 1 is its number, 2 a GpuCounterDescriptor.
void PacketSequences::intern_counters(std::string_view descriptor, PacketSequence& sequence) {
  const NumberedText inner = numbered_text(descriptor);
  InternTable& names = sequence.gpu_counters[inner.iid];
  names.clear();
  read_gpu_counter_names(inner.text, texts_, names);
}

void read_gpu_counter_names(std::string_view descriptor, StringPool& texts, InternTable& names) {
  for (ProtoFields f(descriptor); f.next();) {
    if (f.field() != 1) continue;
    const NumberedText spec = numbered_text(f.bytes());
    names.set(spec.iid, texts.intern(spec.text));
  }
}

}  // namespace stepscope
