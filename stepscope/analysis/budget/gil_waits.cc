// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/gil_waits.h"

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

std::vector<bool> launching_tracks(const Trace& trace, const RankIndex& rank) {
  std::vector<bool> launching(trace.tracks.size());
  if (rank.main_track) launching[index(*rank.main_track)] = true;
  for (const SliceId call : rank.launch_of)
    if (call != no_slice) launching[index(trace.slices.track[index(call)])] = true;
  return launching;
}

// Time within [start, end) in which the device was idle and waited for the thread `track`.
Ns idle_of(const DeviceBudget& budget, std::uint32_t track, Ns start, Ns end) {
  Ns sum{};
  auto piece = std::ranges::upper_bound(budget.idle, start, {}, &IdlePiece::end);
  for (; piece != budget.idle.end() && piece->start < end; ++piece)
    if (piece->host == track && piece->cause != BudgetCategory::idle_dependency)
      sum += std::min(end, piece->end) - std::max(start, piece->start);
  return sum;
}

}  // namespace

bool is_gil_wait(std::string_view name) {
  constexpr auto words = std::to_array<std::string_view>(
      {"take_gil", "PyEval_AcquireThread", "PyGILState_Ensure", "Waiting for GIL",
       "waiting for GIL", "wait for GIL", "GIL wait", "Wait for GIL"});
  return contains_any(name, words);
}

GilWaits gil_waits(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                   const DeviceBudget& budget) {
  GilWaits out;
  std::vector<bool> waits(trace.strings.size());
  bool any = false;
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
    waits[i] = is_gil_wait(trace.strings[StringId{i}]);
    any = any || waits[i];
  }
  if (!any) return out;
  const Slices& s = trace.slices;
  const std::vector<bool> launching = launching_tracks(trace, rank);
  for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    if (track.device || !launching[t]) continue;
    Ns until = Ns::min();
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!waits[index(s.name[i])] || !step_of_host(steps, s.start[i])) continue;
      const Ns start = std::max(s.start[i], until);
      const Ns end = s.end(SliceId{i});
      ++out.count;
      if (s.dur[i] > out.worst) {
        out.worst = s.dur[i];
        out.worst_at = s.start[i];
      }
      if (start >= end) continue;
      until = end;
      out.total += end - start;
      out.idle += idle_of(budget, t, start, end);
    }
  }
  return out;
}

}  // namespace stepscope
