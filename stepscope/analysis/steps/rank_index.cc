// SPDX-License-Identifier: Apache-2.0
// One pass over the columns finds device work, launch calls and threads; one sort by correlation
// joins them.
#include "stepscope/analysis/steps/rank_index.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/nesting.h"
#include "stepscope/base/ascii.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

// Whether a name marks a profiler step or opens a node of the backward graph.
enum Mark : std::uint8_t { plain = 0, profiler_step = 1, backward_node = 2 };

Mark mark_of(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function")) return backward_node;
  return name.starts_with("ProfilerStep") ? profiler_step : plain;
}

// The use of a thread, compared lexicographically to find the main thread. Operator time is a union
// of intervals without the backward graph: the thread of that graph is busier than the main thread,
// which waits for it.
struct ThreadUse {
  std::uint64_t steps = 0;
  CoveredTime operators;
  CoveredTime calls;  // except calls of the operating system, in which idle threads wait
  CoveredTime anything;

  [[nodiscard]] auto key() const {
    return std::tie(steps, operators.total, calls.total, anything.total);
  }
};

ThreadUse use_of(const Trace& trace, const Track& track, const std::vector<Mark>& marks) {
  const Slices& s = trace.slices;
  ThreadUse use;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (!is_host_row(s.category[i])) continue;
    const Ns end = s.start[i] + s.dur[i];
    const Mark mark = marks[index(s.name[i])];
    if (mark == profiler_step) {
      ++use.steps;
      continue;
    }
    use.anything.add(s.start[i], end);
    if (s.category[i] != Category::other) use.calls.add(s.start[i], end);
    if (mark == backward_node)
      use.operators.until = std::max(use.operators.until, end);
    else if (s.category[i] == Category::cpu_op)
      use.operators.add(s.start[i], end);
  }
  return use;
}

void find_threads(const Trace& trace, RankIndex& rank) {
  const std::vector<Mark> marks = by_name(trace.strings, mark_of);
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

void find_device_work(const Trace& trace, RankIndex& rank) {
  const Slices& s = trace.slices;
  std::map<int, std::vector<SliceId>> by_device;
  for (const Track& track : trace.tracks) {
    std::vector<SliceId>* ops = nullptr;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_device_work(s.category[i])) continue;
      if (ops == nullptr) ops = &by_device[track.device_index];
      ops->push_back(SliceId{i});
    }
  }
  for (auto& [device, ops] : by_device)
    rank.devices.push_back({.device = device, .ops = std::move(ops)});
  for (DeviceLane& lane : rank.devices) {
    run_sort(lane.ops, [&](SliceId a, SliceId b) {
      return std::pair(s.start[index(a)], a) < std::pair(s.start[index(b)], b);
    });
    lane.start = s.start[index(lane.ops.front())];
    lane.end = lane.start;
    for (const SliceId op : lane.ops) lane.end = std::max(lane.end, s.end(op));
  }
}

// The launch calls by correlation, then start. Several windows of a rank may reuse a correlation;
// time distinguishes them.
std::vector<SliceId> calls_by_correlation(const Slices& s) {
  std::vector<SliceId> calls;
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (s.correlation[i] != 0 && is_call(s.category[i])) calls.push_back(SliceId{i});
  const auto key = [&](SliceId id) {
    return std::tuple(s.correlation[index(id)], s.start[index(id)], -s.dur[index(id)]);
  };
  run_sort(calls, [&](SliceId a, SliceId b) { return key(a) < key(b); });
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

// Numbers of calls that the trace lacks.
void number_unlaunched(const Trace& trace, RankIndex& rank) {
  const Slices& s = trace.slices;
  std::vector<std::uint32_t> last(trace.tracks.size(), 0);
  std::size_t falls = 0;
  std::size_t operations = 0;
  for (const SliceId op : rank.operations()) {
    ++operations;
    const std::uint32_t number = s.correlation[index(op)];
    if (number == 0 || rank.launch(op) != no_slice) continue;
    std::uint32_t& before = last[index(s.track[index(op)])];
    if (number < before) ++falls;
    before = number;
    rank.unlaunched.push_back({op, number});
  }
  if (2 * rank.unlaunched.size() > operations || 100 * falls > rank.unlaunched.size())
    rank.unlaunched.clear();
  rank.unlaunched.shrink_to_fit();
  std::ranges::sort(rank.unlaunched, {}, &RankIndex::Unlaunched::op);
}

// Rows without a launch may be those of calls that the writer never joins.
bool has_loose_rows(const RankIndex& rank) {
  return std::ranges::any_of(rank.operations(),
                             [&](SliceId op) { return rank.launch(op) == no_slice; });
}

// Launches without a device row of their correlation. `calls` as calls_by_correlation() gives them;
// `answered`: by slice, the calls behind device rows.
std::vector<SliceId> unanswered_launches(const Trace& trace, const RankIndex& rank,
                                         const std::vector<SliceId>& calls,
                                         const std::vector<bool>& answered) {
  const Slices& s = trace.slices;
  const std::vector<bool> launching = by_name(trace.strings, is_launch_call);
  std::vector<SliceId> lost;
  if (rank.devices.empty()) {  // without devices no call has a row, whatever its correlation
    for (std::uint32_t i = 0; i < s.size(); ++i)
      if (is_call(s.category[i]) && launching[index(s.name[i])]) lost.push_back(SliceId{i});
    return lost;
  }
  std::vector<bool> joined(trace.strings.size());  // by name: some call has a row
  for (std::size_t first = 0, last = 0; first < calls.size(); first = last) {
    bool seen = false;
    const std::uint32_t correlation = s.correlation[index(calls[first])];
    for (; last < calls.size() && s.correlation[index(calls[last])] == correlation; ++last)
      seen = seen || answered[index(calls[last])];
    for (std::size_t i = first; i < last; ++i) {
      const StringId name = s.name[index(calls[i])];
      if (seen) joined[index(name)] = true;
      if (!seen && launching[index(name)]) lost.push_back(calls[i]);
    }
  }
  if (!lost.empty() && has_loose_rows(rank))
    std::erase_if(lost, [&](SliceId call) { return !joined[index(s.name[index(call)])]; });
  return lost;
}

}  // namespace

std::vector<GraphCapture> graph_captures(const Trace& trace) {
  const Slices& s = trace.slices;
  std::vector<GraphCapture> captures;
  for (const Track& track : trace.tracks) {
    if (track.device) continue;
    bool open = false;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_call(s.category[i])) continue;
      const std::string_view name = trace.name(SliceId{i});
      if (contains(name, "StreamBeginCapture")) {
        captures.push_back({s.start[i], Ns::max()});
        open = true;
      } else if (open && contains(name, "StreamEndCapture")) {
        captures.back().end = s.start[i];
        open = false;
      }
    }
  }
  return captures;
}

namespace {

// Takes launches into a graph out, and those around or inside another launch: a call of the runtime
// makes one of the driver. The others are then by start.
void keep_real_launches(const Trace& trace, const std::vector<bool>& answered,
                        std::vector<SliceId>& lost) {
  if (lost.empty()) return;
  const Slices& s = trace.slices;
  std::vector<GraphCapture> captures = graph_captures(trace);
  std::ranges::sort(captures, {}, &GraphCapture::start);
  for (std::size_t i = 1; i < captures.size(); ++i)  // the latest end so far
    captures[i].end = std::max(captures[i].end, captures[i - 1].end);
  const auto captured = [&](Ns at) {
    const auto after = std::ranges::upper_bound(captures, at, {}, &GraphCapture::start);
    return after != captures.begin() && at < std::prev(after)->end;
  };
  // Whether a row lies right inside the one before it, and both launch.
  const auto nested = [&](std::uint32_t row) {
    return row > 0 && row < s.size() && s.track[row] == s.track[row - 1] &&
           is_call(s.category[row - 1]) && s.end(SliceId{row}) <= s.end(SliceId{row - 1}) &&
           is_launch_call(trace.name(SliceId{row - 1})) && is_launch_call(trace.name(SliceId{row}));
  };
  std::erase_if(lost, [&](SliceId call) {
    const std::uint32_t row = index(call);
    return nested(row) || (nested(row + 1) && answered[row + 1]) || captured(s.start[row]);
  });
  std::ranges::sort(lost, {}, [&](SliceId call) { return std::pair(s.start[index(call)], call); });
}

void join_launches(const Trace& trace, RankIndex& rank) {
  const Slices& s = trace.slices;
  const std::vector<SliceId> calls = calls_by_correlation(s);
  std::vector<bool> answered(s.size());
  if (!rank.devices.empty()) {
    const auto [first, last] = std::ranges::minmax(rank.operations());
    rank.first_device = index(first);
    rank.launch_of.assign(index(last) - index(first) + 1, no_slice);
    auto near = calls.cbegin();
    for (const SliceId op : rank.operations()) {
      if (s.correlation[index(op)] == 0) continue;
      const SliceId call = call_behind(s, calls, op, near);
      rank.launch_of[index(op) - index(first)] = call;
      if (call != no_slice) answered[index(call)] = true;
    }
  }
  rank.lost_launches = unanswered_launches(trace, rank, calls, answered);
  keep_real_launches(trace, answered, rank.lost_launches);
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
  number_unlaunched(trace, rank);
  find_threads(trace, rank);
  return rank;
}

bool is_launch_call(std::string_view name) {
  return contains(name, "Launch") && !contains(name, "HostFunc");
}

bool is_migration(std::string_view name) {
  return name.starts_with("Memcpy ") && name.find("(Unified") != std::string_view::npos;
}

bool is_graph_launch(std::string_view name) { return contains(name, "GraphLaunch"); }

namespace {

using enum NameClass;

// Whether an operator may change the class that the name gave.
bool is_open(NameClass by_name) {
  return by_name == other || by_name == reduction || by_name == softmax || by_name == elementwise ||
         by_name == copy;
}

NameClass class_of_launch(NameClass by_name, NameClass by_operator) {
  const bool product = by_operator == matmul || by_operator == attention;
  const bool special = by_operator == quantize || by_operator == routing;
  if (by_name == other) return by_operator;
  if (by_name == reduction || by_name == softmax)
    return product || (special && by_name == reduction) ? by_operator : by_name;
  return special ? by_operator : by_name;
}

// Whether the helpers that an operator of this class calls are part of its work.
bool passes_down(NameClass c) {
  return c == attention || c == norm || c == softmax || c == quantize || c == routing ||
         c == optimizer || c == embedding || c == loss;
}

bool is_evidence(Category category, NameClass c) {
  if (c == other || c == communication || c == wait) return false;
  return category == Category::cpu_op || (category == Category::user_annotation && c == optimizer);
}

}  // namespace

void classify_by_launch(Trace& trace, const RankIndex& rank) {
  Slices& s = trace.slices;
  // What surrounds the launch of a graph says nothing about its kernels.
  const auto open = [&](SliceId op) {
    if (s.category[index(op)] != Category::kernel || !is_open(s.kind[index(op)])) return false;
    const SliceId call = rank.launch(op);
    return call != no_slice && !is_graph_launch(trace.name(call));
  };
  if (std::ranges::none_of(rank.operations(), open)) return;
  std::vector<NameClass> around(s.size(), other);  // by host row: what its operators say
  const auto frame = [&](SliceId row) {
    const Category c = s.category[index(row)];
    return c == Category::cpu_op || c == Category::user_annotation;
  };
  for (const TrackId track : rank.host_tracks) {
    visit_nested(s, trace.track(track), frame, [&](SliceId row, SliceId parent) {
      const std::uint32_t i = index(row);
      const NameClass outer = parent == no_slice ? other : around[index(parent)];
      if (frame(row) && is_evidence(s.category[i], s.kind[i]))
        around[i] = s.kind[i];
      else if (!frame(row) || passes_down(outer))
        around[i] = outer;
    });
  }
  for (const SliceId op : rank.operations()) {
    if (!open(op)) continue;
    NameClass& kind = s.kind[index(op)];
    const NameClass by_operator = around[index(rank.launch(op))];
    if (by_operator != other) kind = class_of_launch(kind, by_operator);
  }
}

bool is_backend_row(std::string_view name) {
  constexpr std::array<std::string_view, 7> backends = {
      "nccl:", "rccl:", "gloo:", "mpi:", "ucc:", "hccl:", "xccl:"};
  return std::ranges::any_of(backends, [&](std::string_view b) {
    return name.starts_with(b) && name.size() > b.size() && name[b.size()] != ':';
  });
}

std::vector<bool> backend_row_names(const StringPool& strings) {
  return by_name(strings, is_backend_row);
}

}  // namespace stepscope
