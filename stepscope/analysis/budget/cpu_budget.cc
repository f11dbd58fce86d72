// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/cpu_budget.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

enum CpuLayer : std::size_t {
  main_work,
  backward_work,  // on a thread of the backward graph
  loading,
  synchronizing,
  moving,   // the main thread is at files or a device: rows of our own engine (moving_names)
  blocked,  // the main thread is inside a communication operator
  waiting,  // collectives in flight
  transferring,
  unsplit,
  layer_count
};
using Sweep = IntervalSweep<layer_count>;

// The calls of a thread. Operators that are no calls hold the main thread; on others they count as
// calls.
void add_in_flight(const Trace& trace, const CpuWork& work, const std::vector<bool>& backend_rows,
                   const CommSplit& split, Sweep& sweep) {
  const Slices& s = trace.slices;
  const Track& track = trace.track(work.thread);
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (!is_host_communication(trace, SliceId{i})) continue;
    const Ns row_end = s.start[i] + s.dur[i];
    const CommSpan* span = split.find(SliceId{i});
    if (span == nullptr && work.main && !backend_rows[index(s.name[i])]) continue;
    const Ns end = span == nullptr ? row_end : std::min(row_end, span->end);
    if (span == nullptr || !span->split) {
      sweep.add(unsplit, s.start[i], end);
      continue;
    }
    const Ns transfer = std::clamp(span->transfer_start, s.start[i], end);
    sweep.add(waiting, s.start[i], transfer);
    sweep.add(transferring, transfer, end);
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
  if (open[moving] > 0) return copy_exposed;
  if (open[blocked] > 0) return comm_exposed_unsplit;
  return open[synchronizing] > 0 ? idle_sync : idle_host;
}

void add_moving(const Trace& trace, const Track& track, Sweep& sweep) {
  const StringId name = trace.strings.find("stepscope::file_io");
  if (name == empty_string) return;
  const Slices& s = trace.slices;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
    if (s.name[i] == name) sweep.add(moving, s.start[i], s.start[i] + s.dur[i]);
}

// If a device's work was not recorded, operators only launch, and no row shows what the device did
// meanwhile. Without operators no row shows what the host did.
BudgetCategory unseen_category_of(const Sweep::Open& open) {
  if (open[loading] > 0) return idle_data;
  return open[synchronizing] > 0 ? idle_sync : not_recorded;
}

bool shows_work(const Trace& trace, const RankIndex& rank, const CommSplit& split) {
  const std::vector<Category>& categories = trace.slices.category;
  return !rank.device_unseen() &&
         (!split.spans.empty() ||
          std::ranges::find(categories, Category::cpu_op) != categories.end());
}

Sweep sweep_of(const Trace& trace, const RankIndex& rank, const CommSplit& split) {
  const std::vector<ThreadWaits> waits = host_waits(trace, rank);
  Sweep sweep;
  const auto add = [&](CpuLayer layer, const std::vector<HostSpan>& spans) {
    for (const HostSpan& span : spans) sweep.add(layer, span.start, span.end);
  };
  const std::vector<bool> backend_rows = backend_row_names(trace.strings);
  for (const CpuWork& work : cpu_work(trace, rank)) {
    add(work.main ? main_work : backward_work, work.computing);
    add_in_flight(trace, work, backend_rows, split, sweep);
    if (!work.main) continue;
    add(blocked, work.communicating);
    add_moving(trace, trace.track(work.thread), sweep);
    add(loading, waits[index(work.thread)].data);
    add(synchronizing, waits[index(work.thread)].sync);
  }
  return sweep;
}

}  // namespace

std::vector<BudgetPiece> cpu_pieces(const Trace& trace, const RankIndex& rank,
                                    std::span<const Step> steps, const CommSplit& split) {
  std::vector<BudgetPiece> pieces;
  Sweep sweep = sweep_of(trace, rank, split);
  StepCursor cursor(steps);
  const bool shown = shows_work(trace, rank, split);
  sweep.run(steps.front().start, steps.back().end, [&](Ns start, Ns end, const Sweep::Open& open) {
    const BudgetCategory category = shown ? category_of(open) : unseen_category_of(open);
    cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
      append_piece(pieces, {from, to, category, static_cast<std::uint32_t>(step)});
    });
  });
  return pieces;
}

DeviceBudget cpu_budget(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                        const CommSplit& split) {
  DeviceBudget result{.steps = std::vector<Budget>(steps.size())};
  const std::uint32_t main = rank.main_track ? index(*rank.main_track) : no_row;
  for (const BudgetPiece& p : cpu_pieces(trace, rank, steps, split)) {
    result.steps[p.step][p.category] += p.end - p.start;
    if (is_idle(p.category))
      result.idle.push_back(
          {.start = p.start, .end = p.end, .host = main, .step = p.step, .cause = p.category});
  }
  return result;
}

namespace {

bool is_operator_row(Category c) {
  return c == Category::cpu_op || c == Category::user_annotation || c == Category::other;
}

// Spans of a thread's communication operators.
std::vector<HostSpan> communication_of(const Trace& trace, const Track& track,
                                       const std::vector<bool>& in_flight) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> spans;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
    if (is_host_communication(trace, SliceId{i}) && !in_flight[index(s.name[i])])
      extend(spans, s.start[i], s.start[i] + s.dur[i], SliceId{i});
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
  return by_name(strings, [](std::string_view name) {
    return contains(name, "::") && !contains_any(name, {"autograd::", "Backward", " "});
  });
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
