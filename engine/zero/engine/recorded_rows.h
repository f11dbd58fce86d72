// SPDX-License-Identifier: Apache-2.0
// What a rank recorded of some steps, as plain rows: to be kept, sent to another rank, and made a
// trace of (trace_recorder.h). Instants are the rank's CLOCK_MONOTONIC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/telemetry/rank_recorder.h"
#include "engine/telemetry/rank_window.h"
#include "engine/zero/engine/engine.h"
#include "stepscope/base/element.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct RecordedOperation {
  nn::OpCall call{};
  Ns begin{};
  Ns end{};
};
// The first letters of a name.
template <std::size_t most>
struct ShortName {
  std::array<char, most> letters{};
  std::uint8_t length = 0;
  ShortName() = default;
  explicit ShortName(std::string_view name)
      : length(static_cast<std::uint8_t>(name.copy(letters.data(), most))) {}
  [[nodiscard]] std::string_view text() const { return {letters.data(), length}; }
};
struct RecordedUnit {
  ShortName<24> name{};
  Activity activity = Activity::other;
  Ns begin{};
  Ns end{};
};
struct RecordedMessage {
  CollectiveRecord record{};
  ShortName<40> what{};
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  ElementType type = ElementType::f32;
};

// Each list in the order of recording.
struct RecordedRows {
  std::vector<RecordedOperation> operations;
  std::vector<RecordedUnit> units;
  std::vector<RecordedMessage> messages;
  std::vector<ShardMove> moves;
  std::vector<ActivitySpan> activities;
  std::vector<StepRecord> steps;
  std::uint64_t left_out = 0;  // rows for which there was no room

  // Drops all but the last steps, with what began before them.
  void keep_last(std::size_t count);
};

// Both ends run the same build.
[[nodiscard]] std::vector<std::byte> encode(const RecordedRows& rows);
// Errors: bytes that encode() does not write.
[[nodiscard]] Result<RecordedRows> decode_rows(std::span<const std::byte> bytes);

}  // namespace stepscope::zero
