// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/collective_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {

namespace {

Json algorithm_json(const SweepPoint& point, const AlgorithmTime& a, double factor) {
  const double rate = (point.bytes / a.time).value / 1e9;
  return {{"name", name_of(algorithm_names, a.algorithm)},
          {"protocol", name_of(protocol_names, a.protocol)},
          {"offered", a.offered},
          {"time_ns", nanoseconds_of(a.time)},
          {"start_ns", nanoseconds_of(a.start)},
          {"steps_ns", nanoseconds_of(a.steps)},
          {"transfer_ns", nanoseconds_of(a.transfer)},
          {"algbw_gb_per_s", rate},
          {"busbw_gb_per_s", rate * factor},
          {"formula", a.formula}};
}

}  // namespace

Json collective_tree(const PredictCollectiveResult& result) {
  const CollectiveSweep& sweep = result.sweep;
  const double factor = busbw_factor(sweep.kind, sweep.group.size).value();
  Json sizes = Json::array();
  for (const SweepPoint& p : sweep.points) {
    Json algorithms = Json::array();
    for (const AlgorithmTime& a : p.algorithms) algorithms.push_back(algorithm_json(p, a, factor));
    sizes.push_back({{"bytes", p.bytes.value},
                     {"extrapolated", p.beyond},
                     {"best", name_of(algorithm_names, p.best.algorithm)},
                     {"best_protocol", name_of(protocol_names, p.best.protocol)},
                     {"time_ns", nanoseconds_of(p.best.time)},
                     {"busbw_gb_per_s", p.bus_rate.value / 1e9},
                     {"algorithms", std::move(algorithms)}});
  }
  Json crossovers = Json::array();
  for (const Crossover& c : sweep.crossovers)
    crossovers.push_back({{"bytes", c.bytes.value},
                          {"from", name_of(algorithm_names, c.from)},
                          {"from_protocol", name_of(protocol_names, c.from_protocol)},
                          {"to", name_of(algorithm_names, c.to)},
                          {"to_protocol", name_of(protocol_names, c.to_protocol)}});
  return {{"schema", "stepscope.predict_collective/1"},
          {"version", version()},
          {"op", name_of(collective_kind_names, sweep.kind)},
          {"group", sweep.group.size},
          {"domains", sweep.group.domains},
          {"machine", result.machine},
          {"measured_to_bytes", value(sweep.measured_to)},
          {"sizes", std::move(sizes)},
          {"crossovers", std::move(crossovers)},
          {"warnings", say_all(result.warnings)}};
}

std::vector<TreeTable> collective_tables(const Json& tree) {
  TreeTable table{"collective", Json::array()};
  for (const Json& size : tree["sizes"])
    for (const Json& algorithm : size["algorithms"]) {
      Json row = {{"op", tree["op"]}, {"group", tree["group"]}, {"bytes", size["bytes"]}};
      row["algorithm"] = algorithm["name"];
      for (const char* key : {"protocol", "offered", "time_ns", "algbw_gb_per_s", "busbw_gb_per_s"})
        row[key] = algorithm[key];
      table.rows.push_back(std::move(row));
    }
  return {std::move(table)};
}

namespace {

std::string placement(const GroupPlacement& g) {
  if (g.domains == 1) return fmt::format("{} devices of one domain", g.size);
  return fmt::format("{} devices in {} domains", g.size, g.domains);
}

// The algorithms of all points, in the order of the enumeration.
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
    std::vector<std::string> row = {
        format_bytes(static_cast<double>(p.bytes.value)) + (p.beyond ? " +" : ""),
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
    out +=
        wrapped(std::string("In brackets: an algorithm that the library does not use here.") +
                    (sweep.group.domains == 1 ? " Inside one domain its tree is a chain, with no "
                                                "fewer steps and bytes a port than the ring."
                                              : ""),
                width);
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
