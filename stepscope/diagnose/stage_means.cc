// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/stage_means.h"

#include <fmt/format.h>

#include <cmath>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// Adds what a rank has a step, where `steps` are all that are added to this stage.
void add(const StageTimes& t, const BubbleShares& due, double steps, StageMean& m) {
  const auto a_step = [&](Ns sum) { return static_cast<double>(sum.count()) / steps; };
  const auto add_known = [&](std::optional<double>& sum, std::optional<Ns> known) {
    sum = sum && known ? std::optional(*sum + a_step(*known)) : std::nullopt;
  };
  m.wall += a_step(t.wall);
  m.work += a_step(t.work);
  m.fill += a_step(t.fill.sum());
  m.between += a_step(t.between.sum());
  m.drain += a_step(t.drain.sum());
  m.idle += a_step(t.fill.idle + t.between.idle + t.drain.idle);
  m.message += a_step(t.fill.message + t.between.message + t.drain.message);
  m.wait += a_step(t.fill.wait + t.between.wait + t.drain.wait);
  add_known(m.schedule, due.schedule);
  add_known(m.imbalance, due.imbalance);
  add_known(m.links, due.links);
  m.rest += a_step(due.rest);
}

}  // namespace

std::vector<BubbleShares> bubble_shares_of(const JobResult& job) {
  const bool replayed =
      job.explanation && job.explanation->bubble.size() == job.pipeline->ranks.size();
  return replayed ? job.explanation->bubble : bubble_shares(*job.pipeline);
}

std::vector<StageMean> stage_means(const JobResult& job) {
  const std::vector<BubbleShares> shares = bubble_shares_of(job);
  std::vector<StageMean> stages(static_cast<std::size_t>(job.pipeline->stages));
  std::vector<double> steps(stages.size(), 0);
  for (const StageBubble& r : job.pipeline->ranks)
    steps[static_cast<std::size_t>(r.stage)] += static_cast<double>(r.steps.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const StageBubble& r = job.pipeline->ranks[i];
    const auto stage = static_cast<std::size_t>(r.stage);
    ++stages[stage].ranks;
    stages[stage].rank = r.rank;
    add(r.total, shares[i], steps[stage], stages[stage]);
  }
  return stages;
}

std::string signed_or_dash(std::optional<double> ns) {
  if (!ns || std::abs(*ns) < 0.5) return "-";
  return fmt::format("{}{}", *ns < 0 ? "-" : "", format_time(std::abs(*ns)));
}

// "4 stages, 8 micro-batches, 2 chunks a stage, interleaved".
Message shape_words(const PipelineBubble& p) {
  return msg::pipeline_shape(
      p.stages, p.micro_batches, value_if(p.chunks.value_or(1) > 1, p.chunks),
      value_if(p.schedule != PipelineSchedule::unknown, words_of(p.schedule)));
}

std::optional<double> schedule_share(const PipelineBubble& p) {
  if (!p.passes) return std::nullopt;
  return static_cast<double>(p.stages - 1) / *p.passes;
}

std::optional<double> pipeline_efficiency(const JobResult& job) {
  double work = 0;
  double wall = 0;
  for (const StageMean& m : stage_means(job)) {
    work += m.work;
    wall += m.wall;
  }
  return wall > 0 ? std::optional(work / wall) : std::nullopt;
}

std::optional<double> even_efficiency(const PipelineBubble& p) {
  const auto share = schedule_share(p);
  return share ? std::optional(1 / (1 + *share)) : std::nullopt;
}

std::optional<BusiestStage> busiest_stage(const JobResult& job) {
  if (!job.pipeline) return std::nullopt;
  const std::vector<StageMean> stages = stage_means(job);
  double sum = 0;
  double traced = 0;
  std::size_t most = 0;
  std::optional<std::size_t> idlest;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].ranks == 0) continue;
    sum += stages[s].work;
    ++traced;
    if (stages[s].work > stages[most].work) most = s;
    const auto imbalance = stages[s].imbalance;
    if (imbalance && *imbalance > 0 && (!idlest || *imbalance > *stages[*idlest].imbalance))
      idlest = s;
  }
  const double others = sum - stages[most].work;
  if (traced < 2 || others <= 0) return std::nullopt;
  BusiestStage busiest;
  busiest.stage = static_cast<int>(most);
  busiest.more = stages[most].work * (traced - 1) / others - 1;
  busiest.evidence.push_back(
      msg::stage_works(Nanoseconds(stages[most].work), Nanoseconds(sum / traced)));
  if (idlest) {
    const StageMean& m = stages[*idlest];
    busiest.evidence.push_back(
        msg::stage_idles(*idlest, Nanoseconds(m.bubble()), Nanoseconds(*m.imbalance),
                         signed_or_dash(m.schedule), shape_words(*job.pipeline)));
  }
  return busiest;
}

Ns bubble_of_stages(const JobResult& job) {
  if (!job.pipeline) return Ns{0};
  const std::vector<StageMean> stages = stage_means(job);
  double sum = 0;
  double traced = 0;
  for (const StageMean& s : stages) {
    if (s.ranks == 0) continue;
    sum += s.bubble();
    ++traced;
  }
  return traced > 0 ? Ns{std::llround(sum / traced)} : Ns{0};
}

}  // namespace stepscope
