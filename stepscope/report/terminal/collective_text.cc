// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/collective_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "stepscope/report/sentences/names.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

std::string placement(const GroupPlacement& g) {
  if (g.domains == 1) return fmt::format("{} devices of one domain", g.size);
  return fmt::format("{} devices in {} domains", g.size, g.domains);
}

// Of all points, in the order of the enumeration.
std::set<Algorithm> algorithms_of(const CollectiveSweep& sweep) {
  std::set<Algorithm> all;
  for (const SweepPoint& p : sweep.points)
    for (const AlgorithmTime& a : p.algorithms) all.insert(a.algorithm);
  return all;
}

// The time of an algorithm; in brackets where the library would not use it.
std::string time_of(const SweepPoint& point, Algorithm algorithm) {
  const auto found = std::ranges::find(point.algorithms, algorithm, &AlgorithmTime::algorithm);
  if (found == point.algorithms.end()) return "-";
  const std::string time = format_time(nanoseconds_of(found->time));
  return found->offered ? time : "(" + time + ")";
}

bool shows_what_is_not_offered(const CollectiveSweep& sweep) {
  return std::ranges::any_of(sweep.points, [](const SweepPoint& p) {
    return std::ranges::any_of(p.algorithms, [](const AlgorithmTime& a) { return !a.offered; });
  });
}

std::string table(const CollectiveSweep& sweep, std::size_t width) {
  const std::set<Algorithm> algorithms = algorithms_of(sweep);
  std::vector<Column> columns = {{"bytes"}, {"best", false}, {"protocol", false},
                                 {"time"},  {"algbw"},       {"busbw"}};
  for (const Algorithm a : algorithms) columns.push_back({name_of(algorithm_names, a)});
  std::vector<std::vector<std::string>> rows;
  for (const SweepPoint& p : sweep.points) {
    std::vector<std::string> row = {format_bytes(static_cast<double>(p.bytes.value)),
                                    name_of(algorithm_names, p.best.algorithm),
                                    name_of(protocol_names, p.best.protocol),
                                    format_time(nanoseconds_of(p.best.time)),
                                    format_digits((p.bytes / p.best.time).value / 1e9) + " GB/s",
                                    format_digits(p.bus_rate.value / 1e9) + " GB/s"};
    for (const Algorithm a : algorithms) row.push_back(time_of(p, a));
    rows.push_back(std::move(row));
  }
  return text_table(std::move(columns), std::move(rows), width);
}

}  // namespace

std::string collective_text(const PredictCollectiveResult& result, const TextOptions& options) {
  const CollectiveSweep& sweep = result.sweep;
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = fmt::format("{} · {} · {}\n\n", name_of(collective_kind_names, sweep.kind),
                                printable(result.machine), placement(sweep.group));
  out += table(sweep, width);
  if (shows_what_is_not_offered(sweep))
    out += wrapped("In brackets: an algorithm that the library does not use here.", width);
  for (const Crossover& c : sweep.crossovers)
    out += fmt::format("{}From {}: {} ({}) instead of {} ({})\n",
                       &c == sweep.crossovers.data() ? "\n" : "",
                       format_bytes(static_cast<double>(c.bytes.value)),
                       name_of(algorithm_names, c.to), name_of(protocol_names, c.to_protocol),
                       name_of(algorithm_names, c.from), name_of(protocol_names, c.from_protocol));
  if (!sweep.points.empty())
    out += '\n' + wrapped("At the largest size: " + sweep.points.back().best.formula, width);
  out += notes_text(result.warnings, width);
  return out;
}

}  // namespace stepscope
