// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/read_job_log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/read/bytes/token_scan.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/log/follow_log.h"
#include "stepscope/read/log/line_numbers.h"
#include "stepscope/read/log/line_pattern.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/pattern_offer.h"

namespace stepscope {
namespace {

bool take_evaluation(const LogLine& /*line*/, LogState& state) {
  state.evaluated.set();
  return true;
}

bool take_checkpoint(const LogLine& /*line*/, LogState& state) {
  state.saved.set();
  return true;
}

// Words that several tools share.
constexpr std::array shared_words = {LogWord{"validation loss at ", take_evaluation},
                                     LogWord{"validation loss: ", take_evaluation},
                                     LogWord{"HellaSwag accuracy", take_evaluation},
                                     LogWord{"val loss ", take_evaluation},
                                     LogWord{"Epoch(val)", take_evaluation},
                                     LogWord{"Iter(val)", take_evaluation},
                                     LogWord{"Test: [", take_evaluation},
                                     LogWord{"Test:  [", take_evaluation},
                                     LogWord{"d2.evaluation.evaluator", take_evaluation},
                                     LogWord{"***** Evaluating", take_evaluation},
                                     LogWord{"***** Running Evaluation", take_evaluation},
                                     LogWord{"aving checkpoint", take_checkpoint},
                                     LogWord{"aving the checkpoint", take_checkpoint},
                                     LogWord{"aving model checkpoint", take_checkpoint},
                                     LogWord{"aved checkpoint", take_checkpoint}};

// Reads the lines with a word: by a function, or by a tool's table.
struct LineTaker {
  TakeLine take = nullptr;
  const LogTool* tool = nullptr;
  const LogPattern* pattern = nullptr;
  bool operator==(const LineTaker&) const = default;
};

// All words, and a scanner that finds them in a text.
struct WordScan {
  std::vector<LineTaker> takers;
  TokenScan scan;
};

const WordScan& word_scan() {
  static const WordScan made = [] {
    std::vector<std::string_view> words;
    std::vector<LineTaker> takers;
    const auto add = [&](std::string_view word, LineTaker taker) {
      words.push_back(word);
      takers.push_back(taker);
    };
    for (const LogWord& w : shared_words) add(w.word, {.take = w.take});
    for (const LogDialect* dialect : log_dialects()) {
      for (const LogWord& w : dialect->words) add(w.word, {.take = w.take});
      for (const LogPattern& p : dialect->patterns)
        add(p.word, {.tool = &dialect->tool, .pattern = &p});
    }
    return WordScan{std::move(takers), TokenScan(words)};
  }();
  return made;
}

class LogReader {
 public:
  LogReader(JobLog& log, const StepReading& reading, const LinePattern* pattern = nullptr)
      : state_{.log = log, .reading = reading}, pattern_(pattern) {}

  // Takes whole lines.
  void feed(std::string_view text) {
    if (pattern_ == nullptr) return search(text);
    while (!text.empty()) {
      const std::size_t end = line_end(text, 0);
      const std::string_view line = text.substr(0, end);
      if (!take_by_pattern(line)) search(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  // Behind the last line.
  void finish() {
    for (const LogDialect* dialect : log_dialects()) close_record(dialect->tool, state_);
  }

 private:
  // The line of a program that the user describes.
  bool take_by_pattern(std::string_view text) {
    const std::string_view line = without_colours(text, room_);
    const auto match = match_line(*pattern_, line);
    if (!match) return false;
    LogRecord& record = state_.add(pattern_log.tool, {.text = line, .rank = rank_of_line(line)});
    record.iteration = match->step;
    record.epoch = epoch_of_line(line);
    if (match->wall_ns > 0)
      record.wall_ns = match->wall_ns;
    else
      record.stamp = instant_of_line(line);
    if (match->elapsed_ns) record.elapsed_s = *match->elapsed_ns / giga;
    record.tokens_per_s = match->tokens_per_s;
    if (match->loss) set_loss(record, match->loss);
    count_line(state_.log, pattern_log.tool);
    return true;
  }

  // Reads the lines that have a word of a tool.
  void search(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      if (state_.follow != nullptr) {
        const std::size_t end = line_end(text, at);
        const std::string_view line = text.substr(at, end - at);
        const std::string_view plain = without_colours(line, room_);
        if (state_.follow({.text = plain, .rank = -1}, state_)) {
          at = end + 1;
          continue;
        }
        state_.follow = nullptr;
      }
      const TokenScan::Hit hit = word_scan().scan.next(text, at);
      if (hit.at == std::string_view::npos) return;
      at = take_line(text, at, hit);
    }
  }

  // Searches piece by piece: lines of a progress bar end in '\r', and the next '\n' may be far.
  static std::size_t line_end(std::string_view text, std::size_t from) {
    constexpr std::size_t piece = 512;
    for (std::size_t at = from; at < text.size(); at += piece) {
      const std::string_view part = text.substr(at, piece);
      const std::string_view line = part.substr(0, part.find('\n'));
      const std::size_t end = std::min(line.find('\r'), line.size());
      if (end < part.size()) return at + end;
    }
    return text.size();
  }
  static std::size_t line_begin(std::string_view text, std::size_t from, std::size_t at) {
    while (at > from && text[at - 1] != '\n' && text[at - 1] != '\r') --at;
    return at;
  }

  // Returns where the next line begins.
  std::size_t take_line(std::string_view text, std::size_t from, TokenScan::Hit hit) {
    const std::size_t begin = line_begin(text, from, hit.at);
    const std::size_t end = line_end(text, hit.at);
    const std::string_view line = text.substr(begin, end - begin);
    const std::string_view plain = without_colours(line, room_);
    const LogLine taken{.text = plain, .rank = rank_of_line(plain)};
    std::array<LineTaker, 4> done{};
    std::size_t count = 0;
    while (hit.at != std::string_view::npos && hit.at < end && count < done.size()) {
      const LineTaker& taker = word_scan().takers[hit.word];
      if (std::ranges::find(done, taker) == done.end()) {
        done[count++] = taker;
        if (taker.pattern != nullptr)
          take_record(*taker.tool, *taker.pattern, taken, state_);
        else
          taker.take(taken, state_);
      }
      hit = word_scan().scan.next(text.substr(0, end), hit.at + 1);
    }
    return end + 1;
  }

  LogState state_;
  const LinePattern* pattern_;
  std::string room_;
};

// Timers of parts of a step: "forward_microstep 193 ms, backward_microstep 331 ms".
std::string timers_in_words(const JobLog& log) {
  constexpr std::size_t most_listed = 4;
  std::string words;
  for (std::size_t i = 0; i < std::min(log.timers.size(), most_listed); ++i) {
    std::vector<double> ms = log.timers[i].ms;
    const auto middle = ms.begin() + std::ssize(ms) / 2;
    std::ranges::nth_element(ms, middle);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), *middle < 100 ? "%.3g" : "%.0f", *middle);
    words += (i > 0 ? ", " : "") + log.timers[i].name + ' ' + text.data() + " ms";
  }
  return words + (log.timers.size() > most_listed ? ", …" : "");
}

// A log with times of the parts of a step only. The hint is of its tool.
Error parts_only(std::string_view path, const JobLog& log) {
  const LogTool* tool = log.timers.front().tool;
  const auto dialect =
      std::ranges::find(log_dialects(), tool, [](const LogDialect* d) { return &d->tool; });
  const bool known = dialect != log_dialects().end() && !(*dialect)->whole_step.empty();
  return {.what = "has timers of " + std::string(tool->label) + " (" + timers_in_words(log) +
                  ": medians), and no time of a whole step",
          .file = std::string(path),
          .hint = known ? std::string((*dialect)->whole_step)
                        : "give the whole log, with the lines that report on a step"};
}

// The work of the progress bars of a log that are not of training: "validation and loading".
std::string other_bars(const JobLog& log) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> works = {
      {{"lines_of_validation_bars", "validation"},
       {"lines_of_loading_bars", "loading"},
       {"lines_of_data_bars", "preparing data"},
       {"lines_of_saving_bars", "saving"}}};
  std::string out;
  for (const auto& [note, work] : works)
    if (log.notes.contains(std::string(note)))
      out += (out.empty() ? "" : " and of ") + std::string(work);
  return out;
}

Error no_step(const JobLog& log, std::string_view path, const std::optional<PatternOffer>& offer) {
  if (!log.timers.empty()) return parts_only(path, log);
  const std::string others =
      "give a log of a program that stepscope list formats names, lines with step_time_ms=…, one "
      "number a line, a CSV with a column such as step_time_ms, what stepscope train --json "
      "writes, or --log-pattern for lines of another program";
  if (log.run)  // its rates and blocks are of no known number of steps
    return {.what = "has events of MLPerf's logging, which tell no number of steps",
            .file = std::string(path),
            .hint = offer ? in_words(*offer)
                          : "give all that the job printed, or name the lines of its steps with "
                            "--log-pattern"};
  const std::string bars = other_bars(log);
  return {.what = bars.empty()
                      ? "names no step time"
                      : "names no step time: it has progress bars of " + bars + ", not of training",
          .file = std::string(path),
          .hint = offer ? in_words(*offer) + "; or " + others : others};
}

JobLog empty_log() {
  JobLog log;
  for (const LogDialect* dialect : log_dialects()) log.tools.push_back({.tool = &dialect->tool});
  return log;
}

// Every figure but the loss is a finite amount. A tool prints "inf" where it divided by zero.
void leave_out_impossible(JobLog& log) {
  for (LogRecord& r : log.records)
    for (OptionalReal* figure :
         {&r.wall_ns, &r.elapsed_s, &r.samples_per_s, &r.tokens_per_s, &r.tokens_per_s_device,
          &r.flops_per_s, &r.mfu, &r.memory_bytes, &r.memory_share, &r.batch})
      if (*figure && !(**figure >= 0 && **figure <= most_amount)) {
        *figure = {};
        ++log.notes["fields_not_understood"];
      }
  for (std::optional<double>* figure : {&log.run_s, &log.run_samples_per_s, &log.run_steps_per_s,
                                        &log.run_tokens_per_s, &log.run_flops})
    if (*figure && !(**figure >= 0 && **figure <= most_amount)) {
      figure->reset();
      ++log.notes["fields_not_understood"];
    }
}

bool any_of_pattern(const JobLog& log) {
  return std::ranges::any_of(log.records,
                             [](const LogRecord& r) { return r.tool == &pattern_log.tool; });
}

void settle(JobLog& log) {
  leave_out_impossible(log);
  for (const LogDialect* dialect : log_dialects())
    if (dialect->settle != nullptr) dialect->settle(log);
}

// Whether any line reports on a job.
bool reports(const JobLog& log) {
  const bool runs = log.run_s && (log.run_steps_per_s || log.run_steps);
  return !log.records.empty() || runs || !log.communication.empty() || !log.profiles.empty();
}

// The pattern of a reading; absent without one.
Result<std::optional<LinePattern>> pattern_of(const StepReading& reading) {
  if (reading.pattern.empty()) return std::optional<LinePattern>();
  auto pattern = parse_line_pattern(reading.pattern);
  if (!pattern) return pattern.error();
  return std::optional(*std::move(pattern));
}

Error not_matched(std::string_view path) {
  return {.what = "has no line of the given pattern",
          .file = std::string(path),
          .hint = "the words between its places must be those of the line"};
}

// Reads everything but the JSON of a trainer.
Result<JobLog> read_lines(ByteSource& source, std::string_view path, const StepReading& reading,
                          const StopFlag* stop) {
  const auto pattern = pattern_of(reading);
  if (!pattern) return pattern.error();
  JobLog log = empty_log();
  LogReader reader(log, reading, *pattern ? &**pattern : nullptr);
  std::uint64_t taken = 0;
  const auto take = [&](std::string_view block) -> Result<Done> {
    reader.feed(block);
    taken += block.size();
    if (log.records.size() <= most_log_steps) return Done{};
    return Error{.what = "reports more than " + std::to_string(most_log_steps) + " steps",
                 .file = std::string(path),
                 .byte = taken,
                 .hint = "give the log of one rank, or a part of it"};
  };
  const auto bytes = for_line_blocks(source, "\r\n", take, stop);
  if (!bytes) return bytes.error();
  reader.finish();
  log.text_bytes += *bytes;
  log.truncated = !source.damage().empty();
  if (*pattern && !any_of_pattern(log)) return not_matched(path);
  settle(log);
  return log;
}

}  // namespace

struct LogFollower::State {
  explicit State(std::optional<LinePattern> described) : pattern(std::move(described)) {}

  JobLog log = empty_log();
  std::optional<LinePattern> pattern;
  LogReader reader{log, {}, pattern ? &*pattern : nullptr};
};

LogFollower::LogFollower(std::optional<LinePattern> pattern)
    : state_(std::make_unique<State>(std::move(pattern))) {}
LogFollower::~LogFollower() = default;

void LogFollower::take(std::string_view line) { state_->reader.feed(line); }

std::vector<LogStep> LogFollower::take_steps() {
  constexpr std::size_t most_kept = 1024;  // records: steps of some tools are between two of them
  constexpr std::size_t most_settings = 4096;
  std::vector<LogStep> fresh;
  JobLog& log = state_->log;
  if (log.records.size() > next_record_) {
    leave_out_impossible(log);
    LogSteps all = steps_of(log);
    if (all.of_tokens) all.steps.clear();  // rates without a time
    for (LogStep& step : all.steps) {
      if (step.record < next_record_) continue;
      const std::int32_t epoch =
          step.record < log.records.size() ? log.records[step.record].epoch : -1;
      const bool again =
          step.cause == restart_cause || step.cause == numbered_anew_cause || epoch > last_epoch_;
      if (step.iteration >= 0 && step.iteration <= last_iteration_ && !again) continue;
      if (step.iteration >= 0) last_iteration_ = step.iteration;
      last_epoch_ = epoch;
      fresh.push_back(std::move(step));
    }
    if (!fresh.empty()) tool_ = all.tool;
    if (log.records.size() > most_kept) {
      const std::size_t drop = log.records.size() - most_kept / 2;
      log.records.erase(log.records.begin(),
                        log.records.begin() + static_cast<std::ptrdiff_t>(drop));
    }
    next_record_ = log.records.size();
  }
  // Nobody asks for these here. The last profile may still be read from lines to come.
  log.timers.clear();
  log.communication.clear();
  if (log.profiles.size() > 1) log.profiles.erase(log.profiles.begin(), log.profiles.end() - 1);
  if (log.settings.size() > most_settings) log.settings.clear();
  return fresh;
}

Result<JobLog> parse_job_log(std::string_view text, std::string_view path,
                             const StepReading& reading) {
  const auto pattern = pattern_of(reading);
  if (!pattern) return pattern.error();
  JobLog log = empty_log();
  if (!*pattern && is_trainer_state(text.substr(0, 4096))) {
    TextSource source(text);
    if (auto taken = take_trainer_state(source, path, log); !taken) return taken.error();
  } else {
    log.text_bytes = text.size();
    LogReader reader(log, reading, *pattern ? &**pattern : nullptr);
    reader.feed(text);
    reader.finish();
  }
  if (*pattern && !any_of_pattern(log)) return not_matched(path);
  settle(log);
  if (!reports(log)) return no_step(log, path, offer_pattern(text));
  return log;
}

Result<JobLog> read_job_log(ByteSource& source, std::string_view path, const StepReading& reading,
                            const StopFlag* stop) {
  auto log = read_lines(source, path, reading, stop);
  if (log && !reports(*log)) return no_step(*log, path, std::nullopt);
  return log;
}

Result<JobLog> read_job_log(const std::string& path, const StepReading& reading,
                            const StopFlag* stop) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::array<char, 4096> head{};
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  const std::string_view first(head.data(), *got);
  if (reading.pattern.empty() && is_trainer_state(first)) {
    source = open_source(path);
    if (!source) return source.error();
    JobLog log = empty_log();
    const auto taken = take_trainer_state(**source, path, log);
    if (const std::string damage = (*source)->damage(); !damage.empty())
      return Error{.what = damage, .file = path, .hint = "copy the file again"};
    if (!taken) return taken.error();
    settle(log);
    return reports(log) ? Result<JobLog>(std::move(log)) : no_step(log, path, std::nullopt);
  }
  source = open_source(path);
  if (!source) return source.error();
  auto log = read_lines(**source, path, reading, stop);
  if (!log || reports(*log)) return log;
  source = open_source(path);
  return no_step(*log, path, source ? offer_pattern(**source) : std::nullopt);
}

namespace {

// Whether the file is a trainer_state.json.
bool is_state_file(const std::string& path) {
  const auto source = open_source(path);
  std::array<char, 4096> head{};
  const auto got = source ? (*source)->read(head) : Result<std::size_t>(0);
  return got && is_trainer_state({head.data(), *got});
}

}  // namespace

Error no_step_time(const JobLog& log, const std::string& path) {
  Error error{.what = "reports on a job and tells no step time",
              .file = path,
              .hint = "log throughput or time stamps too (docs/reference/inputs.md)"};
  const auto source = open_source(path);
  if (const auto offer = source ? offer_pattern(**source) : std::nullopt)
    error.hint = in_words(*offer);
  const auto trainer = std::ranges::find(log.tools, &hugging_face_log.tool, &LogToolLines::tool);
  if (trainer != log.tools.end() && trainer->lines > 0)
    error.hint =
        is_state_file(path)
            ? "its last row has the time of the run only if the run ended: give that file, or "
              "standard error of the run, where its progress bar stands (docs/reference/inputs.md)"
            : "the Trainer's lines tell no time of a step: keep standard error, where its progress "
              "bar stands, or give trainer_state.json of the finished run "
              "(docs/reference/inputs.md)";
  return error;
}

}  // namespace stepscope
