// SPDX-License-Identifier: Apache-2.0
// A timeline small enough for a page. Neighbouring operations of one class on one row become one
// block if the gap between them is too small to be visible. The tolerance grows until the whole job
// fits the budget of blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

enum class TimelineKind : std::uint8_t { compute, communication, copy, host };
inline constexpr auto timeline_kind_names = enum_names<TimelineKind::host>;

struct TimelineBlock {
  Ns start{};
  Ns dur{};
  std::uint8_t kind_class = 0;  // NameClass
  std::uint32_t name = 0;       // into Timeline::names: name of the longest operation in the block
  std::int32_t step = -1;       // Step::index, -1 outside
};

struct TimelineTrack {
  int rank = 0;
  std::string label;  // "GPU 0 compute", "host 1234 (main)"
  TimelineKind kind = TimelineKind::compute;
  std::vector<TimelineBlock> blocks;
};

struct Timeline {
  std::vector<TimelineTrack> tracks;
  std::vector<std::string> names;
  bool reduced = false;  // blocks were merged
};

// Makes about `most_blocks` blocks at most.
[[nodiscard]] Timeline make_timeline(std::span<const RankView> views,
                                     std::size_t most_blocks = 300'000);

}  // namespace stepscope
