// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_columns.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>

#include "stepscope/event/job_log.h"
#include "stepscope/read/log/taken_steps.h"

namespace stepscope {
namespace {

// Parts of a step that follow each other on a rank, so that their times add up.
constexpr std::array<std::string_view, 6> consecutive_parts = {
    "data", "data_loading", "forward", "backward", "optimizer", "optimizer_step"};

// Its place among them; absent for other operations, which may overlap.
std::optional<std::size_t> consecutive_part(std::string_view cell) {
  const auto found = std::ranges::find(consecutive_parts, cell);
  if (found == consecutive_parts.end()) return std::nullopt;
  return static_cast<std::size_t>(found - consecutive_parts.begin());
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

// "columns not used: loss, lr"
void remark_unused(const TableColumns& columns, StepTimes& times) {
  constexpr std::size_t most = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, columns.unused.size()); ++i)
    names += (i > 0 ? ", " : "") + columns.unused[i];
  if (names.empty()) return;
  if (columns.unused.size() > most)
    names += " and " + std::to_string(columns.unused.size() - most) + " more";
  times.remarks.push_back("columns not used: " + names);
}

void remark_summed(StepTimes& times) {
  const auto overlaps = [](const StepPartName& part) {
    return part.kind == StepPartKind::communication;
  };
  if (times.parts.summed && std::ranges::any_of(times.parts.names, overlaps))
    times.remarks.emplace_back(
        "a step is taken as the sum of its phases: it is shorter where communication overlaps "
        "another phase, and a column step_time_ms would tell");
}

// The number of a rank: "3", "rank3".
std::optional<double> rank_in(std::string_view cell) {
  if (const auto number = number_in(cell)) return number;
  const auto named = rank_name(cell);
  return named && !named->unit ? std::optional<double>(named->rank) : std::nullopt;
}

// Whether the rows are phases of steps: one of them at least is a phase that only steps have.
bool names_phases(StepLines lines, char separator, std::size_t column) {
  std::vector<std::string_view> cells;
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    split_cells(line, separator, cells);
    const auto kind = column < cells.size() ? step_part(cells[column]) : std::nullopt;
    if (kind == StepPartKind::computation || kind == StepPartKind::communication) return true;
  }
  return false;
}

// A table with one row for each phase of a step.
Result<StepTimes> phase_table(StepLines lines, char separator, const TableColumns& columns,
                              std::string_view path, TimeUnit assumed) {
  constexpr std::size_t most_phases = 64;
  StepTimes times{.source = "phases of column " + columns.name, .unit_assumed = !columns.unit};
  const double unit = ns_per(columns.unit.value_or(assumed));
  StepParts& parts = times.parts;
  std::map<std::pair<int, std::int64_t>, std::size_t> places;  // of a rank's step, in rows
  std::map<std::pair<int, std::string>, std::int64_t, std::less<>> rows_of;
  std::vector<std::pair<int, double>> whole;  // parallel to the rows: rank, time of the step or 0
  std::vector<std::string_view> cells;
  const auto cell = [&](std::optional<std::size_t> at) {
    return at && *at < cells.size() ? bare(cells[*at]) : std::string_view();
  };
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    split_cells(line, separator, cells);
    const std::string phase(cell(columns.part));
    const auto rank = columns.rank ? whole_number(rank_in(cell(columns.rank))) : 0;
    std::optional<std::int64_t> step;
    if (columns.step)
      step = whole_number(number_in(cell(columns.step)));
    else if (rank)
      step = rows_of[{static_cast<int>(*rank), phase}]++;
    const double ns = number_in(cell(columns.time)).value_or(0) * unit;
    if (phase.empty() || !rank || *rank > std::numeric_limits<int>::max() || !step ||
        !is_step(ns)) {
      ++times.left_out;
      continue;
    }
    const std::pair key(static_cast<int>(*rank), *step);
    const auto [place, is_new] = places.try_emplace(key, parts.rows.size());
    if (is_new) {
      parts.rows.push_back({.step = *step});
      whole.emplace_back(key.first, 0);
      if (parts.rows.size() > most_log_steps) return too_many_steps(path, lines.number());
    }
    StepPartsRow& row = parts.rows[place->second];
    double* time = nullptr;
    if (is_whole_step(phase)) {
      time = &whole[place->second].second;
    } else {
      auto name = std::ranges::find(parts.names, phase, &StepPartName::name);
      if (name == parts.names.end()) {
        if (parts.names.size() == most_phases)
          return Error{.what = "line " + std::to_string(lines.number()) + ": more than " +
                               std::to_string(most_phases) + " phases",
                       .file = std::string(path),
                       .hint = "give the phases of a step, not its operations"};
        name = parts.names.insert(parts.names.end(),
                                  {phase, step_part(phase).value_or(StepPartKind::other)});
      }
      const auto at = static_cast<std::size_t>(name - parts.names.begin());
      if (row.ns.size() <= at) row.ns.resize(at + 1);
      time = &row.ns[at];
    }
    if (*time > 0)
      return rows_are_parts("line " + std::to_string(lines.number()) + ": a second row of " +
                                phase + " in one step, which may overlap or repeat the first",
                            path);
    *time = ns;
  }
  parts.summed = std::ranges::any_of(whole, [](const auto& w) { return w.second == 0; });
  for (std::size_t i = 0; i < parts.rows.size(); ++i) {
    StepPartsRow& row = parts.rows[i];
    row.ns.resize(parts.names.size());
    row.step_ns = whole[i].second;
    if (parts.summed) row.step_ns = std::accumulate(row.ns.begin(), row.ns.end(), 0.0);
    if (columns.rank)
      take_rank_step(times, whole[i].first, static_cast<double>(row.step), row.step_ns);
  }
  if (columns.rank) {
    take_slowest(times);
  } else {
    std::ranges::sort(parts.rows, {}, &StepPartsRow::step);
    for (const StepPartsRow& row : parts.rows) take_step(times, row.step_ns, {}, row.step);
  }
  return times;
}

// The parts of a row that has a column for each. Its time, which is theirs without a column.
double take_parts(StepTimes& times, const TableColumns& columns,
                  std::span<const std::string_view> cells, double ns, std::int64_t step,
                  TimeUnit assumed) {
  if (columns.parts.empty()) return ns;
  StepPartsRow row{.step = step};
  double sum = 0;
  for (const auto& [at, part] : columns.parts) {
    const auto value = at < cells.size() ? number_in(cells[at]) : std::nullopt;
    const double time =
        value.value_or(0) * ns_per(part.unit.value_or(columns.unit.value_or(assumed)));
    row.ns.push_back(is_step(time) ? time : 0);
    sum += row.ns.back();
  }
  row.step_ns = columns.time ? ns : sum;
  if (is_step(row.step_ns)) times.parts.rows.push_back(row);
  return row.step_ns;
}

void name_parts(const TableColumns& columns, StepTimes& times) {
  times.parts.summed = !columns.time && !columns.parts.empty();
  for (const auto& [at, part] : columns.parts) {
    times.parts.names.push_back({part.name, part.kind});
    times.unit_assumed = times.unit_assumed || (!part.unit && !columns.unit);
  }
}

Result<StepTimes> table(StepLines lines, char separator, const TableColumns& columns,
                        std::string_view path, TimeUnit assumed) {
  StepTimes times{.source = (columns.time ? "column " : "") + columns.name,
                  .unit_assumed = columns.time && !columns.unit};
  name_parts(columns, times);
  const double unit = ns_per(columns.unit.value_or(assumed));
  std::vector<std::string_view> cells;
  const auto cell = [&](std::optional<std::size_t> at) {
    return at && *at < cells.size() ? bare(cells[*at]) : std::string_view();
  };
  std::map<double, std::pair<double, std::string>> slowest;  // by step
  std::vector<std::optional<std::size_t>> parts;             // parallel to the times of ranks
  std::map<double, std::int64_t> rows_of;                    // of each rank
  std::string first_part;
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    split_cells(line, separator, cells);
    if (!columns.rank || !columns.step) {
      const std::string_view part = cell(columns.part);
      if (first_part.empty()) first_part = part;
      if (part != first_part && (columns.of_operations || consecutive_part(part)))
        return rows_are_parts("line " + std::to_string(lines.number()) + ": the rows are parts (" +
                                  first_part + ", " + std::string(part) +
                                  ") of steps and ranks that no column names",
                              path);
    }
    const auto rank = columns.rank ? rank_in(cell(columns.rank)) : std::nullopt;
    std::optional<double> step;
    if (columns.step) step = number_in(cell(columns.step));
    if (rank && !columns.step) step = static_cast<double>(rows_of[*rank]++);
    const auto value = number_in(cell(columns.time));
    const auto place = static_cast<std::int64_t>(times.wall_ns.size());
    const double ns = take_parts(times, columns, cells, value ? *value * unit : 0,
                                 columns.rank ? whole_number(step).value_or(-1) : place, assumed);
    if (!columns.rank) {
      take_step(times, ns, cell(columns.cause));
      if (times.wall_ns.size() > most_log_steps) return too_many_steps(path, lines.number());
      continue;
    }
    if (!step || !is_step(ns)) {
      ++times.left_out;
      continue;
    }
    take_rank_step(times, rank, step, ns);
    if (times.ranks.size() > parts.size()) parts.push_back(consecutive_part(cell(columns.part)));
    auto& [longest, cause] = slowest[*step];
    if (slowest.size() > most_log_steps) return too_many_steps(path, lines.number());
    longest = std::max(longest, ns);
    if (cause.empty()) cause = cell(columns.cause);
  }
  if (const auto joined = join_parts(times.ranks, parts, path); !joined) return joined.error();
  for (const RankStepTime& r : times.ranks) {
    double& longest = slowest[static_cast<double>(r.iteration)].first;
    longest = std::max(longest, r.wall_ns);
  }
  for (const auto& [step, longest] : slowest)
    take_step(times, longest.first, longest.second, whole_number(step).value_or(-1));
  return times;
}

// Times of rows, whose name does not say that they are a step's.
struct RowTimes {
  std::vector<double> times{};
  std::vector<double> steps{};   // parallel, or empty
  std::vector<double> epochs{};  // the same
};

RowTimes row_times(StepLines lines, char separator, const TableColumns& columns) {
  RowTimes rows;
  std::vector<std::string_view> cells;
  const auto take = [&](std::optional<std::size_t> at, std::vector<double>& into) {
    if (const auto value = at && *at < cells.size() ? number_in(cells[*at]) : std::nullopt)
      into.push_back(*value);
  };
  for (std::string_view line; lines.next(line);) {
    if (!says_something(line)) continue;
    split_cells(line, separator, cells);
    take(columns.time, rows.times);
    take(columns.step, rows.steps);
    take(columns.epoch, rows.epochs);
  }
  if (rows.steps.size() != rows.times.size()) rows.steps.clear();
  if (rows.epochs.size() != rows.times.size()) rows.epochs.clear();
  return rows;
}

// A clock begins at about 0, or counts from a year. Times of steps that grow do neither.
bool is_clock(std::span<const double> times) {
  constexpr std::size_t least_rows = 3;
  constexpr double much = 2;
  constexpr double very_little = 1e-3;
  if (times.size() < least_rows || !grow_with_rows(times)) return false;
  const auto [least, most] = std::ranges::minmax(times);
  return most >= much * least ||
         most - least < very_little * static_cast<double>(times.size()) * least;
}

// The times between the rows of a clock, in its unit; of each step where the steps are numbered.
std::vector<double> between_rows(const RowTimes& rows) {
  std::vector<double> out;
  for (std::size_t i = 1; i < rows.times.size(); ++i) {
    const double steps = rows.steps.empty() ? 1 : rows.steps[i] - rows.steps[i - 1];
    const double time = rows.times[i] - rows.times[i - 1];
    if (steps > 0 && time > 0) out.push_back(time / steps);  // else the clock begins anew
  }
  return out;
}

// A table whose rows are epochs.
Error rows_are_epochs(const TableColumns& columns, std::vector<double> times, bool clock,
                      std::string_view path) {
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::ranges::nth_element(times, middle);
  const double each = *middle * ns_per(columns.unit.value_or(TimeUnit::s)) / giga;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", each);
  return {.what = "has a time of each epoch (median " + std::string(text.data()) + " s" +
                  (columns.unit ? "" : ", if in seconds") + "; column " + columns.name +
                  (clock ? ", which is the time since the begin)" : ")") + ", and none of a step",
          .file = std::string(path),
          .hint =
              "give the log with the progress bar of the training, or divide the time of an "
              "epoch by its steps"};
}

// The times of a table whose column of times may be a clock or that of epochs; absent if it has
// neither. A clock without a unit counts seconds.
std::optional<Result<StepTimes>> clock_table(StepLines lines, char separator,
                                             const TableColumns& columns, std::string_view path,
                                             std::optional<TimeUnit> given) {
  if (!columns.time || columns.of_step || columns.rank || columns.part || !columns.parts.empty())
    return std::nullopt;
  const RowTimes rows = row_times(lines, separator, columns);
  const bool clock = is_clock(rows.times);
  const std::vector<double> times = clock ? between_rows(rows) : rows.times;
  const bool of_epochs =
      rows.steps.empty() && rows.epochs.size() > 1 && grow_with_rows(rows.epochs);
  if (times.empty() || (!clock && !of_epochs)) return std::nullopt;
  if (of_epochs) return rows_are_epochs(columns, times, clock, path);
  const TimeUnit unit = columns.unit.value_or(given.value_or(TimeUnit::s));
  StepTimes out{.source = "differences of column " + columns.name,
                .unit_assumed = !columns.unit && given};
  for (const double time : times) take_step(out, time * ns_per(unit));
  if (!columns.unit && !given)
    out.remarks.push_back("column " + columns.name + " is the time since the begin, in seconds");
  return out;
}

// In a table of phases a column of totals ("total_time") is the time of the step.
void take_whole_step(std::span<const std::string_view> header, std::vector<std::size_t>& others,
                     TableColumns& found) {
  const auto at = std::ranges::find_if(
      others, [&](std::size_t i) { return is_whole_step(name_and_unit(bare(header[i])).name); });
  if (at == others.end()) return;
  const NameAndUnit split = name_and_unit(bare(header[*at]));
  found.time = *at;
  found.unit = split.unit;
  found.name = bare(header[*at]);
  others.erase(at);
}

}  // namespace

std::optional<TableColumns> step_columns(std::span<const std::string_view> header) {
  constexpr std::array<std::string_view, 4> operations = {"optype", "op_type", "op", "operation"};
  constexpr std::array<std::string_view, 5> sizes = {"size", "bytes", "size_bytes", "message_size",
                                                     "message_bytes"};
  TableColumns found;
  std::size_t preference = 0;
  bool of_steps = false;  // a part that only steps have
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = bare(header[i]);
    const bool operation = std::ranges::find(operations, name) != operations.end();
    if (const auto column = time_column(name)) {
      if (found.time && column->preference >= preference) {
        others.push_back(i);
        continue;
      }
      if (found.time) others.push_back(*found.time);
      preference = column->preference;
      found.time = i;
      found.unit = column->unit;
      found.of_step = column->of_step;
      found.name = name;
    } else if (name == "cause" || name == "tag" || name == "event") {
      found.cause = i;
    } else if (name == "step" || name == "index" || name == "iteration") {
      found.step = i;
    } else if (name == "epoch") {
      found.epoch = i;
    } else if (name == "rank") {
      found.rank = i;
    } else if (operation || name == "phase" || name == "part") {
      found.part = i;
      found.of_operations = found.of_operations || operation;
    } else if (auto part = step_part_column(name)) {
      of_steps = of_steps || part->kind == StepPartKind::computation ||
                 part->kind == StepPartKind::communication;
      found.parts.emplace_back(i, std::move(*part));
    } else {
      found.of_scores = found.of_scores || name == "z_score";
      found.of_sizes = found.of_sizes || std::ranges::find(sizes, name) != sizes.end();
      others.push_back(i);
    }
  }
  // One word that names a part is no table, and a column "data" may hold anything.
  if (!of_steps || found.parts.size() < 2) {
    for (const auto& [at, part] : found.parts) others.push_back(at);
    found.parts.clear();
  }
  if (!found.time && found.parts.empty()) return std::nullopt;
  if (!found.time) take_whole_step(header, others, found);
  if (!found.time) found.name = "phases";
  std::ranges::sort(others);
  for (const std::size_t at : others)
    if (!bare(header[at]).empty()) found.unused.emplace_back(bare(header[at]));
  return found;
}

RankColumns rank_columns(std::span<const std::string_view> header) {
  RankColumns columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = bare(header[i]);
    if (const auto rank = rank_name(name)) columns.times.emplace_back(i, *rank);
    if (name == "step" || name == "index" || name == "iteration") columns.step = i;
  }
  return columns;
}

Result<StepTimes> steps_of_table(StepLines lines, char separator, const TableColumns& columns,
                                 std::string_view path, const StepReading& reading) {
  const TimeUnit assumed = reading.assumed();
  if (auto of_clock = clock_table(lines, separator, columns, path, reading.unit)) {
    if (!*of_clock) return of_clock->error();
    remark_unused(columns, **of_clock);
    return finished_steps(**std::move(of_clock), path);
  }
  const bool phases = columns.time && columns.part && !columns.of_operations &&
                      names_phases(lines, separator, *columns.part);
  auto times = phases ? phase_table(lines, separator, columns, path, assumed)
                      : table(lines, separator, columns, path, assumed);
  if (!times) return times;
  remark_unused(columns, *times);
  remark_summed(*times);
  return finished_steps(std::move(*times), path);
}

Result<StepTimes> steps_of_rank_columns(StepLines lines, char separator, const RankColumns& columns,
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
    if (static_cast<std::size_t>(row) > most_log_steps) return too_many_steps(path, lines.number());
    for (const auto& [at, name] : columns.times) {
      if (at < cells.size() && bare(cells[at]).empty()) continue;  // this rank has fewer steps
      times.unit_assumed = times.unit_assumed || !name.unit;
      const double ns = number(at).value_or(0) * ns_per(name.unit.value_or(assumed));
      if (!is_step(ns)) ++times.left_out;
      take_rank_step(times, name.rank, step, ns);
    }
  }
  take_slowest(times);
  return finished_steps(std::move(times), path);
}

}  // namespace stepscope
