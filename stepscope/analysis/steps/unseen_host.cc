// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/unseen_host.h"

#include <algorithm>
#include <map>

#include "stepscope/analysis/steps/host_activity.h"

namespace stepscope {
namespace {

// Whether a row tells what its thread does all the time. Annotations around other rows do not.
bool tells(const Trace& trace, const Track& track, std::uint32_t row) {
  const Slices& s = trace.slices;
  const Category c = s.category[row];
  if (c == Category::trace_window || c == Category::gpu_annotation) return false;
  if (c != Category::user_annotation) return true;
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
  std::vector<HostSpan> seen;
  for (const TrackId id : view.index->host_tracks) {
    const Track& track = trace.track(id);
    std::vector<HostSpan> of_thread;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (s.start[i] < until && s.end(SliceId{i}) > from && tells(trace, track, i))
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

std::optional<UnseenWork> unseen_work(const RankView& view) {
  std::vector<bool> has_some(view.steps.size());
  std::map<std::string, Ns> by_place;
  Ns sum{};
  for (const HostSpan& stretch : unseen_host(view)) {
    const auto after = std::ranges::upper_bound(view.steps, stretch.start, {}, &Step::host_start);
    if (after == view.steps.begin()) continue;
    has_some[static_cast<std::size_t>(after - view.steps.begin()) - 1] = true;
    const Ns time = stretch.end - stretch.start;
    sum += time;
    if (stretch.row == no_slice) continue;
    const TrackId thread = view.trace->slices.track[index(stretch.row)];
    const Ns since = (after - 1)->host_start;
    by_place[host_activity(*view.trace, thread, since, stretch.start, stretch.end).text] += time;
  }
  const std::ptrdiff_t with = std::ranges::count(has_some, true);
  if (with == 0 || 4 * with < 3 * std::ssize(view.steps)) return std::nullopt;
  UnseenWork work{.of_step = sum / std::ssize(view.steps), .between = {}};
  const auto time_of = [](const auto& place) { return place.second; };
  if (!by_place.empty()) work.between = std::ranges::max_element(by_place, {}, time_of)->first;
  return work;
}

}  // namespace stepscope
