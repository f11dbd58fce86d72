// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/taken_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "stepscope/event/job_log.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

constexpr std::string_view what_is_read =
    "give one number a line, a CSV with a column such as step_time_ms, with columns rank0, rank1, "
    "… "
    "or with phases (forward_ms, …), a JSON list of times for each rank, a log with "
    "step_time_ms=…, or what stepscope "
    "train --json writes";

}  // namespace

Error no_step_times(std::string what, std::string_view path) {
  return {.what = std::move(what), .file = std::string(path), .hint = std::string(what_is_read)};
}

Error too_many_steps(std::string_view path, std::size_t line) {
  return {.what = "line " + std::to_string(line) + ": more than " + std::to_string(most_log_steps) +
                  " steps",
          .file = std::string(path),
          .hint = "give a part of the file"};
}

bool says_something(std::string_view line) {
  const std::string_view text = bare(line);
  return !text.empty() && text.front() != '#';
}

// A number of a step or rank; absent for fractions and what no 53 bits hold.
std::optional<std::int64_t> whole_number(std::optional<double> value) {
  constexpr double two_to_53 = 9007199254740992;
  if (!value || !(*value >= 0 && *value < two_to_53) || *value != std::floor(*value))
    return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

bool grow_with_rows(std::span<const double> times) {
  std::size_t rises = 0;
  for (std::size_t i = 1; i < times.size(); ++i) rises += times[i] > times[i - 1] ? 1U : 0U;
  return 5 * rises + 4 >= 4 * times.size();
}

// Values beyond 30 years or below a femtosecond are not steps. `iteration`: absent if the input
// does not number its steps.
void take_step(StepTimes& times, double ns, std::string_view cause,
               std::optional<std::int64_t> iteration, std::optional<double> tokens) {
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

void take_rank_step(StepTimes& times, std::optional<double> rank, std::optional<double> step,
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
  for (const auto& [step, longest] : slowest) take_step(times, longest, {}, step);
}

Result<StepTimes> finished_steps(StepTimes times, std::string_view path) {
  if (times.wall_ns.empty()) return no_step_times("has no positive step time", path);
  if (!times.causes.empty()) times.causes.resize(times.wall_ns.size());
  if (times.tokens.size() != times.wall_ns.size()) times.tokens.clear();
  return times;
}

}  // namespace stepscope
