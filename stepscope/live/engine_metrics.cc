// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/engine_metrics.h"

#include <cmath>
#include <limits>
#include <string>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

constexpr int most_engine_ranks = 65'536;

std::optional<double> number(std::string_view text) {
  const auto value = leading_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// The value of a label in name{a="x",b="y"}; the labels that are read hold no quotes.
std::string_view label(std::string_view labels, std::string_view name) {
  const std::string key = std::string(name) + "=\"";
  const std::size_t at = labels.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = labels.substr(at + key.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

Result<EngineMetrics> parse_engine_metrics(std::string_view text) {
  EngineMetrics out;
  bool steps = false, wall = false, end = false;
  while (!text.empty()) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text.remove_prefix(stop == std::string_view::npos ? text.size() : stop + 1);
    end |= line == "# EOF";
    const std::size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, space);
    const auto value = number(line.substr(space + 1));
    if (!value || *value < 0 || *value > 1e15) continue;
    if (name == "stepscope_steps_total") {
      out.steps = static_cast<std::int64_t>(*value);
      steps = true;
    } else if (name == "stepscope_wall_seconds_total") {
      out.wall_s = *value;
      wall = true;
    } else if (name.starts_with("stepscope_activity_seconds_total{")) {
      const std::string_view activity = label(name, "activity");
      const int rank = leading_number<int>(label(name, "rank")).value_or(-1);
      if (rank < 0 || rank >= most_engine_ranks) continue;
      const bool waits =
          activity == "wait_fetch" || activity == "wait_reduce" || activity == "wait_gather";
      out.own_s[rank] += waits ? 0 : *value;
    }
  }
  if (!steps || !wall || !end)
    return Error{.what = "is not the whole text of stepscope's metrics",
                 .hint = "give the file or port of stepscope train --metrics"};
  return out;
}

std::optional<EngineSteps> steps_between(const EngineMetrics& before, const EngineMetrics& after) {
  const std::int64_t steps = after.steps - before.steps;
  const double wall = after.wall_s - before.wall_s;
  if (steps <= 0 || !(wall > 0)) return std::nullopt;
  EngineSteps out{.steps = steps, .step_ns = wall * 1e9 / static_cast<double>(steps)};
  const int ranks = after.own_s.empty() ? 0 : after.own_s.rbegin()->first + 1;
  out.own_ns.assign(static_cast<std::size_t>(ranks), std::numeric_limits<float>::quiet_NaN());
  for (const auto& [rank, own] : after.own_s) {
    const auto found = before.own_s.find(rank);
    const double more = own - (found == before.own_s.end() ? 0 : found->second);
    if (more >= 0)
      out.own_ns[static_cast<std::size_t>(rank)] =
          static_cast<float>(more * 1e9 / static_cast<double>(steps));
  }
  return out;
}

}  // namespace stepscope
