// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/straggler_job_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

std::string worker_words(const JobWorker& w) {
  return fmt::format("rank {} (DP rank {}, stage {})", w.rank, w.dp_rank, w.stage);
}

const JobWorker& worker_of(const StragglerJob& job, std::int32_t rank) {
  return *std::ranges::find(job.workers, rank, &JobWorker::rank);
}

bool is_explained_by(const Explained& e) { return e.rem && *e.rem >= threshold::explains_loss; }

bool has_uneven_sequences(const StragglerJob& job) {
  return job.fwd_bwd_correlation.value_or(0) >= threshold::uneven_sequences;
}

std::string clamped_note(const char* name, const Explained& e) {
  if (!e.rem || (*e.rem >= 0 && *e.rem <= 1)) return {};
  return fmt::format(
      "{} is {:.4f} and shown as {}: the ideal averages over stages, so that mending one part "
      "alone can do {} than making all parts equal",
      name, *e.rem, share_in_words(e), *e.rem > 1 ? "better" : "worse");
}

bool is_unbalanced(const StragglerJob& job) {
  return job.balance && job.balance->more >= threshold::uneven_stages &&
         saved_by_balance(job) >= threshold::least_gain * job.replayed;
}

// "it computes 31.0 % longer than the mean of the others, and ..."
std::string balance_words(const StragglerJob& job) {
  return fmt::format(
      "it computes {} longer than the mean of the others, and with balanced stages a step would "
      "take {}",
      format_percent(job.balance->more), format_time(nanoseconds_of(job.balance->step)));
}

struct LossCause {
  double share = 0;  // of the loss
  std::string words;
};

// Where there is one DP rank, each stage is one worker: the stage is named, and that it is not
// told from a slow machine.
std::optional<LossCause> worker_cause(const StragglerJob& job) {
  if (!is_explained_by(job.m_w)) return std::nullopt;
  if (is_unbalanced(job) && job.dp_ranks.size() == 1) return std::nullopt;
  return LossCause{*job.m_w.share(),
                   job.worst.size() == 1
                       ? fmt::format("one worker explains {} of it: {}", share_in_words(job.m_w),
                                     worst_workers_in_words(job))
                       : fmt::format("{} workers explain {} of it: {}", job.worst.size(),
                                     share_in_words(job.m_w), worst_workers_in_words(job))};
}

std::optional<LossCause> stage_cause(const StragglerJob& job) {
  const bool last = job.stages > 1 && is_explained_by(job.m_s);
  if (!is_unbalanced(job)) {
    if (!last) return std::nullopt;
    return LossCause{*job.m_s.share(), fmt::format("the last pipeline stage explains {} of it",
                                                   share_in_words(job.m_s))};
  }
  const bool last_is_slowest = job.balance->slowest == job.stages - 1;
  const Explained even{.rem = job.balance->rem};
  const Explained& by = last && last_is_slowest ? job.m_s : even;
  std::string words =
      fmt::format("{} explains {} of it: {}",
                  last_is_slowest ? "the last pipeline stage"
                                  : fmt::format("pipeline stage {}", job.balance->slowest),
                  share_in_words(by), balance_words(job));
  if (job.dp_ranks.size() == 1)
    words +=
        fmt::format(" (or rank {} is slow: there is one DP rank)",
                    std::ranges::find(job.workers, job.balance->slowest, &JobWorker::stage)->rank);
  return LossCause{by.share().value_or(0), std::move(words)};
}

std::string causes_in_words(const StragglerJob& job) {
  std::vector<LossCause> causes;
  for (auto found : {worker_cause(job), stage_cause(job)})
    if (found) causes.push_back(std::move(*found));
  std::ranges::stable_sort(causes, std::greater{}, &LossCause::share);
  if (has_uneven_sequences(job))
    causes.push_back({0, fmt::format("forward and backward of a microbatch take longer together "
                                     "(r = {:.2f}), so sequence lengths differ",
                                     *job.fwd_bwd_correlation)});
  if (causes.empty())
    return fmt::format(
        "no few workers and no last stage explain it: the worst {} {}, "
        "the last stage {}",
        counted(job.worst.size(), "worker"), share_in_words(job.m_w), share_in_words(job.m_s));
  std::vector<std::string> words;
  for (LossCause& c : causes) words.push_back(std::move(c.words));
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace

std::string share_in_words(const Explained& e) {
  const auto share = e.share();
  return share ? fmt::format("{:.0f} %", *share * 100) : "nothing";
}

std::string worst_workers_in_words(const StragglerJob& job) {
  if (job.worst.size() == 1) return worker_words(worker_of(job, job.worst.front()));
  return ranks_in_words({job.worst.begin(), job.worst.end()});
}

Seconds saved_by_balance(const StragglerJob& job) { return job.replayed - job.balance->step; }

JobVerdict straggler_verdict(const StragglerJob& job) {
  JobVerdict answer;
  const std::string steps = fmt::format(
      "a step takes {} without launch delays and would take {} if every operation took "
      "its kind's usual time",
      format_time(nanoseconds_of(job.replayed)), format_time(nanoseconds_of(job.ideal)));
  if (job.s < threshold::straggling) {
    answer.sentence =
        msg::plain(fmt::format("This job runs at {:.2f} × its ideal step and has no straggler to "
                               "speak of: {}",
                               job.s, steps));
    if (is_unbalanced(job))
      answer.culprit = msg::plain(fmt::format("pipeline stage {} is the slowest: {}",
                                              job.balance->slowest, balance_words(job)));
    return answer;
  }
  answer.bound_by = BoundBy::straggler;
  answer.sentence = msg::plain(
      fmt::format("This job runs at {:.2f} × its ideal step and wastes {} of its time: {}", job.s,
                  format_percent(job.waste), steps));
  answer.culprit = msg::plain(causes_in_words(job));
  return answer;
}

std::vector<std::string> straggler_warnings(const StragglerJob& job) {
  std::vector<std::string> said;
  for (const std::string& text : {clamped_note("M_W", job.m_w),
                                  job.stages > 1 ? clamped_note("M_S", job.m_s) : std::string{}})
    if (!text.empty()) said.push_back(text);
  if (job.replay_error > threshold::replay_tolerated)
    said.push_back(
        fmt::format("the replay with launch delays differs from the measured steps by "
                    "{}: what was recorded does not fit the dependencies",
                    format_percent(job.replay_error)));
  if (job.steps.size() == 1)
    said.emplace_back("one step only: whether it is typical cannot be told");
  said.insert(said.end(), job.left_out.begin(), job.left_out.end());
  for (const auto& [what, count] : job.notes) said.push_back(fmt::format("{}: {}", what, count));
  const JobMeta& m = job.meta;
  if (m.pp_size && *m.pp_size != job.stages)
    said.push_back(
        fmt::format("the meta file says {} stages, the rows have {}", *m.pp_size, job.stages));
  if (m.dp_size && *m.dp_size != std::ssize(job.dp_ranks))
    said.push_back(fmt::format("the meta file says {} DP ranks, {} are analysed", *m.dp_size,
                               job.dp_ranks.size()));
  return said;
}

}  // namespace stepscope
