// SPDX-License-Identifier: Apache-2.0
// The parts of merged traces that do not depend on the format: the processes of a rank, the row of
// a track for each slice, the arguments of a slice, and the rows that an arrow joins.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// A place that a finding names.
struct TraceMark {
  Ns start{};  // on the clock of the trace
  Ns time{};
  std::string what;    // the name of its slice
  std::string advice;  // its argument; empty: none
};
inline constexpr std::string_view marks_row = "stepscope findings";

struct RankToWrite {
  int rank = 0;
  const Trace* trace = nullptr;    // sealed
  std::vector<TraceMark> marks{};  // a track of its own, marks_row, in the rank's first process
};

// By time, a longer one before those inside it.
[[nodiscard]] std::vector<TraceMark> in_row_order(std::vector<TraceMark> marks);

// The names of categories for readers; "" for rows without one.
[[nodiscard]] std::string_view cat_name(Category category);
inline constexpr bool is_launch(Category c) {
  return c == Category::runtime || c == Category::driver;
}

// A process or GPU of a rank. Its pid is unique among all ranks.
struct RankProcess {
  std::int64_t pid = 0;
  std::string name;  // "rank 3: python", "rank 3: GPU 0"
  bool device = false;
};
struct RankProcesses {
  std::vector<RankProcess> list;  // pids count up from the first
  std::vector<std::size_t> of_track;
};
[[nodiscard]] RankProcesses rank_processes(const RankToWrite& rank, std::int64_t first_pid);

// A thread with a text as its id gets a number that no real thread has.
[[nodiscard]] std::int64_t tid_of(const Track& track);
// The track's name, or "stream 7" if it has no name.
[[nodiscard]] std::string row_name(const Trace& trace, const Track& track);

// Correlations that both a call and device work have. Viewers need both ends of an arrow.
[[nodiscard]] std::unordered_set<std::uint32_t> linked_correlations(const Trace& trace);
// Unique for each rank and correlation.
[[nodiscard]] constexpr std::int64_t flow_id(int rank, std::uint32_t correlation) {
  return static_cast<std::int64_t>(rank) * 4'294'967'296 + correlation;
}

// The rows of a track. On each row, slices in time order nest.
class NestingRows {
 public:
  // The first row with room for the slice. Calls `ended(row, end)` for each slice of an examined
  // row that ends by `start`.
  template <class Ended>
  std::size_t place(Ns start, Ns end, Ended ended) {
    for (std::size_t r = 0;; ++r) {
      if (r == open_.size()) open_.emplace_back();
      std::vector<Ns>& row = open_[r];
      for (; !row.empty() && row.back() <= start; row.pop_back()) ended(r, row.back());
      if (!row.empty() && end > row.back()) continue;
      row.push_back(end);
      return r;
    }
  }
  // Ends all open slices.
  template <class Ended>
  void finish(Ended ended) {
    for (std::size_t r = 0; r < open_.size(); ++r)
      for (; !open_[r].empty(); open_[r].pop_back()) ended(r, open_[r].back());
  }
  [[nodiscard]] std::size_t size() const { return open_.size(); }

 private:
  std::vector<std::vector<Ns>> open_;  // ends, the innermost last
};

// Receives the arguments of a slice one by one.
class SliceArguments {
 public:
  virtual ~SliceArguments() = default;
  virtual void integer(std::string_view key, std::int64_t value) = 0;
  virtual void real(std::string_view key, double value) = 0;
  virtual void text(std::string_view key, StringId value) = 0;
  virtual void list(std::string_view key, StringId value) = 0;  // a list as spelled in the file
};

// The slices of one trace with their details.
class ArgumentsOf {
 public:
  explicit ArgumentsOf(const Trace& trace);
  void give(SliceId id, SliceArguments& out) const;

 private:
  void give_detail(Category category, std::uint32_t row, SliceArguments& out) const;
  static void give_collective(const Collective& c, SliceArguments& out);

  const Trace& trace_;
  std::vector<std::uint32_t> metrics_;  // rows of `counters` that belong to a slice, by slice
};

// The origin of all written instants: the first of any rank, truncated to seconds. Zero if a clock
// is relative.
[[nodiscard]] Ns common_base(std::span<const RankToWrite> ranks);

}  // namespace stepscope
