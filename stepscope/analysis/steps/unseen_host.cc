// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/unseen_host.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "stepscope/analysis/steps/host_activity.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/analysis/steps/step_at.h"

namespace stepscope {
namespace {

using Phases = std::vector<std::optional<Phase>>;  // by name

// Whether a row tells what its thread does all the time. Annotations around other rows do not,
// except those of data loaders.
bool tells(const Trace& trace, const Phases& phases, const Track& track, std::uint32_t row) {
  const Slices& s = trace.slices;
  const Category c = s.category[row];
  if (c == Category::trace_window || c == Category::gpu_annotation) return false;
  if (c != Category::user_annotation || phases[index(s.name[row])] == Phase::data) return true;
  const std::uint32_t next = row + 1;
  return next == track.first + track.count || s.start[next] >= s.end(SliceId{row});
}

}  // namespace

std::vector<HostSpan> unseen_host(const RankView& view) {
  if (view.steps.empty()) return {};
  const Ns from = view.steps.front().host_start;
  const Ns until = view.steps.back().host_end;
  const Trace& trace = *view.trace;
  const Slices& s = trace.slices;
  const Phases phases = phases_of_names(trace.strings);
  std::vector<HostSpan> seen;
  for (const TrackId id : view.index->host_tracks) {
    const Track& track = trace.track(id);
    std::vector<HostSpan> of_thread;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (s.start[i] < until && s.end(SliceId{i}) > from && tells(trace, phases, track, i))
        extend(of_thread, s.start[i], s.end(SliceId{i}), SliceId{i});
    seen.insert(seen.end(), of_thread.begin(), of_thread.end());
  }
  std::ranges::sort(seen, {}, &HostSpan::start);
  std::vector<HostSpan> unseen;
  if (seen.empty()) return unseen;
  Ns reach = from;
  SliceId last = no_slice;
  const auto stretch = [&](Ns to) {
    if (to - reach >= least_unseen) unseen.push_back({reach, to, last});
  };
  for (const HostSpan& span : seen) {
    if (span.start > reach) stretch(std::min(span.start, until));
    if (span.end <= reach) continue;
    reach = span.end;
    last = span.row;
  }
  stretch(until);
  return unseen;
}

namespace {

// The step in which a stretch lies.
std::size_t step_around(const RankView& view, const HostSpan& stretch) {
  return static_cast<std::size_t>(last_step_of_host(view.steps, stretch.start));
}

// Where the longest stretches lie, if half of `all` lies between the same rows. Finding the rows
// around one reads those of its step.
std::string place_of_most(const RankView& view, std::vector<HostSpan> stretches, Ns all) {
  constexpr std::size_t most_read = 32;
  const auto length = [](const HostSpan& stretch) { return stretch.end - stretch.start; };
  std::ranges::stable_sort(stretches, std::ranges::greater{}, length);
  std::map<std::string, Ns> by_place;
  for (const HostSpan& stretch : stretches | std::views::take(most_read)) {
    if (stretch.row == no_slice) continue;
    const TrackId thread = view.trace->slices.track[index(stretch.row)];
    const Ns since = view.steps[step_around(view, stretch)].host_start;
    by_place[host_activity(*view.trace, thread, since, stretch.start, stretch.end).text] +=
        length(stretch);
  }
  for (const auto& [place, time] : by_place)
    if (place.starts_with("between ") && 2 * time >= all) return place;
  return {};
}

std::optional<UnseenWork> work_of(const RankView& view) {
  std::vector<HostSpan> stretches = unseen_host(view);
  std::vector<bool> has_some(view.steps.size());
  Ns sum{};
  for (const HostSpan& stretch : stretches) {
    has_some[step_around(view, stretch)] = true;
    sum += stretch.end - stretch.start;
  }
  const std::ptrdiff_t with = std::ranges::count(has_some, true);
  if (with == 0 || 4 * with < 3 * std::ssize(view.steps)) return std::nullopt;
  return UnseenWork{.of_step = sum / std::ssize(view.steps),
                    .least = sum / std::ssize(view.steps),
                    .between = place_of_most(view, std::move(stretches), sum),
                    .ranks = {}};
}

}  // namespace

std::optional<UnseenWork> unseen_work(std::span<const RankView> views) {
  std::set<int> ranks;
  std::ptrdiff_t with = 0;
  Ns sum{};
  Ns least = Ns::max();
  std::optional<UnseenWork> most;
  for (const RankView& view : views) {
    std::optional<UnseenWork> work = work_of(view);
    if (!work) continue;
    ranks.insert(view.rank);
    ++with;
    sum += work->of_step;
    least = std::min(least, work->least);
    if (!most || work->of_step > most->of_step) most = std::move(work);
  }
  if (!most || 2 * with < std::ssize(views)) return std::nullopt;
  most->of_step = sum / with;
  most->least = with < std::ssize(views) ? Ns{0} : least;
  if (with < std::ssize(views)) most->ranks = {ranks.begin(), ranks.end()};
  return most;
}

}  // namespace stepscope
