// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/projection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double normal_80 = 1.2816;  // half the width of an 80 % interval, in standard deviations

// Standard deviations of what no trace shows, relative to the change that they concern. The
// deviations of kernels and of the model are about the model's error on configurations that it was
// not fitted to (docs/explanation/performance-model.md); a ratio of two figures errs less than one.
constexpr double kernel_deviation = 0.1;
constexpr double machine_link_deviation = 0.15;
constexpr double trace_link_deviation = 0.3;
constexpr double passes_deviation = 0.05;
constexpr double model_deviation = 0.25;
constexpr double rank_deviation = 0.25;
constexpr double unrecorded_ranks = 0.005;   // of the step, for each doubling of the ranks
constexpr double another_run = 0.01;         // of the step: placement, clocks, other jobs
constexpr double unrecorded_waiting = 0.05;  // of the step, if no rank waited for another

// Measured over expected of a class; of all kernels where one side has no kernel of the class.
double calibration(StepClass c, const StepSeconds& expected, const ReplayedChange& replayed) {
  constexpr double max_ratio = 4;
  double measured_all = 0;
  double expected_all = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(StepClass::tensor_comm); ++k) {
    measured_all += replayed.busy[k];
    expected_all += expected[k];
  }
  const double all = expected_all > 0 && measured_all > 0 ? measured_all / expected_all : 1;
  if (c == StepClass::data_comm)
    return replayed.expected_data > 0
               ? std::clamp(replayed.links_data / replayed.expected_data, 1 / max_ratio, max_ratio)
               : 1;
  if (c == StepClass::bubble) return all;
  if (c >= StepClass::tensor_comm) return 1;
  const bool own = c == StepClass::matmul || c == StepClass::attention || c == StepClass::optimizer;
  if (own && expected[static_cast<std::size_t>(c)] > 0 &&
      replayed.busy[static_cast<std::size_t>(c)] > 0)
    return std::clamp(
        replayed.busy[static_cast<std::size_t>(c)] / expected[static_cast<std::size_t>(c)],
        1 / max_ratio, max_ratio);
  return all;
}

struct ModelDifference {
  double seconds = 0;
  double moved = 0;  // Σ |difference| over classes
  std::string classes;
};

ModelDifference model_difference(const ExpectedPlans& plans, const StepSeconds& from,
                                 const ReplayedChange& replayed) {
  ModelDifference d;
  double largest = 0;
  for (std::size_t c = 0; c < step_class_count; ++c) {
    const double change = (plans.asked[c] - from[c]) *
                          calibration(static_cast<StepClass>(c), plans.recorded, replayed);
    d.seconds += change;
    d.moved += std::abs(change);
    if (std::abs(change) > largest) {
      largest = std::abs(change);
      d.classes = step_class_names[c];
    }
  }
  return d;
}

class Answer {
 public:
  explicit Answer(Projection& p) : p_(p) {}
  void add(ProjectedPart part, double seconds, double deviation, Message source) {
    if (seconds == 0 && deviation == 0) return;
    p_.changes.push_back({part, seconds, deviation, std::move(source)});
    p_.step += seconds;
  }
  void widen(Message what, double seconds) {
    if (seconds > 0) p_.width.push_back({std::move(what), seconds});
  }

 private:
  Projection& p_;
};

// The spread of the mean of the steps that count.
double spread_of_mean(const JobResult& job) {
  std::vector<double> walls;
  for (const Step& s : job.steps.counted) walls.push_back(seconds(s.end - s.start).count());
  return walls.empty()
             ? 0
             : sample_stdev(walls).value_or(0) / std::sqrt(static_cast<double>(walls.size()));
}

void add_interval(Projection& p) {
  double squares = 0;
  for (const ProjectedChange& c : p.changes) squares += c.deviation * c.deviation;
  for (const ProjectedWidth& w : p.width) squares += w.seconds * w.seconds;
  for (const ProjectedChange& c : p.changes)
    if (c.deviation > 0)
      p.width.push_back(
          {msg::plain(projected_part_names[static_cast<std::size_t>(c.part)]), c.deviation});
  const double half = normal_80 * std::sqrt(squares);
  p.low = std::max(0.0, p.step - half);
  p.high = p.step + half;
  std::ranges::stable_sort(p.width, std::greater<>(), &ProjectedWidth::seconds);
}

}  // namespace

Result<Projection> project_step(const JobResult& job, const JobShape& recorded,
                                const ProjectionQuestion& q, const ReplayedChange& r) {
  check(job.explanation.has_value(), "a job with an explanation");
  Projection p;
  p.recorded_shape = recorded;
  p.shape = q.shape;
  p.recorded = p.step = r.recorded;
  p.notes = r.notes;
  Answer answer(p);
  answer.add(ProjectedPart::ranks, r.ranks - r.recorded,
             std::hypot(r.draws, rank_deviation * std::abs(r.ranks - r.recorded)),
             msg::from_replay_as(q.shape.dp, q.shape.tp, q.shape.cp, q.shape.pp));
  const double link = r.links_of_machine ? machine_link_deviation : trace_link_deviation;
  answer.add(ProjectedPart::transfers, r.transfers - r.ranks,
             std::hypot(link * (r.transfers - r.ranks), r.latency_unknown,
                        r.beside_unknown / std::sqrt(12.0)),
             r.links_of_machine ? msg::from_machine_links() : msg::from_own_messages());
  answer.add(ProjectedPart::kernels, r.kernels - r.transfers,
             kernel_deviation * std::abs(r.kernels - r.transfers), msg::from_model_ratio());
  if (r.passes_replayed) {
    const double change = r.passes - r.kernels;
    answer.add(ProjectedPart::passes, change, passes_deviation * std::abs(change),
               msg::from_passes(*q.shape.micro_batches, *recorded.micro_batches));
  }
  if (q.plans != nullptr) {
    const ModelDifference d =
        model_difference(*q.plans, r.passes_replayed ? q.plans->passed : q.plans->replayed, r);
    answer.add(ProjectedPart::model, d.seconds, model_deviation * d.moved,
               msg::from_expected_steps(d.classes));
  }
  if (p.step <= 0)
    return Error{.what = "the changes are larger than the recorded step",
                 .hint = "record a run whose plan is closer to the one asked about"};
  const double scale = p.step / p.recorded;
  const Explanation& e = *job.explanation;
  answer.widen(msg::wide_by_steps(), spread_of_mean(job) * scale);
  answer.widen(msg::wide_by_runs(), another_run * p.step);
  const double replay = e.held_out ? 1.4826 * e.held_out->error : 0.05;
  const double changed = std::min(1.0, std::abs(r.kernels - r.recorded) / r.recorded);
  answer.widen(msg::wide_by_replay(), replay * changed * p.step);
  const double grows = static_cast<double>(q.shape.dp) / static_cast<double>(recorded.dp);
  if (grows > 1)
    answer.widen(
        msg::wide_by_ranks(),
        (recorded.dp == 1 ? unrecorded_waiting : unrecorded_ranks * std::log2(grows)) * p.step);
  add_interval(p);
  return p;
}

}  // namespace stepscope
