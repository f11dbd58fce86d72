// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/printed_overlap.h"
#include "stepscope/read/log/rank_lists.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/step_columns.h"
#include "stepscope/read/log/step_table.h"
#include "stepscope/read/log/taken_steps.h"
#include "stepscope/read/rows/rank_names.h"

namespace stepscope {
namespace {

constexpr std::size_t head_size = 4096;  // decides what a file is

// Step times are never as far apart; a latency and a bandwidth are.
constexpr double most_apart = 1e10;

std::optional<Error> too_far_apart(std::span<const double> times, std::string_view path) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const double time : times) {
    if (!(time > 0)) continue;
    least = std::min(least, time);
    most = std::max(most, time);
  }
  if (!(most >= most_apart * least)) return std::nullopt;
  return Error{.what =
                   "has numbers that are more than 10 orders of magnitude apart, and so are no "
                   "step times",
               .file = std::string(path),
               .hint =
                   "a latency and a bandwidth are the result of a fit: stepscope calibrate "
                   "MACHINE.json --from FILE --machine NAME --ranks N fits the measured sizes "
                   "and times"};
}

// [[1024, 1.9e-05], [65536, 2.1e-05]]: sizes in bytes, with the times of a collective in seconds.
bool are_sizes_and_times(const std::vector<RankList>& lists) {
  constexpr double least_rate = 1000;  // B/s
  double before = 0;
  for (const RankList& list : lists) {
    if (list.times.size() != 2) return false;
    const double size = list.times[0];
    if (!(size > before && size == std::floor(size) && size >= least_rate * list.times[1]))
      return false;
    before = size;
  }
  return lists.size() > 1;
}

Result<StepTimes> numbers(std::string_view text, std::string_view path, TimeUnit assumed) {
  StepTimes times{.source = "numbers", .unit_assumed = true};
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    const auto value = number_in(line);
    take_step(times, value ? *value * ns_per(assumed) : 0);
    if (times.wall_ns.size() > most_log_steps) return too_many_steps(path, lines.number());
  }
  return finished_steps(std::move(times), path);
}

Result<StepTimes> times_of_lists(const std::vector<RankList>& lists, std::string_view path,
                                 TimeUnit assumed) {
  if (are_sizes_and_times(lists))
    return Error{.what = "has pairs of a size and a time, and no steps",
                 .file = std::string(path),
                 .hint =
                     "stepscope calibrate MACHINE.json --from FILE --machine NAME --ranks N "
                     "fits them"};
  StepTimes times{.source = "lists"};
  for (const RankList& list : lists) {
    if (auto apart = too_far_apart(list.times, path)) return *std::move(apart);
    times.unit_assumed = times.unit_assumed || !list.unit;
    for (std::size_t i = 0; i < list.times.size(); ++i) {
      const double ns = list.times[i] * ns_per(list.unit.value_or(assumed));
      if (!list.rank) {
        take_step(times, ns);
        continue;
      }
      if (!is_step(ns)) ++times.left_out;
      take_rank_step(times, *list.rank, static_cast<double>(i), ns);
    }
  }
  if (!times.ranks.empty()) take_slowest(times);
  return finished_steps(std::move(times), path);
}

std::string counted_words(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

// Remarks about the source of the times.
void take_remarks(const JobLog& log, const LogSteps& steps, StepTimes& times) {
  const auto mean_of = std::ranges::max(steps.steps, {}, &LogStep::steps).steps;
  if (mean_of > 1)
    times.remarks.push_back("each time is the mean of up to " +
                            counted_words(static_cast<std::uint64_t>(mean_of), "step"));
  if (steps.launches.size() > 1)
    times.remarks.push_back("iteration numbers go back " +
                            counted_words(steps.launches.size() - 1, "time") +
                            ": the first step after each counts as a restart");
  if (steps.numbered_anew > 0)
    times.remarks.push_back("step numbers go back " + counted_words(steps.numbered_anew, "time") +
                            ", where a launch or an epoch may begin");
  if (log.truncated) times.remarks.emplace_back("the end of the file is damaged");
}

Result<StepTimes> times_of(const JobLog& log, std::string_view path) {
  const LogSteps steps = steps_of(log);
  StepTimes times;
  times.source = std::string(steps.tool->label) + ": " + steps.how;
  times.left_out = steps.left_out;
  times.unit_assumed = steps.unit_assumed;
  for (const LogStep& step : steps.steps) {
    std::optional<double> rate;  // a mean of the whole run has no record
    if (step.record < log.records.size()) rate = log.records[step.record].tokens_per_s;
    take_step(times, step.wall_ns, step.cause, step.iteration,
              rate ? std::optional(*rate * step.wall_ns / giga) : std::nullopt);
  }
  if (!steps.steps.empty()) take_remarks(log, steps, times);
  if (steps.of_tokens)
    times.remarks.emplace_back(
        "it prints rates and no time of a step: each time is that of one token of a device");
  return finished_steps(std::move(times), path);
}

bool is_train_json(std::string_view text) {
  return text.substr(0, 200).find("\"stepscope.train/") != std::string_view::npos;
}

Result<StepTimes> train_steps(ByteSource& source, std::string_view path) {
  StepTimes times{.source = "stepscope train"};
  bool listed = false;
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    if (item.value == nullptr) {
      listed = listed || item.key == "steps";
      return Done{};
    }
    if (!item.inner) return Done{};
    const JsonValue& step = *item.value;
    if (item.key == "rank_steps")
      take_rank_step(times, json_number(step, "rank"), json_number(step, "index"),
                     json_number(step, "wall_ns").value_or(0));
    if (item.key != "steps") return Done{};
    const JsonValue* validation = step.find("validation_loss");
    const bool evaluated = validation != nullptr && validation->kind != JsonValue::Kind::null;
    const JsonValue* skipped = step.find("skipped");
    const bool lost = skipped != nullptr && skipped->boolean;
    take_step(times, json_number(step, "wall_ns").value_or(0),
              evaluated ? "eval"
              : lost    ? "skipped"
                        : "",
              whole_number(json_number(step, "index")).value_or(-1), json_number(step, "tokens"));
    return Done{};
  };
  constexpr std::array<std::string_view, 2> keys = {"steps", "rank_steps"};
  const auto read = for_json_items(source, path, take, {.keys = keys});
  if (!read) return read.error();
  if (!listed) return no_step_times("has no steps", path);
  return finished_steps(std::move(times), path);
}

// Whether a JSON table of step times begins here. Lines of JSON are a log; an object alone with
// phases is a table. The first list may be longer than the head, and its key is then the only one.
bool begins_json_table(std::string_view head) {
  const std::string_view text = trimmed(head);
  const std::vector<std::string_view> keys = first_keys(text);
  if (keys.empty()) return false;
  const std::string_view value = trimmed(text.substr(text.find(':') + 1));
  const bool lists = value.starts_with('[');
  const bool alone = text.find('}') == text.size() - 1;
  if (const auto columns = step_columns(keys))
    return text.starts_with('[') || lists || (alone && !columns->parts.empty());
  const auto part = step_part_column(keys.front());
  return keys.size() == 1 && lists && part &&
         (part->kind == StepPartKind::computation || part->kind == StepPartKind::communication);
}

// Whether a list of numbers or a table begins here, or the text is empty. A log does not.
bool is_list(std::string_view text) {
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    std::vector<std::string_view> cells;
    split_cells(line, separator_of(line), cells);
    return number_in(line).has_value() || step_columns(cells).has_value() ||
           !rank_columns(cells).times.empty() ||
           std::ranges::all_of(cells, [](std::string_view c) { return number_in(c).has_value(); });
  }
  return true;
}

// JSON of times by its first bytes; absent for any other text.
std::optional<Result<StepTimes>> json_times(ByteSource& source, std::string_view head,
                                            std::string_view path, const StepReading& reading) {
  if (is_train_json(head)) return train_steps(source, path);
  if (begins_json_lists(trimmed(head))) {
    const auto lists = read_json_lists(source, path);
    return lists ? times_of_lists(*lists, path, reading.assumed()) : lists.error();
  }
  if (begins_rank_lists(trimmed(head)) || !begins_json_table(head)) return std::nullopt;
  const auto csv = csv_of_json(source, path);
  return csv ? parse_step_times(*csv, path, reading) : Result<StepTimes>(csv.error());
}

}  // namespace

Result<StepTimes> parse_step_times(std::string_view text, std::string_view path,
                                   const StepReading& reading) {
  const TimeUnit assumed = reading.assumed();
  const auto as_log = [&]() -> Result<StepTimes> {
    const auto log = parse_job_log(text, path, reading);
    return log ? times_of(*log, path) : log.error();
  };
  if (!reading.pattern.empty()) return as_log();
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  const std::string_view head = text.substr(0, head_size);
  TextSource source(text);
  if (auto times = json_times(source, head, path, reading)) return *std::move(times);
  if (begins_rank_lists(trimmed(head))) return times_of_lists(printed_lists(text), path, assumed);
  if (begins_printed_overlap(head))
    return parse_step_times(csv_of_printed_overlap(text), path, reading);
  StepLines lines(text);
  std::string_view first;
  bool any = false;
  while (!any && lines.next(first)) any = says_something(first);
  if (!any) return no_step_times("is empty", path);
  if (number_in(first)) return numbers(text, path, assumed);
  const char separator = separator_of(first);
  std::vector<std::string_view> cells;
  split_cells(first, separator, cells);
  const auto columns = step_columns(cells);
  if (columns && columns->of_sizes && !columns->step)
    return Error{.what = "has times by the size of a message, and no steps",
                 .file = std::string(path),
                 .hint =
                     "stepscope calibrate MACHINE.json --from FILE --machine NAME --ranks N fits "
                     "such a table"};
  if (columns && columns->of_scores)
    return Error{.what = "has the ranks that stand out, and no steps",
                 .file = std::string(path),
                 .hint =
                     "give the times of all ranks: [[100.1, 99.8], [100.2, 99.9]] as JSON, one "
                     "list a rank"};
  if (columns) return steps_of_table(lines, separator, *columns, path, reading);
  if (const RankColumns of_ranks = rank_columns(cells); !of_ranks.times.empty())
    return steps_of_rank_columns(lines, separator, of_ranks, path, assumed);
  if (std::ranges::all_of(cells, [](std::string_view c) { return number_in(c).has_value(); }))
    return no_step_times("line " + std::to_string(lines.number()) +
                             ": a table without names; which column is the step's time?",
                         path);
  return as_log();
}

namespace {

// "{" and a name in quotes, or nothing: Python's dicts have other quotes.
bool begins_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \n\r\t"), text.size()));
  return text.empty() || text.front() == '"' || text.front() == '}';
}

// "[" and a value that a trace or a table may have, or nothing. Lines of loggers have words or
// numbers there, perhaps behind blanks.
bool begins_array(std::string_view text) {
  if (!text.starts_with('[')) return false;
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \n\r\t"), text.size()));
  return text.empty() || std::string_view("{[\"]").find(text.front()) != std::string_view::npos;
}

// Lines that are an object each, and no rows of a trace: Chrome's, or of `nsys export --type json`.
bool begins_json_lines(std::string_view text) {
  if (contains_any(text, {"\"traceEvents\"", "\"ph\"", "\"Type\":", "{\"data\":[\""})) return false;
  bool second = false;
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trimmed(line);
    if (line.empty()) continue;
    if (!begins_object(line)) return false;
    if (second) return true;
    if (!line.ends_with('}')) return false;
    second = true;
  }
  return false;
}

}  // namespace

Result<StepFileKind> step_file_kind(const std::string& path) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::array<char, head_size> head{};
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  std::string_view text(head.data(), *got);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  if (is_sqlite(text) || path.ends_with(".nsys-rep")) return StepFileKind::trace;
  if (is_train_json(text)) return StepFileKind::train_json;
  text.remove_prefix(std::min(text.find_first_not_of(" \n\r\t"), text.size()));
  if (is_trainer_state(text)) return StepFileKind::log;
  if (begins_rank_lists(text) || begins_printed_overlap(text) || begins_json_table(text))
    return StepFileKind::list;
  // A line of JSON with a time is a log's: the first line of a trace names no time.
  if (begins_json_lines(text)) return StepFileKind::log;
  const std::string_view line = text.substr(0, text.find('\n'));
  const bool json = begins_object(text) || begins_array(text);
  if (json && !named_time(line, TimeUnit::ms)) return StepFileKind::trace;
  return is_list(text) ? StepFileKind::list : StepFileKind::log;
}

namespace {

Result<StepTimes> read_times(const std::string& path, const StepReading& reading,
                             const StopFlag* stop) {
  const auto kind = step_file_kind(path);
  if (!reading.pattern.empty() || (kind && *kind == StepFileKind::log)) {
    const auto log = read_job_log(path, reading, stop);
    return log ? times_of(*log, path) : log.error();
  }
  auto source = open_source(path);
  if (!source) return source.error();
  std::string head(head_size, '\0');
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  head.resize(*got);
  source = open_source(path);
  if (!source) return source.error();
  const std::string_view begin = head;
  auto times =
      json_times(**source, begin.substr(begin.starts_with("\xEF\xBB\xBF") ? 3 : 0), path, reading);
  if (const std::string damage = (*source)->damage(); times && !damage.empty())
    return Error{.what = damage, .file = path, .hint = "copy the file again"};
  if (times) return *std::move(times);
  const auto text = read_text_file(path, stop);
  if (!text) return text.error();
  return parse_step_times(*text, path, reading);
}

}  // namespace

Result<StepTimes> read_step_times(const std::string& path, const StepReading& reading,
                                  const StopFlag* stop) {
  auto times = read_times(path, reading, stop);
  if (times && reading.unit) times->unit_assumed = false;
  return times;
}

Result<StepTimes> read_rank_files(std::span<const std::string> paths, const StepReading& reading,
                                  const StopFlag* stop) {
  const std::vector<std::optional<int>> names = ranks_from_names(paths, std::nullopt);
  StepTimes times;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto one = read_step_times(paths[i], reading, stop);
    if (!one) return one.error();
    if (!one->ranks.empty())
      return Error{.what = "has the times of several ranks beside other lists",
                   .file = paths[i],
                   .hint = "give this file alone, or one file a rank"};
    times.source = one->source + " of " + std::to_string(paths.size()) + " files";
    times.unit_assumed = times.unit_assumed || one->unit_assumed;
    times.left_out += one->left_out;
    for (std::size_t step = 0; step < one->wall_ns.size(); ++step)
      take_rank_step(times, names[i].value_or(static_cast<int>(i)), static_cast<double>(step),
                     one->wall_ns[step]);
  }
  take_slowest(times);
  return finished_steps(std::move(times), paths.empty() ? std::string_view() : paths.front());
}

}  // namespace stepscope
