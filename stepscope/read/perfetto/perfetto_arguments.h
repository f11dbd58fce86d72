// SPDX-License-Identifier: Apache-2.0
// Converts the debug annotations of a Perfetto track event to the fields of a raw event, as the
// same arguments in a Chrome trace (protos/perfetto/trace/track_event/debug_annotation.proto).
// Nested values become the JSON text that PyTorch would have written.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/event/trace.h"
#include "stepscope/read/perfetto/perfetto_state.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

// Arguments that show the kind of a row if the event has no category.
struct ArgumentHints {
  bool python = false;       // Python id, Python parent id
  bool sync = false;         // cuda_sync_kind
  bool call = false;         // cbid, cid
  bool function_id = false;  // Record function id
  bool event_id = false;     // Ev Idx
};

class PerfettoArguments {
 public:
  PerfettoArguments(const PacketSequences& texts, ImportNotes& notes)
      : texts_(texts), notes_(notes) {}

  // Begins an event and drops the previous arguments. `byte` is its packet's, for notes.
  void clear(std::uint64_t byte);
  // Adds one DebugAnnotation.
  void add(std::string_view annotation, const PacketSequence& sequence);
  // Adds a text argument. If it is the text of a JSON object, its members are added.
  void add_text(std::string_view name, std::string_view text);
  void add_number(Field field, std::int64_t value);

  // Its values are valid until the next clear() or change of the field. The caller may add more.
  RawEvent event;
  ArgumentHints hints;
  // Numbers by name, for the metrics of a profiler range. Filled only if wants_numbers.
  std::vector<std::pair<std::string, double>> numbers;
  bool wants_numbers = false;
  std::string_view rank_metadata;  // "stepscopeRanks": our own writer's data about a rank

 private:
  struct Value;
  void set(Field field, const Value& value);
  void keep(std::string_view name, const Value& value);
  bool render(std::string_view annotation, const PacketSequence& sequence, int depth,
              std::string& out) const;
  bool render_list(std::string_view annotation, const PacketSequence& sequence, int depth,
                   std::string& out) const;
  Value value_of(std::string_view annotation, const PacketSequence& sequence) const;

  const PacketSequences& texts_;
  ImportNotes& notes_;
  std::uint64_t byte_ = 0;
  std::array<std::string, field_count> owned_;  // texts made here, by field
};

}  // namespace stepscope
