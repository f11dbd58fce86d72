// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/recording/recording.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/event/name_class.h"

namespace stepscope {
namespace {

// Rows beyond the profiler's own rows of its windows; none if it wrote no such row.
std::uint64_t rows_outside(const Trace& trace) {
  const Slices& s = trace.slices;
  Ns first = Ns::max();
  Ns last = Ns::min();
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::trace_window) continue;
    first = std::min(first, s.start[i]);
    last = std::max(last, s.start[i] + s.dur[i]);
  }
  std::uint64_t outside = 0;
  if (last < first) return outside;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s.category[i] != Category::trace_window &&
        (s.start[i] < first || s.start[i] + s.dur[i] > last))
      ++outside;
  return outside;
}

// Kernels that outlast the next one of their stream, of another launch. A stream runs one after the
// other.
std::uint64_t rows_overlapping(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::uint64_t overlapping = 0;
  for (const Track& track : trace.tracks) {
    if (!track.device) continue;
    SliceId before = no_slice;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (s.category[i] != Category::kernel) continue;
      const SliceId row{i};
      const bool one_launch = before != no_slice && rank.launch(row) != no_slice &&
                              rank.launch(row) == rank.launch(before);
      if (before != no_slice && !one_launch && s.start[i] > s.start[index(before)] &&
          s.end(before) > s.end(row))
        ++overlapping;
      if (before == no_slice || s.end(row) >= s.end(before)) before = row;
    }
  }
  return overlapping;
}

void count_device(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                  RankRecording& r) {
  const Slices& s = trace.slices;
  const auto step_of = [&](SliceId call) -> StepRecording* {
    const auto at = step_of_host(steps, s.start[index(call)]);
    return at ? &r.steps[*at] : nullptr;
  };
  std::vector<bool> launched(s.size());
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops) {
      ++r.device_rows;
      const SliceId call = rank.launch(op);
      if (call == no_slice) {
        ++r.loose_rows;
        continue;
      }
      StepRecording* step = step_of(call);
      if (step != nullptr) ++step->device_rows;
      const std::string_view name = trace.name(call);
      const bool graph = is_graph_launch(name);
      if (graph) ++r.graph_rows;
      if (launched[index(call)] || !is_launch_call(name)) continue;
      launched[index(call)] = true;
      ++r.launches;
      if (graph) ++r.graph_launches;
      if (step != nullptr) ++step->launches;
    }
  r.launches += rank.lost_launches.size();
  r.lost_launches = rank.lost_launches.size();
  for (const SliceId call : rank.lost_launches) {
    if (is_graph_launch(trace.name(call))) ++r.graph_launches;
    StepRecording* step = step_of(call);
    if (step == nullptr) continue;
    ++step->launches;
    ++step->lost_launches;
  }
}

void count_collectives(const Trace& trace, RankRecording& r) {
  r.collectives = trace.collectives.size();
  for (const Collective& c : trace.collectives) {
    if (c.group_name != empty_string || c.group_ranks != empty_string) ++r.in_named_groups;
    if (!is_message(collective_kind(trace.strings[c.name]))) continue;
    ++r.messages;
    if (c.src_rank >= 0 || c.dst_rank >= 0) ++r.addressed_messages;
  }
}

// Processes that mark the same step: the most that share one name of a step.
std::uint64_t stepping_processes(const Trace& trace) {
  using Process = std::pair<std::int64_t, StringId>;
  std::vector<bool> marks(trace.strings.size());
  for (std::uint32_t i = 0; i < marks.size(); ++i)
    marks[i] = trace.strings[StringId{i}].starts_with("ProfilerStep#");
  std::map<StringId, std::set<Process>> processes;
  for (const Track& track : trace.tracks) {
    if (track.device) continue;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (marks[index(trace.slices.name[i])])
        processes[trace.slices.name[i]].insert({track.pid, track.pid_text});
  }
  std::size_t most = 0;
  for (const auto& [name, of_name] : processes) most = std::max(most, of_name.size());
  return most;
}

bool is_of_pytorch(std::string_view name) {
  return name.starts_with("aten::") || name.find("at::native") != std::string_view::npos;
}

}  // namespace

RankRecording recording_of(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                           std::span<const Step> lost) {
  RankRecording r;
  r.format = trace.metadata.format;
  r.clock = trace.metadata.clock;
  for (const Category c : trace.slices.category) ++r.rows[static_cast<std::size_t>(c)];
  for (const Step& step : steps) r.steps.emplace_back().index = step.index;
  for (const Step& step : lost) r.lost_steps.push_back(step.index);
  count_device(trace, rank, steps, r);
  r.outside_rows = rows_outside(trace);
  r.overlapping_rows = rows_overlapping(trace, rank);
  r.notes = trace.notes.counts;
  r.shaped_operators = static_cast<std::uint64_t>(
      std::ranges::count_if(trace.ops.input_dims, [](StringId id) { return id != empty_string; }));
  r.memory_events = trace.memory.size();
  count_collectives(trace, r);
  r.stepping_processes = stepping_processes(trace);
  for (std::uint32_t i = 0; i < trace.strings.size() && !r.pytorch; ++i)
    r.pytorch = is_of_pytorch(trace.strings[StringId{i}]);
  r.start_up = find_start_up(trace, rank);
  return r;
}

}  // namespace stepscope
