// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/capture_cut.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace stepscope {
namespace {

enum Kind : std::size_t { host, call, device, kinds };

// Rows that repeat others or describe the profiler have no kind.
std::optional<Kind> kind_of(Category c) {
  switch (c) {
    case Category::cpu_op:
    case Category::user_annotation:
    case Category::other:
      return host;
    case Category::runtime:
    case Category::driver:
      return call;
    case Category::kernel:
    case Category::memcpy:
    case Category::memset:
    case Category::sync:
      return device;
    default:
      return std::nullopt;
  }
}

struct Reach {
  bool any = false;
  std::size_t last = 0;  // row
  std::size_t gap = 0;   // most rows between two of this kind
  Ns latest = Ns::min();
  Ns behind{};

  void take(std::size_t row, Ns start) {
    if (any) gap = std::max(gap, row - last - 1);
    any = true;
    last = row;
    latest = std::max(latest, start);
    behind = std::max(behind, latest - start);
  }
};

}  // namespace

CaptureCut find_cut(const Trace& trace) {
  const Slices& s = trace.slices;
  std::array<Reach, kinds> reach;
  CaptureCut cut{.end = Ns::min(), .complete_to = Ns::max()};
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::trace_window) cut.end = std::max(cut.end, s.start[i] + s.dur[i]);
    if (const auto kind = kind_of(s.category[i])) reach[*kind].take(i, s.start[i]);
  }
  for (const Reach& r : reach) {
    const bool finished = r.any && s.size() - 1 - r.last > r.gap;
    if (!finished)
      cut.complete_to = std::min(cut.complete_to, r.any ? r.latest - r.behind : Ns::min());
  }
  return cut;
}

}  // namespace stepscope
