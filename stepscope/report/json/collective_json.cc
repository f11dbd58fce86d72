// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/collective_json.h"

#include "stepscope/pipeline/version.h"
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
          {"sizes", std::move(sizes)},
          {"crossovers", std::move(crossovers)},
          {"warnings", say_all(result.warnings)}};
}

}  // namespace stepscope
