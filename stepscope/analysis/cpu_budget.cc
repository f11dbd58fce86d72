// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/cpu_budget.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "stepscope/analysis/host_waits.h"
#include "stepscope/analysis/interval_sweep.h"
#include "stepscope/analysis/phase_names.h"
#include "stepscope/analysis/step_cursor.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

enum Layer : std::size_t {
  main_work,
  backward_work,  // on a thread of the backward graph
  loading,
  synchronizing,
  blocked,  // main inside a communication operator
  waiting,  // collectives in flight on other threads
  transferring,
  unsplit,
  layer_count
};
using Sweep = IntervalSweep<layer_count>;

// "gloo:all_reduce", "c10d::allreduce_", "record_param_comms", "_c10d_functional::wait_tensor".
std::vector<bool> communication_names(const Trace& trace) {
  std::vector<bool> names(trace.strings.size());
  for (std::uint32_t i = 0; i < names.size(); ++i)
    names[i] = trace.operator_class[i] == NameClass::communication;
  return names;
}

bool is_operator_row(Category c) {
  return c == Category::cpu_op || c == Category::user_annotation || c == Category::other;
}

// Spans of a thread's communication rows.
std::vector<HostSpan> communication_of(const Trace& trace, const Track& track,
                                       const std::vector<bool>& communicates) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> spans;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (!is_operator_row(s.category[i])) continue;
    if (communicates[index(s.name[i])])
      extend(spans, s.start[i], s.start[i] + s.dur[i], SliceId{i});
  }
  return spans;
}

// By StringId: an operator computes with all that it calls (namespace::name). Nodes of the backward
// graph and ranges that a legacy trace shows as operators do so only where they call nothing.
std::vector<bool> operator_names(const StringPool& strings) {
  std::vector<bool> names(strings.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const std::string_view name = strings[StringId{i}];
    const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
    names[i] = has("::") && !has("autograd::") && !has("Backward") && !has(" ");
  }
  return names;
}

// work(start, end), in order, of operators and of rows of operators in which no other begins;
// outside `except`.
template <class Work>
void for_work(const Trace& trace, const Track& track, const std::vector<bool>& computes,
              const std::vector<HostSpan>& except, Work&& work) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> spans;
  std::optional<std::uint32_t> last;  // the operator before this one
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
  for (const HostSpan& span : spans)
    cut(except, span.start, span.end, [](Ns, Ns, SliceId) {}, work);
}

bool runs_backward(const Trace& trace, const Track& track,
                   const std::vector<std::optional<Phase>>& phases) {
  const auto first = trace.slices.name.begin() + track.first;
  return std::any_of(first, first + track.count, [&](StringId name) {
    return phases[index(name)] == Phase::backward || phases[index(name)] == Phase::recompute;
  });
}

void add_in_flight(const Trace& trace, const Track& track, const CommSplit& split,
                   const std::vector<bool>& communicates, Sweep& sweep) {
  const Slices& s = trace.slices;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (!is_operator_row(s.category[i])) continue;
    if (!communicates[index(s.name[i])]) continue;
    const Ns end = s.start[i] + s.dur[i];
    const CommSpan* span = split.find(SliceId{i});
    if (span != nullptr && span->split) {
      const Ns transfer = std::clamp(span->transfer_start, s.start[i], end);
      sweep.add(waiting, s.start[i], transfer);
      sweep.add(transferring, transfer, end);
    } else {
      sweep.add(unsplit, s.start[i], end);
    }
  }
}

BudgetCategory category_of(const Sweep::Open& open) {
  const bool flight = open[waiting] > 0 || open[transferring] > 0 || open[unsplit] > 0;
  if (open[loading] > 0) return idle_data;
  if (open[main_work] > 0) return flight ? comm_overlapped : compute;
  if (open[backward_work] > 0 && open[blocked] == 0) return flight ? comm_overlapped : compute;
  if (open[transferring] > 0) return comm_exposed_transfer;
  if (open[unsplit] > 0) return comm_exposed_unsplit;
  if (open[waiting] > 0) return comm_exposed_wait;
  if (open[blocked] > 0) return comm_exposed_unsplit;
  return open[synchronizing] > 0 ? idle_sync : idle_host;
}

// Where a device worked unseen, operators only launch: what the host does besides loading and
// waiting explains nothing.
BudgetCategory unseen_category_of(const Sweep::Open& open) {
  if (open[loading] > 0) return idle_data;
  return open[synchronizing] > 0 ? idle_sync : idle_unexplained;
}

Sweep sweep_of(const Trace& trace, const RankIndex& rank, const CommSplit& split) {
  const std::vector<bool> communicates = communication_names(trace);
  const std::vector<bool> computes = operator_names(trace.strings);
  const std::vector<std::optional<Phase>> phases = phases_of_names(trace.strings);
  const std::vector<ThreadWaits> waits = host_waits(trace, rank);
  Sweep sweep;
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    const std::vector<HostSpan> comm = communication_of(trace, track, communicates);
    if (id == rank.main_track) {
      const auto work = [&](Ns from, Ns to) { sweep.add(main_work, from, to); };
      for_work(trace, track, computes, comm, work);
      for (const HostSpan& span : comm) sweep.add(blocked, span.start, span.end);
      for (const HostSpan& span : waits[index(id)].data) sweep.add(loading, span.start, span.end);
      for (const HostSpan& span : waits[index(id)].sync)
        sweep.add(synchronizing, span.start, span.end);
    } else {
      add_in_flight(trace, track, split, communicates, sweep);
      if (!runs_backward(trace, track, phases)) continue;
      const auto work = [&](Ns from, Ns to) { sweep.add(backward_work, from, to); };
      for_work(trace, track, computes, comm, work);
    }
  }
  return sweep;
}

}  // namespace

DeviceBudget cpu_budget(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                        const CommSplit& split) {
  DeviceBudget result;
  result.steps.resize(steps.size());
  Sweep sweep = sweep_of(trace, rank, split);
  StepCursor cursor(steps);
  const std::uint32_t main = rank.main_track ? index(*rank.main_track) : no_row;
  sweep.run(steps.front().start, steps.back().end, [&](Ns start, Ns end, const Sweep::Open& open) {
    const BudgetCategory category =
        rank.device_unseen ? unseen_category_of(open) : category_of(open);
    cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
      result.steps[step][category] += to - from;
      if (!is_idle(category)) return;
      const bool continues = !result.idle.empty() && result.idle.back().end == from &&
                             result.idle.back().cause == category &&
                             result.idle.back().step == step;
      if (continues) {
        result.idle.back().end = to;
        return;
      }
      IdlePiece piece;
      piece.start = from;
      piece.end = to;
      piece.host = main;
      piece.step = static_cast<std::uint32_t>(step);
      piece.cause = category;
      result.idle.push_back(piece);
    });
  });
  return result;
}

}  // namespace stepscope
