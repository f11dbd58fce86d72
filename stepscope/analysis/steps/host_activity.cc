// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/host_activity.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "stepscope/event/name_parts.h"

namespace stepscope {
namespace {

struct Rows {
  std::uint32_t first;
  std::uint32_t last;  // one past the end of the track
};

Rows rows_since(const Trace& trace, TrackId thread, Ns since) {
  const Track& track = trace.track(thread);
  const auto begin = trace.slices.start.begin() + track.first;
  const auto at = std::lower_bound(begin, begin + track.count, since);
  return {track.first + static_cast<std::uint32_t>(at - begin), track.first + track.count};
}

bool is_step(std::string_view name) { return name.substr(0, 12) == "ProfilerStep"; }

bool is_activity(const Trace& trace, std::uint32_t row) {
  const Category c = trace.slices.category[row];
  return (is_host(c) || c == Category::other) && !is_step(trace.name(SliceId{row}));
}

// Rows around one stretch [start, end) of a thread.
struct Surroundings {
  SliceId covering = no_slice;  // the deepest row that fills at least half
  SliceId before = no_slice;    // the last row to end before the longest empty part
  SliceId after = no_slice;     // the first row to start after that part
  Ns empty{};                   // length of that part
  std::uint32_t inside = 0;     // rows that start inside without covering
};

// True if a row fills at least half of a stretch.
bool fills(const Slices& s, std::uint32_t row, Ns start, Ns end) {
  const Ns shared = std::min(end, s.start[row] + s.dur[row]) - std::max(start, s.start[row]);
  return 2 * shared >= end - start;
}

Surroundings survey(const Trace& trace, Rows rows, Ns start, Ns end) {
  const Slices& s = trace.slices;
  Surroundings around;
  Ns reach = start;         // end of the time covered by the rows seen so far
  SliceId last = no_slice;  // the row among them that ends last
  const auto close = [&](Ns until, SliceId next) {
    if (until - reach <= around.empty) return;
    around.empty = until - reach;
    around.before = last;
    around.after = next;
  };
  std::uint32_t i = rows.first;
  for (; i < rows.last && s.start[i] < end; ++i) {
    const Ns row_end = s.start[i] + s.dur[i];
    // Nearly all rows before the stretch: they are over and did not end last.
    if (row_end <= start && last != no_slice && row_end <= s.end(last)) continue;
    if (!is_activity(trace, i)) continue;
    if (fills(s, i, start, end)) {
      around.covering = SliceId{i};  // rows come outermost first
      continue;
    }
    if (s.start[i] > reach) close(s.start[i], SliceId{i});
    if (last == no_slice || row_end > s.end(last)) last = SliceId{i};
    reach = std::max(reach, row_end);
    if (s.start[i] >= start) ++around.inside;
  }
  while (i < rows.last && !is_activity(trace, i)) ++i;
  if (reach < end) close(end, i < rows.last ? SliceId{i} : no_slice);
  return around;
}

std::string between(const Trace& trace, const Surroundings& around) {
  const auto named = [&](SliceId row) { return std::string(without_engine(trace.name(row))); };
  if (around.before == no_slice && around.after == no_slice) return "";
  if (around.before == no_slice) return "before " + named(around.after);
  if (around.after == no_slice) return "after " + named(around.before);
  return "between " + named(around.before) + " and " + named(around.after);
}

constexpr Ns long_call = std::chrono::milliseconds{1};

// A long call that is the first of its name on a thread: it loads code or sets up the device.
bool is_first_call(const Trace& trace, SliceId row) {
  const Slices& s = trace.slices;
  const Category c = s.category[index(row)];
  if ((c != Category::runtime && c != Category::driver) || s.dur[index(row)] < long_call)
    return false;
  std::uint32_t i = trace.track(s.track[index(row)]).first;
  while (s.name[i] != s.name[index(row)]) ++i;
  return SliceId{i} == row;
}

bool says_it_all(Category c) {
  return c == Category::cpu_op || c == Category::runtime || c == Category::driver;
}

}  // namespace

HostActivity host_activity(const Trace& trace, TrackId thread, Ns since, Ns start, Ns end) {
  const Rows rows = rows_since(trace, thread, std::min(since, start));
  const Surroundings around = survey(trace, rows, start, end);
  HostActivity activity;
  activity.covering = around.covering;
  const bool covered = around.covering != no_slice;
  const std::string name(covered ? without_engine(trace.name(around.covering))
                                 : std::string_view());
  if (covered && says_it_all(trace.slices.category[index(around.covering)])) {
    activity.text = name;
    if (is_first_call(trace, around.covering)) activity.text += first_call;
    return activity;
  }
  if (2 * around.empty >= end - start) {
    activity.text = between(trace, around);
  } else if (around.inside > 0) {
    activity.text = std::to_string(around.inside) + " short operators and calls";
  }
  if (activity.text.empty()) {
    activity.text = covered ? name : "no row recorded";
  } else if (covered) {
    activity.text += " in " + name;
  }
  return activity;
}

SliceId operator_around(const Trace& trace, TrackId thread, Ns since, Ns at) {
  const Slices& s = trace.slices;
  const Rows rows = rows_since(trace, thread, std::min(since, at));
  for (std::uint32_t i = rows.first; i < rows.last && s.start[i] <= at; ++i) {
    const bool around = s.category[i] == Category::cpu_op && s.start[i] + s.dur[i] > at;
    if (around && is_activity(trace, i)) return SliceId{i};
  }
  return no_slice;
}

}  // namespace stepscope
