// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/equal_stages.h"

#include <vector>

namespace stepscope {
namespace {

double share_of(const PipelineTime& time) {
  const double passes = time.without_sends.count();
  return passes > 0 ? time.bubble.count() / passes : 0;
}

StageTime mean_of(const std::vector<StageTime>& stages) {
  StageTime sum;
  for (const StageTime& t : stages) {
    sum.forward += t.forward;
    sum.backward += t.backward;
    sum.weight += t.weight;
    sum.alone_forward += t.alone_forward;
    sum.alone_backward += t.alone_backward;
  }
  const auto n = static_cast<double>(stages.size());
  return {.forward = sum.forward / n,
          .backward = sum.backward / n,
          .weight = sum.weight / n,
          .alone_forward = sum.alone_forward / n,
          .alone_backward = sum.alone_backward / n};
}

}  // namespace

std::optional<EqualStages> equal_stages(const CostContext& context, const Plan& plan) {
  const std::vector<StageTime>& stages = context.stages.times;
  if (plan.pp < 2 || stages.empty()) return std::nullopt;
  const std::vector<StageTime> equal(stages.size(), mean_of(stages));
  const PipelineTime even = pipeline_time({.schedule = plan.pipeline.schedule,
                                           .virtual_stages = plan.pipeline.virtual_stages,
                                           .micro_batches = micro_batches(plan),
                                           .stages = equal});
  const double mean = even.busy.count();
  return EqualStages{.bubble = share_of(even),
                     .own = share_of(context.pipeline),
                     .busiest = context.pipeline.busiest,
                     .ratio = mean > 0 ? context.pipeline.busy.count() / mean : 1};
}

std::optional<Formula> equal_bubble_formula(const Plan& plan) {
  using formula::count;
  const Formula waits = count<Formula>(plan.pp, "p") - count<Formula>(1, "1");
  const Formula m = count<Formula>(micro_batches(plan), "m");
  switch (plan.pipeline.schedule) {
    case Schedule::gpipe:
    case Schedule::one_f_one_b:
      return waits / (m + waits);
    case Schedule::interleaved:
      return plan.pipeline.virtual_stages == 1
                 ? waits / (m + waits)
                 : waits / (count<Formula>(plan.pipeline.virtual_stages, "v") * m + waits);
    default:
      return std::nullopt;
  }
}

}  // namespace stepscope
