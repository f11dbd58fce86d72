// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/straggler_job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "stepscope/report/format.h"
#include "stepscope/report/pipeline_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/report/words.h"

namespace stepscope {
namespace {

// A job that runs at less than this times its ideal has no stragglers worth the name
// (the paper's bound), and a set explains it that gives back at least half.
constexpr double straggling = 1.1;
constexpr double explains = 0.5;
// Forward and backward of a microbatch move together where sequence lengths differ.
constexpr double uneven_sequences = 0.9;
// Stages are unbalanced where the slowest computes this much longer than the mean of the others,
// and a balanced step is this much of it shorter.
constexpr double unbalanced = 0.05;
constexpr double least_gain = 0.01;
constexpr double replay_tolerated = 0.02;
constexpr std::size_t workers_shown = 3;

std::string times_to_two_places(double ratio) { return fmt::format("{:.2f} ×", ratio); }

// "100 %": rem as a share, said where it had to be clamped.
std::string share_of(const Explained& e) {
  const auto share = e.share();
  return share ? fmt::format("{:.0f} %", *share * 100) : "nothing";
}

bool is_explained_by(const Explained& e) { return e.rem && *e.rem >= explains; }

bool has_uneven_sequences(const StragglerJob& job) {
  return job.fwd_bwd_correlation.value_or(0) >= uneven_sequences;
}

std::string worker_words(const JobWorker& w) {
  return fmt::format("rank {} (DP rank {}, stage {})", w.rank, w.dp_rank, w.stage);
}

const JobWorker& worker_of(const StragglerJob& job, std::int32_t rank) {
  return *std::ranges::find(job.workers, rank, &JobWorker::rank);
}

std::string worst_words(const StragglerJob& job) {
  if (job.worst.size() == 1) return worker_words(worker_of(job, job.worst.front()));
  return ranks_in_words({job.worst.begin(), job.worst.end()});
}

std::string clamped_note(const char* name, const Explained& e) {
  if (!e.rem || (*e.rem >= 0 && *e.rem <= 1)) return {};
  return fmt::format(
      "{} is {:.4f} and shown as {}: the ideal averages over stages, so that mending one part "
      "alone can do {} than making all parts equal",
      name, *e.rem, share_of(e), *e.rem > 1 ? "better" : "worse");
}

Seconds saved_by_balance(const StragglerJob& job) { return job.replayed - job.balance->step; }

bool is_unbalanced(const StragglerJob& job) {
  return job.balance && job.balance->more >= unbalanced &&
         saved_by_balance(job) >= least_gain * job.replayed;
}

// "it computes 31.0 % longer than the mean of the others, and ..."
std::string balance_words(const StragglerJob& job) {
  return fmt::format(
      "it computes {} longer than the mean of the others, and with balanced stages a step would "
      "take {}",
      format_percent(job.balance->more), format_time(nanoseconds_of(job.balance->step)));
}

struct Cause {
  double share = 0;  // of the loss
  std::string words;
};

// Where there is one DP rank, each stage is one worker: the stage is named, and that it is not
// told from a slow machine.
std::optional<Cause> worker_cause(const StragglerJob& job) {
  if (!is_explained_by(job.m_w)) return std::nullopt;
  if (is_unbalanced(job) && job.dp_ranks.size() == 1) return std::nullopt;
  return Cause{
      *job.m_w.share(),
      job.worst.size() == 1
          ? fmt::format("one worker explains {} of it: {}", share_of(job.m_w), worst_words(job))
          : fmt::format("{} workers explain {} of it: {}", job.worst.size(), share_of(job.m_w),
                        worst_words(job))};
}

std::optional<Cause> stage_cause(const StragglerJob& job) {
  const bool last = job.stages > 1 && is_explained_by(job.m_s);
  if (!is_unbalanced(job)) {
    if (!last) return std::nullopt;
    return Cause{*job.m_s.share(),
                 fmt::format("the last pipeline stage explains {} of it", share_of(job.m_s))};
  }
  const bool last_is_slowest = job.balance->slowest == job.stages - 1;
  const Explained even{.rem = job.balance->rem};
  const Explained& by = last && last_is_slowest ? job.m_s : even;
  std::string words =
      fmt::format("{} explains {} of it: {}",
                  last_is_slowest ? "the last pipeline stage"
                                  : fmt::format("pipeline stage {}", job.balance->slowest),
                  share_of(by), balance_words(job));
  if (job.dp_ranks.size() == 1)
    words +=
        fmt::format(" (or rank {} is slow: there is one DP rank)",
                    std::ranges::find(job.workers, job.balance->slowest, &JobWorker::stage)->rank);
  return Cause{by.share().value_or(0), std::move(words)};
}

std::string cause(const StragglerJob& job) {
  std::vector<Cause> causes;
  for (auto found : {worker_cause(job), stage_cause(job)})
    if (found) causes.push_back(std::move(*found));
  std::ranges::stable_sort(causes, std::greater{}, &Cause::share);
  if (has_uneven_sequences(job))
    causes.push_back({0, fmt::format("forward and backward of a microbatch take longer together "
                                     "(r = {:.2f}), so sequence lengths differ",
                                     *job.fwd_bwd_correlation)});
  if (causes.empty())
    return fmt::format(
        "no few workers and no last stage explain it: the worst {} {}, "
        "the last stage {}",
        counted(job.worst.size(), "worker"), share_of(job.m_w), share_of(job.m_s));
  std::vector<std::string> words;
  for (Cause& c : causes) words.push_back(std::move(c.words));
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string sizes_of(const StragglerJob& job) {
  const JobMeta& m = job.meta;
  std::vector<std::string> parts;
  if (m.world_size) parts.push_back(fmt::format("{} GPUs", *m.world_size));
  std::string sizes = fmt::format(
      "DP {} × PP {}", m.dp_size.value_or(static_cast<int>(job.dp_ranks.size())), job.stages);
  const auto further = [&](std::string_view name, const std::optional<int>& size) {
    if (size && *size > 1) sizes += fmt::format(" × {} {}", name, *size);
  };
  further("TP", m.tp_size);
  further("sequence", m.dsp_size);
  parts.push_back(sizes);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const AnalyzeReport& report, const StragglerJob& job) {
  double bytes = 0;
  for (const InputRow& i : report.inputs) bytes += static_cast<double>(i.file_bytes);
  std::vector<std::string> parts;
  if (!job.meta.trial_name.empty()) parts.push_back(printable(job.meta.trial_name));
  parts.push_back(sizes_of(job));
  parts.push_back(job.steps.size() == 1
                      ? fmt::format("step {}", job.steps.front().step)
                      : fmt::format("{} steps, {} to {}", job.steps.size(), job.steps.front().step,
                                    job.steps.back().step));
  parts.push_back(fmt::format("{} operations", format_count(static_cast<double>(job.operations))));
  parts.push_back(
      fmt::format("{} read in {}", format_bytes(bytes), format_time(report.read_seconds * 1e9)));
  return fmt::format("{}\n", fmt::join(parts, " · "));
}

std::string slowest(std::span<const GroupSlowdown> groups) {
  std::vector<std::string> parts;
  for (const GroupSlowdown& g : groups.first(std::min<std::size_t>(groups.size(), 3)))
    parts.push_back(fmt::format("{} {}", g.name, times_to_two_places(g.slowdown)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "  label      what", a line each.
std::string facts(const StragglerJob& job) {
  std::string out;
  const auto line = [&](std::string_view label, const std::string& what) {
    out += fmt::format("  {:<16} {}\n", label, what);
  };
  const auto explained = [](const Explained& e, const char* name, double step) {
    if (!e.rem) return std::string("nothing to explain");
    const double saved = step - nanoseconds_of(e.removed);
    return fmt::format("{} of the loss ({} {:.3f}): mended alone it {} {} a step", share_of(e),
                       name, *e.rem, saved >= 0 ? "saves" : "costs", format_time(std::abs(saved)));
  };
  line("worst workers", fmt::format("{}; {}", worst_words(job),
                                    explained(job.m_w, "M_W", nanoseconds_of(job.replayed))));
  if (job.stages > 1)
    line("last stage", fmt::format("stage {}; {}", job.stages - 1,
                                   explained(job.m_s, "M_S", nanoseconds_of(job.replayed))));
  if (job.balance)
    line("slowest stage",
         fmt::format("stage {} computes {} longer than the mean of the others; balanced stages "
                     "{} {} a step",
                     job.balance->slowest, format_percent(job.balance->more),
                     saved_by_balance(job) >= Seconds{0} ? "save" : "cost",
                     format_time(std::abs(nanoseconds_of(saved_by_balance(job))))));
  std::vector<std::string> mended;
  for (const JobWorker& w :
       std::span(job.workers).first(std::min(job.workers.size(), workers_shown)))
    if (w.rem) mended.push_back(fmt::format("rank {} {:.1f} %", w.rank, *w.rem * 100));
  line("any one mended", fmt::format("{}", fmt::join(mended, ", ")));
  line("alone real", fmt::format("{} (the rest ideal)", slowest(job.by_operation)));
  if (job.fwd_bwd_correlation)
    line("sequences",
         fmt::format("forward and backward of a microbatch correlate with r = {:.2f}, forward "
                     "varies by {:.1f} %",
                     *job.fwd_bwd_correlation, job.fwd_variation.value_or(0) * 100));
  std::vector<std::string> free;
  for (const CommFree& f : job.comm_free)
    free.push_back(fmt::format("{} {:.3f} ×", f.name, f.speedup));
  line("free comm", fmt::format("{} faster", fmt::join(free, ", ")));
  line("host", fmt::format("launch delays make the measured step {} longer; with them S is {:.3f}",
                           format_percent(job.launch_slowdown - 1), job.s_host));
  return out;
}

Json explained_json(const Explained& e) {
  return {{"removed_step_ns", nanoseconds_of(e.removed)},
          {"added_step_ns", nanoseconds_of(e.added)},
          {"rem", real(e.rem)},
          {"add", real(e.add)}};
}

Json balance_json(const std::optional<StageBalance>& balance) {
  if (!balance) return nullptr;
  return {{"slowest", balance->slowest},
          {"more", balance->more},
          {"balanced_step_ns", nanoseconds_of(balance->step)},
          {"rem", real(balance->rem)}};
}

Json groups_json(std::span<const GroupSlowdown> groups) {
  Json out = Json::array();
  for (const GroupSlowdown& g : groups)
    out.push_back({{"name", g.name}, {"s", g.slowdown}, {"steps", g.steps}});
  return out;
}

}  // namespace

Answer straggler_answer(const StragglerJob& job) {
  Answer answer;
  const std::string steps = fmt::format(
      "a step takes {} without launch delays and would take {} if every operation took "
      "its kind's usual time",
      format_time(nanoseconds_of(job.replayed)), format_time(nanoseconds_of(job.ideal)));
  if (job.s < straggling) {
    answer.sentence = fmt::format(
        "This job runs at {} its ideal step and has no straggler to "
        "speak of: {}.",
        times_to_two_places(job.s), steps);
    if (is_unbalanced(job))
      answer.culprit = fmt::format("pipeline stage {} is the slowest: {}", job.balance->slowest,
                                   balance_words(job));
    return answer;
  }
  answer.bound_by = BoundBy::straggler;
  answer.sentence = fmt::format("This job runs at {} its ideal step and wastes {} of its time: {}.",
                                times_to_two_places(job.s), format_percent(job.waste), steps);
  answer.culprit = cause(job);
  return answer;
}

std::vector<std::string> straggler_warnings(const StragglerJob& job) {
  std::vector<std::string> said;
  for (const std::string& text : {clamped_note("M_W", job.m_w),
                                  job.stages > 1 ? clamped_note("M_S", job.m_s) : std::string{}})
    if (!text.empty()) said.push_back(text);
  if (job.replay_error > replay_tolerated)
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

std::string straggler_text(const AnalyzeReport& report, const StragglerJob& job,
                           const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = headline(report, job) + '\n';
  out += fmt::format("{}{}{}", options.colour ? "\033[1m" : "",
                     wrapped(report.answer.sentence, width), options.colour ? "\033[0m" : "");
  if (report.answer.culprit) {
    std::string culprit = printable(*report.answer.culprit);
    culprit[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(culprit[0])));
    out += wrapped(culprit + ".", width);
  }
  out += '\n' + facts(job);
  if (!options.details.empty()) out += fmt::format("Details: {}\n", printable(options.details));
  if (job.bubble) out += '\n' + job_bubble_text(job.bubble, width);
  if (!report.warnings.empty()) out += '\n';
  for (const std::string& w : report.warnings) out += wrapped("note: " + printable(w), width);
  return out;
}

Json straggler_job_json(const StragglerJob& job) {
  const JobMeta& m = job.meta;
  Json steps = Json::array();
  for (const OperationStep& s : job.steps)
    steps.push_back({{"step", s.step},
                     {"measured_ns", value(s.measured)},
                     {"replayed_ns", value(s.replayed)},
                     {"ideal_ns", value(s.ideal)},
                     {"s", s.slowdown},
                     {"s_host", s.host_slowdown}});
  Json workers = Json::array();
  for (const JobWorker& w : job.workers)
    workers.push_back({{"rank", w.rank},
                       {"dp_rank", w.dp_rank},
                       {"stage", w.stage},
                       {"score", w.score},
                       {"rem", real(w.rem)},
                       {"removed_step_ns", nanoseconds_of(w.removed)}});
  Json free = Json::array();
  for (const CommFree& f : job.comm_free)
    free.push_back({{"kind", f.name}, {"step_ns", nanoseconds_of(f.step)}, {"speedup", f.speedup}});
  Json worst = explained_json(job.m_w);
  worst["ranks"] = job.worst;
  Json last = explained_json(job.m_s);
  last["stage"] = job.stages - 1;
  return {{"trial_name", text_or_null(m.trial_name)},
          {"sizes",
           {{"dp", value(m.dp_size)},
            {"pp", value(m.pp_size)},
            {"tp", value(m.tp_size)},
            {"dsp", value(m.dsp_size)},
            {"vpp", value(m.vpp_size)},
            {"world", value(m.world_size)}}},
          {"dp_ranks", job.dp_ranks.size()},
          {"stages", job.stages},
          {"operations", job.operations},
          {"nodes", job.nodes},
          {"s", job.s},
          {"waste", job.waste},
          {"m_w", real(job.m_w.rem)},
          {"m_s", real(job.m_s.rem)},
          {"m_w_share", real(job.m_w.share())},
          {"m_s_share", real(job.m_s.share())},
          {"s_host", job.s_host},
          {"launch_slowdown", job.launch_slowdown},
          {"replay_error", job.replay_error},
          {"measured_step_ns", nanoseconds_of(job.measured)},
          {"replayed_step_ns", nanoseconds_of(job.replayed)},
          {"ideal_step_ns", nanoseconds_of(job.ideal)},
          {"steps", std::move(steps)},
          {"worst_workers", std::move(worst)},
          {"last_stage", std::move(last)},
          {"by_operation", groups_json(job.by_operation)},
          {"by_dp_rank", groups_json(job.by_dp_rank)},
          {"by_stage", groups_json(job.by_stage)},
          {"workers", std::move(workers)},
          {"without_communication", std::move(free)},
          {"stage_balance", balance_json(job.balance)},
          {"pipeline", job_bubble_json(job.bubble)},
          {"fwd_bwd_correlation", real(job.fwd_bwd_correlation)},
          {"fwd_variation", real(job.fwd_variation)},
          {"left_out", job.left_out},
          {"notes", job.notes}};
}

}  // namespace stepscope
