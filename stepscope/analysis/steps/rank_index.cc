// SPDX-License-Identifier: Apache-2.0
// One pass over the columns finds device work, launch calls and threads; one sort by correlation
// joins them.
#include "stepscope/analysis/steps/rank_index.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

bool is_host_row(Category c) { return is_host(c) || c == Category::other; }

// By distinct name: whether it marks a profiler step or opens a node of the backward graph.
enum Mark : std::uint8_t { plain = 0, profiler_step = 1, backward_node = 2 };

std::vector<Mark> mark_names(const StringPool& strings) {
  std::vector<Mark> marks(strings.size(), plain);
  for (std::uint32_t i = 0; i < strings.size(); ++i) {
    const std::string_view name = strings[StringId{i}];
    if (name.starts_with("ProfilerStep")) marks[i] = profiler_step;
    if (name.starts_with("autograd::engine::evaluate_function")) marks[i] = backward_node;
  }
  return marks;
}

// The use of a thread, compared lexicographically to find the main thread. Operator time is a union
// of intervals without the backward graph: the thread of that graph is busier than the main thread,
// which waits for it.
struct ThreadUse {
  std::uint64_t steps = 0;
  Ns operators{};
  Ns calls{};  // except calls of the operating system, in which idle threads wait
  Ns anything{};

  [[nodiscard]] auto key() const { return std::tie(steps, operators, calls, anything); }
};

// Adds to a union of intervals that arrive by start.
void cover(Ns start, Ns end, Ns& covered_until, Ns& total) {
  if (end <= covered_until) return;
  total += end - std::max(start, covered_until);
  covered_until = end;
}

ThreadUse use_of(const Trace& trace, const Track& track, const std::vector<Mark>& marks) {
  const Slices& s = trace.slices;
  ThreadUse use;
  Ns operators_until = Ns::min();
  Ns calls_until = Ns::min();
  Ns anything_until = Ns::min();
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (!is_host_row(s.category[i])) continue;
    const Ns end = s.start[i] + s.dur[i];
    const Mark mark = marks[index(s.name[i])];
    if (mark == profiler_step) {
      ++use.steps;
      continue;
    }
    cover(s.start[i], end, anything_until, use.anything);
    if (s.category[i] != Category::other) cover(s.start[i], end, calls_until, use.calls);
    if (mark == backward_node) {
      operators_until = std::max(operators_until, end);
    } else if (s.category[i] == Category::cpu_op) {
      cover(s.start[i], end, operators_until, use.operators);
    }
  }
  return use;
}

void find_threads(const Trace& trace, RankIndex& rank) {
  const std::vector<Mark> marks = mark_names(trace.strings);
  ThreadUse best;
  for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    const auto begin = trace.slices.category.begin() + track.first;
    if (track.device || std::none_of(begin, begin + track.count, is_host_row)) continue;
    rank.host_tracks.push_back(TrackId{t});
    const ThreadUse use = use_of(trace, track, marks);
    if (!rank.main_track || best.key() < use.key()) {
      rank.main_track = TrackId{t};
      best = use;
    }
  }
}

DeviceLane& lane_of(RankIndex& rank, int device) {
  const auto at = std::find_if(rank.devices.begin(), rank.devices.end(),
                               [&](const DeviceLane& lane) { return lane.device == device; });
  if (at != rank.devices.end()) return *at;
  DeviceLane lane;
  lane.device = device;
  return rank.devices.emplace_back(std::move(lane));
}

void find_device_work(const Trace& trace, RankIndex& rank) {
  const Slices& s = trace.slices;
  for (const Track& track : trace.tracks) {
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (is_device_work(s.category[i]))
        lane_of(rank, track.device_index).ops.push_back(SliceId{i});
    }
  }
  std::sort(rank.devices.begin(), rank.devices.end(),
            [](const DeviceLane& a, const DeviceLane& b) { return a.device < b.device; });
  for (DeviceLane& lane : rank.devices) {
    run_sort(lane.ops, [&](SliceId a, SliceId b) {
      const Ns start_a = s.start[index(a)];
      const Ns start_b = s.start[index(b)];
      return start_a != start_b ? start_a < start_b : index(a) < index(b);
    });
    lane.start = s.start[index(lane.ops.front())];
    lane.end = lane.start;
    for (const SliceId op : lane.ops) lane.end = std::max(lane.end, s.end(op));
  }
}

// The launch calls by correlation, then start. Several windows of a rank may reuse a correlation;
// time tells them apart.
std::vector<SliceId> calls_by_correlation(const Slices& s) {
  std::vector<SliceId> calls;
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (s.correlation[i] == 0) continue;
    if (s.category[i] == Category::runtime || s.category[i] == Category::driver)
      calls.push_back(SliceId{i});
  }
  run_sort(calls, [&](SliceId a, SliceId b) {
    const auto key = [&](SliceId id) {
      return std::tuple(s.correlation[index(id)], s.start[index(id)], -s.dur[index(id)]);
    };
    return key(a) < key(b);
  });
  return calls;
}

// The position where `before` stops to hold in [first, last), searched around `near`.
template <class Iterator, class Before>
Iterator partition_near(Iterator first, Iterator last, Iterator near, Before before) {
  std::ptrdiff_t step = 1;
  if (near != last && before(*near)) {
    for (; last - near > step && before(*(near + step)); step *= 2) near += step;
    return std::partition_point(near + 1, near + std::min(step, last - near), before);
  }
  for (; near - first > step && !before(*(near - step)); step *= 2) near -= step;
  return std::partition_point(near - std::min(step, near - first), near, before);
}

// The last call of this correlation that began before the operation; the first call of all if the
// clocks say that none did. If a driver call inside a runtime call has the same correlation, the
// outer call counts. Operations come nearly in the order of their calls: `near` is the position of
// the previous result.
SliceId call_behind(const Slices& s, const std::vector<SliceId>& calls, SliceId op,
                    std::vector<SliceId>::const_iterator& near) {
  const std::uint32_t correlation = s.correlation[index(op)];
  const Ns start = s.start[index(op)];
  const auto first = partition_near(calls.begin(), calls.end(), near, [&](SliceId call) {
    return s.correlation[index(call)] < correlation;
  });
  near = first;
  if (first == calls.end() || s.correlation[index(*first)] != correlation) return no_slice;
  auto after = partition_near(first, calls.end(), first, [&](SliceId call) {
    return s.correlation[index(call)] == correlation && s.start[index(call)] <= start;
  });
  if (after == first) return *first;
  --after;
  if (after != first && s.end(*(after - 1)) >= s.end(*after)) --after;
  return *after;
}

// Slice ids of the first operation of all devices and after the last.
std::pair<std::uint32_t, std::uint32_t> device_rows(const RankIndex& rank) {
  std::uint32_t first = no_row;
  std::uint32_t last = 0;
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops) {
      first = std::min(first, index(op));
      last = std::max(last, index(op) + 1);
    }
  return {first, last};
}

void join_launches(const Trace& trace, RankIndex& rank) {
  if (rank.devices.empty()) return;
  const Slices& s = trace.slices;
  const auto [first, last] = device_rows(rank);
  rank.first_device = first;
  rank.launch_of.assign(last - first, no_slice);
  const std::vector<SliceId> calls = calls_by_correlation(s);
  auto near = calls.cbegin();
  for (const DeviceLane& lane : rank.devices) {
    for (const SliceId op : lane.ops) {
      if (s.correlation[index(op)] != 0)
        rank.launch_of[index(op) - first] = call_behind(s, calls, op, near);
    }
  }
}

// True if the trace has calls such as cudaLaunchKernel, hipExtModuleLaunchKernel, cuLaunchKernelEx
// or cudaGraphLaunch.
bool has_launches(const Trace& trace) {
  const Slices& s = trace.slices;
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::runtime && s.category[i] != Category::driver) continue;
    if (trace.name(SliceId{i}).find("Launch") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

RankIndex index_rank(const Trace& trace) {
  RankIndex rank;
  const Slices& s = trace.slices;
  if (s.size() == 0) return rank;
  rank.start = *std::min_element(s.start.begin(), s.start.end());
  rank.end = rank.start;
  for (std::size_t i = 0; i < s.size(); ++i) rank.end = std::max(rank.end, s.start[i] + s.dur[i]);
  find_device_work(trace, rank);
  join_launches(trace, rank);
  rank.device_unseen = rank.devices.empty() && has_launches(trace);
  find_threads(trace, rank);
  return rank;
}

}  // namespace stepscope
