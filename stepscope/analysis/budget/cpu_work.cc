// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/cpu_work.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "stepscope/analysis/steps/backend_row.h"
#include "stepscope/analysis/steps/phase_names.h"

namespace stepscope {
namespace {

bool is_operator_row(Category c) {
  return c == Category::cpu_op || c == Category::user_annotation || c == Category::other;
}

// Spans of a thread's communication operators.
std::vector<HostSpan> communication_of(const Trace& trace, const Track& track,
                                       const std::vector<bool>& in_flight) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> spans;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (is_host_communication(trace, SliceId{i}) && !in_flight[index(s.name[i])])
      extend(spans, s.start[i], s.start[i] + s.dur[i], SliceId{i});
  }
  return spans;
}

// Spans outside `except` of operators, and of operator rows that contain no other operator row.
std::vector<HostSpan> computation_of(const Trace& trace, const Track& track,
                                     const std::vector<bool>& computes,
                                     const std::vector<HostSpan>& except) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> spans;
  std::optional<std::uint32_t> last;  // the previous operator
  const auto leaf = [&](Ns next) {
    if (last && next >= s.start[*last] + s.dur[*last])
      extend(spans, s.start[*last], s.start[*last] + s.dur[*last], SliceId{*last});
  };
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (s.category[i] != Category::cpu_op) continue;
    leaf(s.start[i]);
    last = i;
    if (computes[index(s.name[i])]) extend(spans, s.start[i], s.start[i] + s.dur[i], SliceId{i});
  }
  leaf(Ns::max());
  std::vector<HostSpan> outside;
  for (const HostSpan& span : spans)
    cut(
        except, span.start, span.end, [](Ns, Ns, SliceId) {},
        [&](Ns from, Ns to) { outside.push_back({from, to, span.row}); });
  return outside;
}

bool runs_backward(const Trace& trace, const Track& track,
                   const std::vector<std::optional<Phase>>& phases) {
  const auto first = trace.slices.name.begin() + track.first;
  return std::any_of(first, first + track.count, [&](StringId name) {
    return phases[index(name)] == Phase::backward || phases[index(name)] == Phase::recompute;
  });
}

}  // namespace

std::vector<bool> operator_names(const StringPool& strings) {
  std::vector<bool> names(strings.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const std::string_view name = strings[StringId{i}];
    const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
    names[i] = has("::") && !has("autograd::") && !has("Backward") && !has(" ");
  }
  return names;
}

// Examples: "gloo:all_reduce", "c10d::allreduce_", "record_param_comms",
// "_c10d_functional::wait_tensor".
bool is_host_communication(const Trace& trace, SliceId row) {
  return is_operator_row(trace.slices.category[index(row)]) &&
         trace.slices.kind[index(row)] == NameClass::communication;
}

std::vector<CpuWork> cpu_work(const Trace& trace, const RankIndex& rank) {
  const std::vector<bool> computes = operator_names(trace.strings);
  const std::vector<bool> in_flight = backend_row_names(trace.strings);
  const std::vector<std::optional<Phase>> phases = phases_of_names(trace.strings);
  std::vector<CpuWork> threads;
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    CpuWork work;
    work.thread = id;
    work.main = id == rank.main_track;
    work.communicating = communication_of(trace, track, in_flight);
    if (work.main || runs_backward(trace, track, phases))
      work.computing = computation_of(trace, track, computes, work.communicating);
    threads.push_back(std::move(work));
  }
  return threads;
}

}  // namespace stepscope
