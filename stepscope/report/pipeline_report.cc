// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/pipeline_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "stepscope/analysis/replay/bubble_shares.h"
#include "stepscope/report/format.h"
#include "stepscope/report/text_table.h"

namespace stepscope {
namespace {

constexpr std::size_t most_stages = 16;

// Parallel to the pipeline's ranks: by the replay where there is one.
std::vector<BubbleShares> shares_of(const JobResult& job) {
  const bool replayed =
      job.explanation && job.explanation->bubble.size() == job.pipeline->ranks.size();
  return replayed ? job.explanation->bubble : bubble_shares(*job.pipeline);
}

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

// Means of one stage over its ranks and steps, in ns.
struct StageMean {
  std::size_t ranks = 0;
  std::optional<int> rank;  // of one of them; absent in a job's table
  double wall = 0;
  double work = 0;
  double fill = 0;
  double between = 0;
  double drain = 0;
  double idle = 0;
  double message = 0;
  double wait = 0;
  std::optional<double> schedule = 0;
  std::optional<double> imbalance = 0;
  std::optional<double> links = 0;
  double rest = 0;

  [[nodiscard]] double bubble() const { return fill + between + drain; }
};

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

std::vector<StageMean> means_of(const JobResult& job) {
  const std::vector<BubbleShares> shares = shares_of(job);
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

std::string signed_time(std::optional<double> ns) {
  if (!ns || std::abs(*ns) < 0.5) return "-";
  return fmt::format("{}{}", *ns < 0 ? "-" : "", format_time(std::abs(*ns)));
}

// "4 stages, 8 micro-batches, 2 chunks a stage, interleaved".
std::string shape_words(int stages, std::optional<int> micro_batches, std::optional<int> chunks,
                        PipelineSchedule schedule) {
  std::string words = fmt::format("{} stages", stages);
  if (micro_batches) words += fmt::format(", {} micro-batches", *micro_batches);
  if (chunks.value_or(1) > 1) words += fmt::format(", {} chunks a stage", *chunks);
  if (schedule != PipelineSchedule::unknown) words += fmt::format(", {}", words_of(schedule));
  return words;
}
std::string shape_words(const PipelineBubble& p) {
  return shape_words(p.stages, p.micro_batches, p.chunks, p.schedule);
}

std::optional<double> schedule_share(const PipelineBubble& p) {
  if (!p.passes) return std::nullopt;
  return static_cast<double>(p.stages - 1) / *p.passes;
}

double schedule_share(const JobBubble& b) {
  return static_cast<double>(b.stages - 1) / (b.micro_batches * b.chunks);
}

std::string table_of(const std::string& shape, std::optional<double> share,
                     std::span<const StageMean> stages, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t s = 0; s < stages.size() && rows.size() < most_stages; ++s) {
    const StageMean& m = stages[s];
    if (m.ranks == 0) continue;
    rows.push_back({std::to_string(s),
                    !m.rank        ? "-"
                    : m.ranks == 1 ? std::to_string(*m.rank)
                                   : fmt::format("{} of them", m.ranks),
                    format_time(m.work), signed_time(m.bubble()),
                    m.wall > 0 ? format_percent(m.bubble() / m.wall) : "-", signed_time(m.fill),
                    signed_time(m.between), signed_time(m.drain), signed_time(m.idle),
                    signed_time(m.message), signed_time(m.wait), signed_time(m.schedule),
                    signed_time(m.imbalance), signed_time(m.links), signed_time(m.rest)});
  }
  std::string title = "Pipeline bubble a step (" + shape;
  if (share)
    title += fmt::format("; stages all alike would idle {} of their work", format_percent(*share));
  std::string text = wrapped(title + ")", width) + text_table({{"stage"},
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

}  // namespace

Json pipeline_json(const JobResult& job) {
  if (!job.pipeline) return nullptr;
  const PipelineBubble& p = *job.pipeline;
  const std::vector<BubbleShares> shares = shares_of(job);
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

std::string pipeline_text(const JobResult& job, std::size_t width) {
  if (!job.pipeline) return {};
  return table_of(shape_words(*job.pipeline), schedule_share(*job.pipeline), means_of(job), width);
}

Json job_bubble_json(const std::optional<JobBubble>& bubble) {
  if (!bubble) return nullptr;
  Json stages = Json::array();
  for (const JobStageBubble& s : bubble->by_stage)
    stages.push_back({{"stage", s.stage},
                      {"wall_ns", value(s.total.wall)},
                      {"work_ns", value(s.total.work)},
                      {"passes_ns", value(s.total.passes)},
                      {"bubble_ns", value(s.total.bubble())},
                      {"fill_ns", part_json(s.total.fill)},
                      {"between_ns", part_json(s.total.between)},
                      {"drain_ns", part_json(s.total.drain)},
                      {"due_to_ns", due_json(s.due_to)}});
  return {{"micro_batches", bubble->micro_batches},
          {"chunks", bubble->chunks},
          {"schedule", pipeline_schedule_names[static_cast<std::size_t>(bubble->schedule)]},
          {"schedule_share", schedule_share(*bubble)},
          {"steps", bubble->steps},
          {"by_stage", std::move(stages)}};
}

std::string job_bubble_text(const std::optional<JobBubble>& bubble, std::size_t width) {
  if (!bubble) return {};
  std::vector<StageMean> stages;
  for (const JobStageBubble& s : bubble->by_stage) {
    StageMean& m = stages.emplace_back();
    m.ranks = 1;
    add(s.total, s.due_to, static_cast<double>(bubble->steps), m);
  }
  return table_of(
      shape_words(bubble->stages, bubble->micro_batches, bubble->chunks, bubble->schedule),
      schedule_share(*bubble), stages, width);
}

std::optional<BusiestStage> busiest_stage(const JobResult& job) {
  if (!job.pipeline) return std::nullopt;
  const std::vector<StageMean> stages = means_of(job);
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
  busiest.evidence.push_back(fmt::format("it works {} a step, the mean stage {}",
                                         format_time(stages[most].work),
                                         format_time(sum / traced)));
  if (idlest) {
    const StageMean& m = stages[*idlest];
    busiest.evidence.push_back(
        fmt::format("stage {} idles {} a step, of it {} for imbalance and {} by the schedule ({})",
                    *idlest, format_time(m.bubble()), format_time(*m.imbalance),
                    signed_time(m.schedule), shape_words(*job.pipeline)));
  }
  return busiest;
}

}  // namespace stepscope
