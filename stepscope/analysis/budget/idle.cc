// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/idle.h"

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

std::optional<std::string> name_of(const Trace& trace, SliceId row) {
  if (row == no_slice) return std::nullopt;
  return std::string(trace.name(row));
}

std::optional<std::string> culprit_of(const Trace& trace, const IdlePiece& piece, Ns since,
                                      const HostActivity& activity) {
  switch (piece.cause) {
    case idle_sync: {
      const SliceId call = piece.culprit;
      if (call == no_slice) return std::nullopt;
      const SliceId around = operator_around(trace, trace.slices.track[index(call)], since,
                                             trace.slices.start[index(call)]);
      return name_of(trace, around == no_slice ? call : around);
    }
    case idle_launch:
      return name_of(trace, piece.delayed);
    case idle_host:
      return name_of(trace, activity.covering);
    default:
      return name_of(trace, piece.culprit);
  }
}

IdleInstance describe(const Trace& trace, const RankIndex& rank, const Step& step,
                      const IdlePiece& piece) {
  const Ns since = std::min(step.host_start, piece.start);
  const auto thread = piece.host != no_row ? TrackId{piece.host} : rank.main_track;
  const HostActivity activity =
      thread ? host_activity(trace, *thread, since, piece.start, piece.end) : HostActivity{};
  return {.start = piece.start,
          .wall = piece.end - piece.start,
          .step = step.index,
          .host_activity = activity.text,
          .culprit = culprit_of(trace, piece, since, activity)};
}

}  // namespace

std::vector<IdleCause> idle_causes(const Trace& trace, const RankIndex& rank,
                                   std::span<const Step> steps, const DeviceBudget& budget,
                                   std::size_t largest) {
  std::array<IdleCause, budget_category_count> causes;
  std::array<std::vector<const IdlePiece*>, budget_category_count> top;
  const auto longer = [](const IdlePiece* a, const IdlePiece* b) {
    const Ns length_a = a->end - a->start;
    const Ns length_b = b->end - b->start;
    return length_a != length_b ? length_a > length_b : a->start < b->start;
  };
  for (const IdlePiece& piece : budget.idle) {
    const auto c = static_cast<std::size_t>(piece.cause);
    causes[c].cause = piece.cause;
    causes[c].total += piece.end - piece.start;
    ++causes[c].count;
    if (top[c].size() == largest && (largest == 0 || !longer(&piece, top[c].back()))) continue;
    if (top[c].size() == largest) top[c].pop_back();
    top[c].insert(std::upper_bound(top[c].begin(), top[c].end(), &piece, longer), &piece);
  }
  std::vector<IdleCause> result;
  for (std::size_t c = 0; c < causes.size(); ++c) {
    if (causes[c].count == 0) continue;
    for (const IdlePiece* piece : top[c])
      causes[c].largest.push_back(describe(trace, rank, steps[piece->step], *piece));
    result.push_back(std::move(causes[c]));
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &IdleCause::total);
  return result;
}

void find_idle_in_start_up(std::span<const IdlePiece> idle, std::span<const Step> steps,
                           StartUp& start_up) {
  start_up.idle = Ns{0};
  Ns counted = Ns::min();  // spans of several threads may overlap
  auto piece = idle.begin();
  for (StartUpSpan& span : start_up.spans) {
    span.idle = Ns{0};
    while (piece != idle.end() && piece->end <= span.start) ++piece;
    for (auto at = piece; at != idle.end() && at->start < span.end; ++at) {
      if (at->cause != idle_host && at->cause != idle_launch) continue;
      for (auto step = std::ranges::upper_bound(steps, at->start, {}, &Step::end);
           step != steps.end() && step->start < at->end; ++step) {
        const Ns end = std::min({at->end, span.end, step->end});
        const Ns start = std::max({at->start, span.start, step->start});
        span.idle += std::max(Ns{0}, end - start);
        start_up.idle += std::max(Ns{0}, end - std::max(start, counted));
      }
    }
    counted = std::max(counted, span.end);
  }
}

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
  const std::vector<bool> waits = by_name(trace.strings, is_gil_wait);
  if (std::ranges::count(waits, true) == 0) return out;
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
