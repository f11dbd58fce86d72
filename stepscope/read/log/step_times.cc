// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_times.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <span>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/rank_lists.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/step_table.h"
#include "stepscope/read/rows/rank_names.h"

namespace stepscope {
namespace {

constexpr std::size_t head_size = 4096;  // decides what a file is

constexpr std::string_view what_is_read =
    "give one number a line, a CSV with a column such as step_time_ms or with columns rank0, "
    "rank1, …, a JSON list of times for each rank, a log with step_time_ms=…, or what stepscope "
    "train --json writes";

Error wrong(std::string what, std::string_view path) {
  return {.what = std::move(what), .file = std::string(path), .hint = std::string(what_is_read)};
}

bool says_something(std::string_view line) {
  const std::string_view text = bare(line);
  return !text.empty() && text.front() != '#';
}

// Values beyond 30 years or below a femtosecond are not steps. `iteration`: absent if the input
// does not number its steps.
void take(StepTimes& times, double ns, std::string_view cause = {},
          std::optional<std::int64_t> iteration = {}, std::optional<double> tokens = {}) {
  if (!is_step(ns)) {
    ++times.left_out;
    return;
  }
  times.wall_ns.push_back(ns);
  if (iteration) times.iterations.push_back(*iteration);
  if (tokens && *tokens > 0) times.tokens.push_back(*tokens);
  if (cause.empty() && times.causes.empty()) return;
  times.causes.resize(times.wall_ns.size());
  times.causes.back() = cause;
}

Result<StepTimes> finished(StepTimes times, std::string_view path) {
  if (times.wall_ns.empty()) return wrong("has no positive step time", path);
  if (!times.causes.empty()) times.causes.resize(times.wall_ns.size());
  if (times.tokens.size() != times.wall_ns.size()) times.tokens.clear();
  return times;
}

Error too_many(std::string_view path, std::size_t line) {
  return {.what = "line " + std::to_string(line) + ": more than " + std::to_string(most_log_steps) +
                  " steps",
          .file = std::string(path),
          .hint = "give a part of the file"};
}

Result<StepTimes> numbers(std::string_view text, std::string_view path, TimeUnit assumed) {
  StepTimes times{.source = "numbers", .unit_assumed = true};
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    const auto value = number_in(line);
    take(times, value ? *value * ns_per(assumed) : 0);
    if (times.wall_ns.size() > most_log_steps) return too_many(path, lines.number());
  }
  return finished(std::move(times), path);
}

// Parts of a step that follow each other on a rank, so that their times add up.
constexpr std::array<std::string_view, 6> consecutive_parts = {
    "data", "data_loading", "forward", "backward", "optimizer", "optimizer_step"};

// Its place among them; absent for other operations, which may overlap.
std::optional<std::size_t> consecutive_part(std::string_view cell) {
  const auto found = std::ranges::find(consecutive_parts, cell);
  if (found == consecutive_parts.end()) return std::nullopt;
  return static_cast<std::size_t>(found - consecutive_parts.begin());
}

// The columns of a table that are used.
struct TableColumns {
  std::size_t time = 0;
  std::optional<TimeUnit> unit{};
  std::string name{};
  std::optional<std::size_t> cause{};
  std::optional<std::size_t> step{};
  std::optional<std::size_t> rank{};
  std::optional<std::size_t> part{};  // says which part of a step a row is
  bool of_operations = false;         // by its name the rows are operations, not steps
  bool of_sizes = false;              // there is a column of messages' sizes
};

// The times of one rank each.
struct RankColumns {
  std::vector<std::pair<std::size_t, RankName>> times{};
  std::optional<std::size_t> step{};
};

std::optional<TableColumns> columns_of(std::span<const std::string_view> header) {
  constexpr std::array<std::string_view, 4> operations = {"optype", "op_type", "op", "operation"};
  constexpr std::array<std::string_view, 5> sizes = {"size", "bytes", "size_bytes", "message_size",
                                                     "message_bytes"};
  std::optional<TableColumns> found;
  std::size_t preference = 0;
  TableColumns others;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = bare(header[i]);
    if (const auto column = time_column(name)) {
      if (found && column->preference >= preference) continue;
      preference = column->preference;
      found = TableColumns{.time = i, .unit = column->unit, .name = std::string(name)};
    }
    if (name == "cause" || name == "tag" || name == "event") others.cause = i;
    if (name == "step" || name == "index" || name == "iteration") others.step = i;
    if (name == "rank") others.rank = i;
    const bool operation = std::ranges::find(operations, name) != operations.end();
    if (operation || name == "phase" || name == "part") others.part = i;
    others.of_operations = others.of_operations || operation;
    others.of_sizes = others.of_sizes || std::ranges::find(sizes, name) != sizes.end();
  }
  if (!found) return found;
  others.time = found->time;
  others.unit = found->unit;
  others.name = std::move(found->name);
  return others;
}

RankColumns rank_columns_of(std::span<const std::string_view> header) {
  RankColumns columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = bare(header[i]);
    if (const auto rank = rank_name(name)) columns.times.emplace_back(i, *rank);
    if (name == "step" || name == "index" || name == "iteration") columns.step = i;
  }
  return columns;
}

// A number of a step or rank; absent for fractions and what no 53 bits hold.
std::optional<std::int64_t> whole_number(std::optional<double> value) {
  constexpr double two_to_53 = 9007199254740992;
  if (!value || !(*value >= 0 && *value < two_to_53) || *value != std::floor(*value))
    return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

void take_rank(StepTimes& times, std::optional<double> rank, std::optional<double> step,
               double ns) {
  const auto number = whole_number(rank);
  const auto iteration = whole_number(step);
  if (!number || *number > std::numeric_limits<int>::max() || !iteration || !is_step(ns)) return;
  times.ranks.push_back({static_cast<int>(*number), *iteration, ns});
}

// Sets the times of the steps by those of the ranks: the slowest rank's.
void take_slowest(StepTimes& times) {
  std::map<std::int64_t, double> slowest;
  for (const RankStepTime& r : times.ranks) {
    double& longest = slowest[r.iteration];
    longest = std::max(longest, r.wall_ns);
  }
  for (const auto& [step, longest] : slowest) take(times, longest, {}, step);
}

Result<StepTimes> wide_table(StepLines lines, char separator, const RankColumns& columns,
                             std::string_view path, TimeUnit assumed) {
  StepTimes times{.source = "columns by rank"};
  std::vector<std::string_view> cells;
  std::int64_t row = 0;
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    split_cells(line, separator, cells);
    const auto number = [&](std::size_t at) {
      return at < cells.size() ? number_in(cells[at]) : std::nullopt;
    };
    const auto step = columns.step ? number(*columns.step) : static_cast<double>(row);
    ++row;
    if (static_cast<std::size_t>(row) > most_log_steps) return too_many(path, lines.number());
    for (const auto& [at, name] : columns.times) {
      times.unit_assumed = times.unit_assumed || !name.unit;
      const double ns = number(at).value_or(0) * ns_per(name.unit.value_or(assumed));
      if (!is_step(ns)) ++times.left_out;
      take_rank(times, name.rank, step, ns);
    }
  }
  take_slowest(times);
  return finished(std::move(times), path);
}

Result<StepTimes> times_of_lists(std::string_view text, std::string_view path, TimeUnit assumed) {
  const auto lists = parse_rank_lists(text, path);
  if (!lists) return lists.error();
  StepTimes times{.source = "lists"};
  for (const RankList& list : *lists) {
    times.unit_assumed = times.unit_assumed || !list.unit;
    for (std::size_t i = 0; i < list.times.size(); ++i) {
      const double ns = list.times[i] * ns_per(list.unit.value_or(assumed));
      if (!list.rank) {
        take(times, ns);
        continue;
      }
      if (!is_step(ns)) ++times.left_out;
      take_rank(times, *list.rank, static_cast<double>(i), ns);
    }
  }
  if (!times.ranks.empty()) take_slowest(times);
  return finished(std::move(times), path);
}

Error rows_are_parts(std::string what, std::string_view path) {
  return {.what = std::move(what),
          .file = std::string(path),
          .hint =
              "write one row for each rank and step, with the time of the whole step; parts that "
              "follow each other (forward, backward, optimizer in a column phase) are added up"};
}

// One row for each rank and step; several are added up where they are different parts that follow
// each other. `parts` is parallel to the rows.
Result<Done> join_parts(std::vector<RankStepTime>& rows,
                        const std::vector<std::optional<std::size_t>>& parts,
                        std::string_view path) {
  std::vector<RankStepTime> joined;
  std::vector<std::array<bool, consecutive_parts.size()>> has;
  std::map<std::pair<int, std::int64_t>, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RankStepTime& row = rows[i];
    const auto [place, is_new] = places.try_emplace({row.rank, row.iteration}, joined.size());
    if (is_new) {
      joined.push_back(row);
      auto& first = has.emplace_back();
      if (parts[i]) first[*parts[i]] = true;
      continue;
    }
    auto& before = has[place->second];
    const bool all_known = std::ranges::find(before, true) != before.end() && parts[i];
    if (!all_known || before[*parts[i]])
      return rows_are_parts("has several rows of rank " + std::to_string(row.rank) + " and step " +
                                std::to_string(row.iteration) +
                                ", which may overlap or repeat each other",
                            path);
    before[*parts[i]] = true;
    joined[place->second].wall_ns += row.wall_ns;
  }
  rows = std::move(joined);
  return Done{};
}

Result<StepTimes> table(StepLines lines, char separator, const TableColumns& columns,
                        std::string_view path, TimeUnit assumed) {
  StepTimes times{.source = "column " + columns.name, .unit_assumed = !columns.unit};
  const double unit = ns_per(columns.unit.value_or(assumed));
  std::vector<std::string_view> cells;
  const auto cell = [&](std::optional<std::size_t> at) {
    return at && *at < cells.size() ? bare(cells[*at]) : std::string_view();
  };
  const bool by_rank = columns.step && columns.rank;
  std::map<double, std::pair<double, std::string>> slowest;  // by step
  std::vector<std::optional<std::size_t>> parts;             // parallel to the times of ranks
  std::string first_part;
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    split_cells(line, separator, cells);
    const auto value = number_in(cell(columns.time));
    const double ns = value ? *value * unit : 0;
    if (!by_rank) {
      const std::string_view part = cell(columns.part);
      if (first_part.empty()) first_part = part;
      if (part != first_part && (columns.of_operations || consecutive_part(part)))
        return rows_are_parts("line " + std::to_string(lines.number()) + ": the rows are parts (" +
                                  first_part + ", " + std::string(part) +
                                  ") of steps and ranks that no column names",
                              path);
      take(times, ns, cell(columns.cause));
      if (times.wall_ns.size() > most_log_steps) return too_many(path, lines.number());
      continue;
    }
    const auto step = number_in(cell(columns.step));
    if (!step || !is_step(ns)) {
      ++times.left_out;
      continue;
    }
    take_rank(times, number_in(cell(columns.rank)), step, ns);
    if (times.ranks.size() > parts.size()) parts.push_back(consecutive_part(cell(columns.part)));
    auto& [longest, cause] = slowest[*step];
    if (slowest.size() > most_log_steps) return too_many(path, lines.number());
    longest = std::max(longest, ns);
    if (cause.empty()) cause = cell(columns.cause);
  }
  if (const auto joined = join_parts(times.ranks, parts, path); !joined) return joined.error();
  for (const RankStepTime& r : times.ranks) {
    double& longest = slowest[static_cast<double>(r.iteration)].first;
    longest = std::max(longest, r.wall_ns);
  }
  for (const auto& [step, longest] : slowest)
    take(times, longest.first, longest.second, whole_number(step).value_or(-1));
  return finished(std::move(times), path);
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
  if (log.truncated) times.remarks.emplace_back("the end of the file is damaged");
}

Result<StepTimes> times_of(const JobLog& log, std::string_view path) {
  const LogSteps steps = steps_of(log);
  StepTimes times;
  times.source = std::string(steps.tool->label) + ": " + steps.how;
  times.left_out = steps.left_out;
  for (const LogStep& step : steps.steps) {
    const std::optional<double> rate = log.records[step.record].tokens_per_s;
    take(times, step.wall_ns, step.cause, step.iteration,
         rate ? std::optional(*rate * step.wall_ns / giga) : std::nullopt);
  }
  if (!steps.steps.empty()) take_remarks(log, steps, times);
  return finished(std::move(times), path);
}

bool is_train_json(std::string_view text) {
  return text.substr(0, 200).find("\"stepscope.train/") != std::string_view::npos;
}

Result<StepTimes> train_steps(std::string_view text, std::string_view path) {
  const auto json = parse_json(text, path);
  if (!json) return json.error();
  StepTimes times{.source = "stepscope train"};
  const JsonValue* steps = json->find("steps");
  if (steps == nullptr || steps->kind != JsonValue::Kind::list) return wrong("has no steps", path);
  for (const JsonValue& step : steps->items) {
    const JsonValue* validation = step.find("validation_loss");
    const bool evaluated = validation != nullptr && validation->kind != JsonValue::Kind::null;
    const JsonValue* skipped = step.find("skipped");
    const bool lost = skipped != nullptr && skipped->boolean;
    take(times, json_number(step, "wall_ns").value_or(0),
         evaluated ? "eval"
         : lost    ? "skipped"
                   : "",
         whole_number(json_number(step, "index")).value_or(-1), json_number(step, "tokens"));
  }
  const JsonValue* ranks = json->find("rank_steps");
  if (ranks != nullptr && ranks->kind == JsonValue::Kind::list)
    for (const JsonValue& step : ranks->items)
      take_rank(times, json_number(step, "rank"), json_number(step, "index"),
                json_number(step, "wall_ns").value_or(0));
  return finished(std::move(times), path);
}

// Whether a list of numbers or a table begins here, or the text is empty. A log does not.
bool is_list(std::string_view text) {
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    std::vector<std::string_view> cells;
    split_cells(line, separator_of(line), cells);
    return number_in(line).has_value() || columns_of(cells).has_value() ||
           !rank_columns_of(cells).times.empty() ||
           std::ranges::all_of(cells, [](std::string_view c) { return number_in(c).has_value(); });
  }
  return true;
}

}  // namespace

Result<StepTimes> parse_step_times(std::string_view text, std::string_view path, TimeUnit assumed) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  if (is_train_json(text)) return train_steps(text, path);
  if (begins_rank_lists(trimmed(text.substr(0, head_size))))
    return times_of_lists(text, path, assumed);
  StepLines lines(text);
  std::string_view first;
  bool any = false;
  while (!any && lines.next(first)) any = says_something(first);
  if (!any) return wrong("is empty", path);
  if (number_in(first)) return numbers(text, path, assumed);
  const char separator = separator_of(first);
  std::vector<std::string_view> cells;
  split_cells(first, separator, cells);
  const auto columns = columns_of(cells);
  if (columns && columns->of_sizes && !columns->step)
    return Error{.what = "has times by the size of a message, and no steps",
                 .file = std::string(path),
                 .hint =
                     "stepscope calibrate MACHINE.json --from FILE reads such times as "
                     "nccl-tests and the OSU benchmarks print them"};
  if (columns) return table(lines, separator, *columns, path, assumed);
  if (const RankColumns of_ranks = rank_columns_of(cells); !of_ranks.times.empty())
    return wide_table(lines, separator, of_ranks, path, assumed);
  if (std::ranges::all_of(cells, [](std::string_view c) { return number_in(c).has_value(); }))
    return wrong("line " + std::to_string(lines.number()) +
                     ": a table without names; which column is the step's time?",
                 path);
  const auto log = parse_job_log(text, path, assumed);
  return log ? times_of(*log, path) : log.error();
}

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
  if (begins_rank_lists(text)) return StepFileKind::list;
  // JSON lines have a time in the first line; a trace does not. Lines of DeepSpeed and of launchers
  // begin with a bracket and a word.
  const std::string_view line = text.substr(0, text.find('\n'));
  const bool bracket =
      text.size() > 1 && text[0] == '[' && std::isalnum(static_cast<unsigned char>(text[1])) != 0;
  const bool json = text.starts_with('{') || (text.starts_with('[') && !bracket);
  if (json && !named_time(line, TimeUnit::ms)) return StepFileKind::trace;
  return is_list(text) ? StepFileKind::list : StepFileKind::log;
}

Result<StepTimes> read_step_times(const std::string& path, TimeUnit assumed, const StopFlag* stop) {
  const auto kind = step_file_kind(path);
  if (kind && *kind == StepFileKind::log) {
    const auto log = read_job_log(path, assumed, stop);
    return log ? times_of(*log, path) : log.error();
  }
  const auto text = read_text_file(path, stop);
  if (!text) return text.error();
  return parse_step_times(*text, path, assumed);
}

Result<StepTimes> read_rank_files(std::span<const std::string> paths, TimeUnit assumed,
                                  const StopFlag* stop) {
  const std::vector<std::optional<int>> names = ranks_from_names(paths, std::nullopt);
  StepTimes times;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto one = read_step_times(paths[i], assumed, stop);
    if (!one) return one.error();
    if (!one->ranks.empty())
      return Error{.what = "has the times of several ranks beside other lists",
                   .file = paths[i],
                   .hint = "give this file alone, or one file a rank"};
    times.source = one->source + " of " + std::to_string(paths.size()) + " files";
    times.unit_assumed = times.unit_assumed || one->unit_assumed;
    times.left_out += one->left_out;
    for (std::size_t step = 0; step < one->wall_ns.size(); ++step)
      take_rank(times, names[i].value_or(static_cast<int>(i)), static_cast<double>(step),
                one->wall_ns[step]);
  }
  take_slowest(times);
  return finished(std::move(times), paths.empty() ? std::string_view() : paths.front());
}

}  // namespace stepscope
