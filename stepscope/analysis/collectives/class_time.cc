// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/class_time.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "stepscope/analysis/steps/comm_states.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/step_cursor.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

// Layers: classes of compute, then dimensions by state: transferring, unsplit, waiting.
constexpr std::size_t first_transfer = name_class_count;
constexpr std::size_t first_unsplit = first_transfer + dimension_count;
constexpr std::size_t first_wait = first_unsplit + dimension_count;
constexpr std::size_t layer_count = first_wait + dimension_count;
using Sweep = IntervalSweep<layer_count>;

class DimensionOf {
 public:
  explicit DimensionOf(const ClassTimeInputs& inputs) {
    for (const CollectiveCall& call : inputs.calls.calls)
      if (call.group < inputs.dimensions.size())
        known_.emplace_back(index(call.slice), inputs.dimensions[call.group]);
    std::ranges::sort(known_);
  }
  [[nodiscard]] Dimension at(SliceId op) const {
    const auto found =
        std::ranges::lower_bound(known_, index(op), {}, [](const auto& k) { return k.first; });
    return found != known_.end() && found->first == index(op) ? found->second : Dimension::unknown;
  }

 private:
  std::vector<std::pair<std::uint32_t, Dimension>> known_;
};

NameClass class_of(const Trace& trace, const ClassTimeInputs& inputs, SliceId op) {
  const SliceId call = inputs.rank.launch(op);
  if (call != no_slice) {
    const Phase phase =
        inputs.phases.at(trace.slices.track[index(call)], trace.slices.start[index(call)]);
    if (phase == Phase::optimizer) return NameClass::optimizer;
  }
  return trace.slices.kind[index(op)];
}

std::size_t first_layer(CommState state) {
  return state == CommState::waiting        ? first_wait
         : state == CommState::transferring ? first_transfer
                                            : first_unsplit;
}

Sweep sweep_of(const Trace& trace, const ClassTimeInputs& inputs, const DeviceLane& lane) {
  Sweep sweep;
  sweep.reserve(lane.ops.size());
  const DimensionOf dimension(inputs);
  for (const SliceId op : lane.ops) {
    if (trace.is_communication(op)) {
      const auto dim = static_cast<std::size_t>(dimension.at(op));
      for_each_comm_state(trace, inputs.split, op, [&](CommState state, Ns start, Ns end) {
        sweep.add(first_layer(state) + dim, start, end);
      });
    } else if (trace.is_compute(op)) {
      sweep.add(static_cast<std::size_t>(class_of(trace, inputs, op)),
                trace.slices.start[index(op)], trace.slices.end(op));
    }
  }
  return sweep;
}

void book(ClassTime& time, std::size_t layer, Ns length) {
  if (layer < first_transfer)
    time.compute[layer] += length;
  else if (layer < first_unsplit)
    time.transfer[layer - first_transfer] += length;
  else if (layer < first_wait)
    time.unsplit[layer - first_unsplit] += length;
  else
    time.wait[layer - first_wait] += length;
}

template <std::size_t N>
Ns sum(const std::array<Ns, N>& parts) {
  return std::accumulate(parts.begin(), parts.end(), Ns{});
}

void check_sums(const ClassTime& time, const Budget& budget) {
  using enum BudgetCategory;
  check(sum(time.compute) == budget[compute] + budget[comm_overlapped] &&
            sum(time.transfer) == budget[comm_exposed_transfer] &&
            sum(time.unsplit) == budget[comm_exposed_unsplit] &&
            sum(time.wait) == budget[comm_exposed_wait],
        "classes and dimensions sum to the time budget");
}

}  // namespace

std::vector<ClassTime> class_times(const Trace& trace, const ClassTimeInputs& inputs) {
  if (inputs.rank.cpu_only() || inputs.steps.empty()) return {};
  std::vector<ClassTime> times(inputs.steps.size());
  Sweep sweep = sweep_of(trace, inputs, inputs.rank.devices[inputs.budget.chosen]);
  StepCursor cursor(inputs.steps);
  sweep.run(inputs.steps.front().start, inputs.steps.back().end,
            [&](Ns start, Ns end, const Sweep::Open& open) {
              const auto first = std::ranges::find_if(open, [](auto n) { return n > 0; });
              if (first == open.end()) return;
              const auto layer = static_cast<std::size_t>(first - open.begin());
              cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
                book(times[step], layer, to - from);
              });
            });
  for (std::size_t i = 0; i < times.size(); ++i)
    check_sums(times[i], inputs.budget.rank().steps[i]);
  return times;
}

}  // namespace stepscope
