// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/phase_ranges.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

// Sorted by start; overlapping and touching ranges become one.
void join(std::vector<PhaseSpan>& ranges) {
  std::ranges::sort(ranges, {}, &PhaseSpan::start);
  std::size_t kept = 0;
  for (const PhaseSpan& range : ranges) {
    if (kept > 0 && range.start <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

}  // namespace

std::size_t step_until(std::span<const Step> steps, Ns instant) {
  const auto at = std::ranges::upper_bound(steps, instant, {}, &Step::host_end);
  return static_cast<std::size_t>(at - steps.begin());
}

PhaseRanges::PhaseRanges(const Trace& trace, const RankIndex& rank, std::span<const Step> steps)
    : steps_(steps) {
  const std::vector<std::optional<Phase>> whole = by_name(trace.strings, whole_phase_of_name);
  if (std::ranges::none_of(whole, [](const auto& phase) { return phase.has_value(); })) return;
  const Slices& s = trace.slices;
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const std::optional<Phase> phase = whole[index(s.name[i])];
      // Recorders before PyTorch 1.12 write annotations as operators.
      if (!phase ||
          (s.category[i] != Category::user_annotation && s.category[i] != Category::cpu_op))
        continue;
      const std::size_t step = step_until(steps, s.start[i]);
      if (step == steps.size() || s.dur[i] <= Ns{}) continue;
      ranges_.resize(steps.size());
      ranges_[step][static_cast<std::size_t>(*phase)].push_back(
          {s.start[i], s.start[i] + s.dur[i], *phase});
    }
  }
  for (OfStep& of_step : ranges_) std::ranges::for_each(of_step, join);
}

std::vector<PhaseSpan> PhaseRanges::allowed(std::vector<PhaseSpan> spans) const {
  if (ranges_.empty()) return spans;
  std::vector<PhaseSpan> kept;
  for (const PhaseSpan& span : spans) {
    const std::size_t step = step_until(steps_, span.start);
    const auto* ranges =
        step == ranges_.size() ? nullptr : &ranges_[step][static_cast<std::size_t>(span.phase)];
    if (ranges == nullptr || ranges->empty()) {
      kept.push_back(span);
      continue;
    }
    for (auto r = std::ranges::upper_bound(*ranges, span.start, {}, &PhaseSpan::end);
         r != ranges->end() && r->start < span.end; ++r)
      kept.push_back({std::max(span.start, r->start), std::min(span.end, r->end), span.phase});
  }
  return kept;
}

}  // namespace stepscope
