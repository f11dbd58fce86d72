// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/pipeline_json.h"

#include "stepscope/diagnose/stage_means.h"

namespace stepscope {
namespace {

Json part_json(const BubblePart& part) {
  return {{"idle", value(part.idle)}, {"message", value(part.message)}, {"wait", value(part.wait)}};
}

Json due_json(const BubbleShares& due) {
  return {{"schedule", value(due.schedule)},
          {"imbalance", value(due.imbalance)},
          {"links", value(due.links)},
          {"rest", value(due.rest)}};
}

Json rank_json(const StageBubble& stage, const BubbleShares& shares, Ns origin) {
  Json steps = Json::array();
  for (const StageStep& s : stage.steps)
    steps.push_back({{"index", s.index},
                     {"start_ns", value(s.begin - origin)},
                     {"wall_ns", value(s.times.wall)},
                     {"work_ns", value(s.times.work)},
                     {"fill_ns", value(s.times.fill.sum())},
                     {"between_ns", value(s.times.between.sum())},
                     {"drain_ns", value(s.times.drain.sum())}});
  const StageTimes& t = stage.total;
  return {{"rank", stage.rank},
          {"pipeline", stage.pipeline},
          {"stage", stage.stage},
          {"wall_ns", value(t.wall)},
          {"work_ns", value(t.work)},
          {"passes_ns", value(t.passes)},
          {"bubble_ns", value(t.bubble())},
          {"fill_ns", part_json(t.fill)},
          {"between_ns", part_json(t.between)},
          {"drain_ns", part_json(t.drain)},
          {"due_to_ns", due_json(shares)},
          {"steps", std::move(steps)}};
}

}  // namespace

Json pipeline_json(const JobResult& job) {
  if (!job.pipeline) return nullptr;
  const PipelineBubble& p = *job.pipeline;
  const std::vector<BubbleShares> shares = bubble_shares_of(job);
  Json ranks = Json::array();
  for (std::size_t i = 0; i < shares.size(); ++i)
    ranks.push_back(rank_json(p.ranks[i], shares[i], job.origin));
  return {{"stages", p.stages},
          {"micro_batches", value(p.micro_batches)},
          {"chunks", value(p.chunks)},
          {"schedule", pipeline_schedule_names[static_cast<std::size_t>(p.schedule)]},
          {"schedule_share", real(schedule_share(p))},
          {"missing_stages", p.missing},
          {"ranks", std::move(ranks)}};
}

}  // namespace stepscope
