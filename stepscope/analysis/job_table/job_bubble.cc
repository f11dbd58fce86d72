// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_bubble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "stepscope/analysis/job_table/job_balance.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/step_cursor.h"
#include "stepscope/base/quantity.h"

namespace stepscope {
namespace {

bool is_pass(JobOp op) { return op <= JobOp::backward_compute; }

enum Layer : std::size_t { working, messaging, waiting, layer_count };

// From a pipeline's first forward to its last backward.
struct Bounds {
  Ns begin = Ns::max();
  Ns end = Ns::min();

  void cover(Ns from, Ns to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
};

class BubbleBuilder {
 public:
  BubbleBuilder(const JobOperations& table, const JobLayout& layout, const JobReplay& replay)
      : table_(table), layout_(layout), replay_(replay), ops_(layout.ops.size()) {}

  std::optional<JobBubble> build();

 private:
  [[nodiscard]] bool find_shape();
  [[nodiscard]] std::vector<StageWarmUp> warm_ups() const;
  void measure(std::size_t dp, std::size_t step);
  void sweep_stage(std::size_t dp, std::size_t step, int stage, const Bounds& pipeline);
  [[nodiscard]] std::vector<Ns> walls(const std::vector<Ns>& work, bool messages) const;
  void explain();

  // On the table's clock, counted from the table's first operation.
  [[nodiscard]] Ns start(std::size_t cell, std::size_t step) const {
    return rounded_ns(table_.start[layout_.row_of(cell, step)] -
                      table_.start[layout_.row_of(0, 0)]);
  }
  [[nodiscard]] Ns end(std::size_t cell, std::size_t step) const {
    return start(cell, step) + rounded_ns(table_.duration[layout_.row_of(cell, step)]);
  }
  [[nodiscard]] const LaidOp& op(std::size_t cell) const { return layout_.ops[cell % ops_]; }

  const JobOperations& table_;
  const JobLayout& layout_;
  const JobReplay& replay_;
  std::size_t ops_;  // of one DP rank
  JobBubble out_;
};

// Requires as many forwards as backwards on every stage; else no formula applies.
bool BubbleBuilder::find_shape() {
  out_.stages = layout_.stages;
  if (out_.stages < 2) return false;
  std::vector<int> forwards(static_cast<std::size_t>(out_.stages), 0);
  std::vector<int> backwards(forwards.size(), 0);
  std::set<std::int32_t> chunks;
  for (std::size_t o = 0; o < ops_; ++o) {
    if (!is_pass(op(o).op)) continue;
    chunks.insert(table_.mc[layout_.row_of(o, 0)]);
    ++(op(o).op == JobOp::forward_compute ? forwards
                                          : backwards)[static_cast<std::size_t>(op(o).stage)];
  }
  const int passes = forwards.front();
  const auto same = [&](int count) { return count == passes; };
  if (passes == 0 || !std::ranges::all_of(forwards, same) || !std::ranges::all_of(backwards, same))
    return false;
  out_.chunks = static_cast<int>(chunks.size());
  if (passes % out_.chunks != 0) return false;
  out_.micro_batches = passes / out_.chunks;
  out_.schedule = recognise_schedule(out_.stages, out_.micro_batches, out_.chunks, warm_ups());
  for (int s = 0; s < out_.stages; ++s)
    out_.by_stage.push_back({.stage = s, .total = {}, .due_to = {}});
  out_.steps = layout_.steps.size() * layout_.dp_ranks.size();
  return true;
}

// Of the first step and DP rank, which define the order.
std::vector<StageWarmUp> BubbleBuilder::warm_ups() const {
  std::vector<StageWarmUp> seen;
  for (int s = 0; s < out_.stages; ++s) {
    Ns first = Ns::max();
    const auto of_stage = [&](std::size_t o, JobOp kind) {
      return op(o).stage == s && op(o).op == kind;
    };
    for (std::size_t o = 0; o < ops_; ++o)
      if (of_stage(o, JobOp::backward_compute)) first = std::min(first, start(o, 0));
    StageWarmUp& w = seen.emplace_back(StageWarmUp{.stage = s});
    for (std::size_t o = 0; o < ops_; ++o)
      if (of_stage(o, JobOp::forward_compute) && start(o, 0) < first) ++w.forwards;
  }
  return seen;
}

void BubbleBuilder::sweep_stage(std::size_t dp, std::size_t step, int stage,
                                const Bounds& pipeline) {
  IntervalSweep<layer_count> sweep;
  Bounds own;
  for (std::size_t cell = dp * ops_; cell < (dp + 1) * ops_; ++cell) {
    if (op(cell).stage != stage) continue;
    const Ns from = start(cell, step);
    const Ns to = end(cell, step);
    if (is_pass(op(cell).op)) own.cover(from, to);
    if (is_pipeline_comm(op(cell).op)) {
      sweep.add(messaging, from, to);
    } else if (is_comm(op(cell).op)) {
      const Ns transfer = replay_.work[cell * replay_.steps + step];
      const Ns ready = std::clamp(to - transfer, from, to);
      sweep.add(waiting, from, ready);
      sweep.add(working, ready, to);
    } else {
      sweep.add(working, from, to);
    }
  }
  std::array<Step, 3> windows{};
  windows[0].start = pipeline.begin;
  windows[0].end = windows[1].start = own.begin;
  windows[1].end = windows[2].start = own.end;
  windows[2].end = pipeline.end;
  StageTimes t;
  t.wall = pipeline.end - pipeline.begin;
  const std::array parts = {&t.fill, &t.between, &t.drain};
  StepCursor cursor(windows);
  sweep.run(pipeline.begin, pipeline.end, [&](Ns begin, Ns until, const auto& open) {
    cursor.place(begin, until, [&](std::size_t window, Ns from, Ns to) {
      if (open[working] > 0) {
        t.work += to - from;
        if (window == 1) t.passes += to - from;
        return;
      }
      BubblePart& part = *parts[window];
      (open[messaging] > 0 ? part.message : open[waiting] > 0 ? part.wait : part.idle) += to - from;
    });
  });
  out_.by_stage[static_cast<std::size_t>(stage)].total += t;
}

void BubbleBuilder::measure(std::size_t dp, std::size_t step) {
  Bounds pipeline;
  for (std::size_t cell = dp * ops_; cell < (dp + 1) * ops_; ++cell)
    if (is_pass(op(cell).op)) pipeline.cover(start(cell, step), end(cell, step));
  for (int s = 0; s < out_.stages; ++s) sweep_stage(dp, step, s, pipeline);
}

// Replayed times of the pipelines' steps, by DP rank * steps + step.
std::vector<Ns> BubbleBuilder::walls(const std::vector<Ns>& work, bool messages) const {
  const std::size_t steps = replay_.steps;
  const std::vector<Ns> nothing(steps, Ns{0});
  std::vector<const Ns*> lanes(replay_.graph.size(), nothing.data());
  for (std::size_t c = 0; c < replay_.cells(); ++c)
    if (messages || !is_pipeline_comm(replay_.op[c])) lanes[replay_.end_node[c]] = &work[c * steps];
  std::vector<Ns> ends(replay_.graph.size() * steps);
  replay_lanes(replay_.graph, steps, lanes, ends);
  std::vector<Bounds> bounds(layout_.dp_ranks.size() * steps);
  for (std::size_t c = 0; c < replay_.cells(); ++c) {
    if (!is_pass(replay_.op[c])) continue;
    for (std::size_t s = 0; s < steps; ++s) {
      const Ns until = ends[replay_.end_node[c] * steps + s];
      bounds[c / ops_ * steps + s].cover(until - work[c * steps + s], until);
    }
  }
  std::vector<Ns> walls;
  walls.reserve(bounds.size());
  for (const Bounds& b : bounds) walls.push_back(b.end - b.begin);
  return walls;
}

void BubbleBuilder::explain() {
  const std::vector<Ns> balanced = balanced_work(layout_, replay_);
  const auto sum = [](const std::vector<Ns>& all) {
    Ns total{};
    for (const Ns t : all) total += t;
    return total;
  };
  const Ns replayed = sum(walls(replay_.work, true));
  const Ns linkless = sum(walls(replay_.work, false));
  const Ns even = sum(walls(balanced, false));
  std::vector<Ns> more(out_.by_stage.size(), Ns{0});  // than in the balanced job
  for (std::size_t i = 0; i < balanced.size(); ++i)
    more[static_cast<std::size_t>(op(i / replay_.steps).stage)] += replay_.work[i] - balanced[i];
  for (JobStageBubble& stage : out_.by_stage) {
    BubbleShares& due = stage.due_to;
    const Ns extra = more[static_cast<std::size_t>(stage.stage)];
    due.links = replayed - linkless;
    due.imbalance = linkless - even - extra;
    due.schedule = bubble_by_schedule(out_.stages, out_.micro_batches * out_.chunks,
                                      stage.total.passes - extra);
    due.rest = stage.total.bubble() - *due.links - *due.imbalance - *due.schedule;
  }
}

std::optional<JobBubble> BubbleBuilder::build() {
  if (!find_shape()) return std::nullopt;
  for (std::size_t dp = 0; dp < layout_.dp_ranks.size(); ++dp)
    for (std::size_t step = 0; step < layout_.steps.size(); ++step) measure(dp, step);
  explain();
  return std::move(out_);
}

}  // namespace

std::optional<JobBubble> job_bubble(const JobOperations& table, const JobLayout& layout,
                                    const JobReplay& replay) {
  return BubbleBuilder(table, layout, replay).build();
}

}  // namespace stepscope
