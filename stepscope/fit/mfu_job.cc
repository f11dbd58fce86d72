// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/mfu_job.h"

#include <algorithm>

#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/fit/mfu_rank.h"

namespace stepscope {
namespace {

// The places of these steps, ascending, in a rank's.
std::vector<std::size_t> places_of(std::span<const std::int64_t> indices,
                                   std::span<const Step> steps) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (std::ranges::binary_search(indices, steps[i].index)) places.push_back(i);
  return places;
}

bool has_pipeline(const JobResult& job) {
  return std::ranges::find(job.collectives.dimension_of, Dimension::pp) !=
         job.collectives.dimension_of.end();
}

// Time that a rank's receives between pipeline stages wait with nothing else running. Counts
// receives that begin in the steps at `places`.
Ns pipeline_wait(const JobResult& job, std::size_t rank, std::span<const std::size_t> places) {
  Ns wait{};
  const RankCalls& calls = job.collectives.matches.ranks[rank];
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    const CollectiveCall& call = calls.calls[i];
    const CallTime& time = job.collectives.times.by_view[rank][i];
    const bool receives =
        call.kind == CollectiveKind::recv || call.kind == CollectiveKind::send_recv;
    const bool counted = call.step && std::ranges::binary_search(places, std::size_t{*call.step});
    if (!receives || !counted || !time.split ||
        !is_stage_message(call, job.collectives.dimension_of))
      continue;
    wait += std::min(wait_of(call, time), job.collectives.exposed[rank][i]);
  }
  return wait;
}

}  // namespace

std::vector<std::int64_t> common_steps(const JobSteps& steps) {
  std::vector<std::int64_t> indices;
  for (const JobStep& step : steps.common) indices.push_back(step.index);
  std::ranges::sort(indices);
  return indices;
}

Result<MfuBudget> mfu_of_job(const JobResult& job, const MfuFigures& figures) {
  const std::vector<std::int64_t> common = common_steps(job.steps);
  std::vector<MfuRank> ranks;
  std::int64_t devices = 0;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankResult& r = job.ranks[i];
    // The steps that count, as in the budget of the job.
    std::vector<std::int64_t> indices;
    for (const Step& step : r.counted.steps) indices.push_back(step.index);
    const bool counted = !indices.empty();
    const std::vector<std::size_t> places = places_of(counted ? indices : common, r.steps);
    if (places.empty()) continue;
    MfuRank rank = counted ? mfu_rank(r.rank, r.counted.budget, places_of(indices, r.counted.steps),
                                      r.work.executed, places)
                           : mfu_rank(r.rank, r.budget, places, r.work.executed, places);
    if (rank.work && r.work.overlap)
      rank.work->contention = product_contention(r.work.overlap->contention);
    if (has_pipeline(job))
      rank.pipeline_receive_wait =
          std::min(pipeline_wait(job, i, places), rank.budget[BudgetCategory::comm_exposed_wait]);
    devices += rank.steps / static_cast<std::int64_t>(places.size());
    ranks.push_back(std::move(rank));
  }
  MfuQuestion question;
  question.world_size = std::max(figures.world_size.value_or(0), static_cast<int>(devices));
  if (!figures.model_flops.empty()) {
    question.model = figures.model_flops.front();
    question.other_conventions.assign(figures.model_flops.begin() + 1, figures.model_flops.end());
  }
  const bool cpu = on_cpu(job.ranks);
  question.gpu_name = job.ranks.empty() ? "" : cpu ? "cpu" : job.ranks.front().device.name;
  question.machine = figures.machine;
  question.peak = figures.peak;
  question.dtype = figures.dtype;
  question.price_per_gpu_hour = figures.price_per_gpu_hour;
  return mfu_budget(ranks, question);
}

}  // namespace stepscope
