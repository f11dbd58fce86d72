// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/pipeline_views.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/diagnose/stage_means.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

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
    ranks.push_back(rank_json(p.ranks[i], shares[i], job.clocks.origin));
  return {{"stages", p.stages},
          {"micro_batches", value(p.micro_batches)},
          {"chunks", value(p.chunks)},
          {"schedule", pipeline_schedule_names[static_cast<std::size_t>(p.schedule)]},
          {"schedule_share", real(schedule_share(p))},
          {"efficiency", real(pipeline_efficiency(job))},
          {"even_efficiency", real(even_efficiency(p))},
          {"missing_stages", p.missing},
          {"ranks", std::move(ranks)}};
}

namespace {

constexpr std::size_t most_stages = 16;

}  // namespace

std::string pipeline_text(const JobResult& job, std::size_t width) {
  if (!job.pipeline) return {};
  const std::vector<StageMean> stages = stage_means(job);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t s = 0; s < stages.size() && rows.size() < most_stages; ++s) {
    const StageMean& m = stages[s];
    if (m.ranks == 0) continue;
    rows.push_back({std::to_string(s),
                    m.ranks == 1 ? std::to_string(m.rank) : fmt::format("{} of them", m.ranks),
                    format_time(m.work), signed_or_dash(m.bubble()),
                    m.wall > 0 ? format_percent(m.bubble() / m.wall) : "-", signed_or_dash(m.fill),
                    signed_or_dash(m.between), signed_or_dash(m.drain), signed_or_dash(m.idle),
                    signed_or_dash(m.message), signed_or_dash(m.wait), signed_or_dash(m.schedule),
                    signed_or_dash(m.imbalance), signed_or_dash(m.links), signed_or_dash(m.rest)});
  }
  std::string title = "Pipeline bubble a step (" + say(shape_words(*job.pipeline)) + ")";
  if (const auto efficiency = pipeline_efficiency(job))
    title += fmt::format(": the efficiency is {}.", format_percent(*efficiency));
  if (const auto even = even_efficiency(*job.pipeline))
    title += fmt::format(" Stages all alike would have {}, a bubble of {} of both.",
                         format_percent(*even), format_percent(1 - *even));
  std::string text = wrapped(title, width) + text_table({{"stage"},
                                                         {"rank"},
                                                         {"work"},
                                                         {"bubble"},
                                                         {"of both"},
                                                         {"fill"},
                                                         {"between"},
                                                         {"drain"},
                                                         {"idle"},
                                                         {"in messages"},
                                                         {"waiting"},
                                                         {"schedule"},
                                                         {"imbalance"},
                                                         {"links"},
                                                         {"rest"}},
                                                        rows, width);
  if (rows.size() == most_stages && stages.size() > most_stages)
    text += fmt::format("  … and {} more\n", stages.size() - most_stages);
  return text;
}

}  // namespace stepscope
