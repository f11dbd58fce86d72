// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/benchmark_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "stepscope/fit/rank_places.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

Error wrong(const CommBenchmark& b, std::string what, std::string hint) {
  return {.what = std::move(what), .file = b.path, .hint = std::move(hint)};
}

// Within one domain of fast links if that is a rack's; else the same number of ranks on each host.
std::optional<GroupPlacement> place_ranks(int ranks, int hosts, const Network& network) {
  const int on_each = ranks / hosts;
  const bool rack = ranks <= network.domain && network.domain > most_of_a_host;
  return hosts == 1 || rack ? place(ranks, 1, network) : place_in_domains(hosts, on_each, network);
}

// The machine's links between nodes join the rest.
int fewest_hosts(int ranks, const Network& network) {
  const int domain = std::max(1, network.domain);
  return (ranks + domain - 1) / domain;
}

double mean_error(const std::vector<BenchmarkRow>& rows,
                  std::optional<Seconds> BenchmarkRow::* model) {
  double sum = 0;
  std::size_t count = 0;
  for (const BenchmarkRow& row : rows) {
    if (!(row.*model)) continue;
    sum += std::fabs((row.*model)->count() / row.measured.count() - 1);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::optional<Seconds> fitted_time(const BenchmarkRow& row, HostPlacement placement,
                                   std::span<const TransferFit> transfers) {
  for (const TransferFit& fit : transfers)
    if (fit.kind == row.kind && fit.group_size == row.ranks && fit.placement == placement)
      return predicted_time(fit, row.bytes);
  return std::nullopt;
}

HostPlacement placement_of_group(const GroupPlacement& group) {
  return group.domains > 1 ? HostPlacement::several_hosts : HostPlacement::one_host;
}

using RowKey = std::tuple<CollectiveKind, int, int, std::int64_t>;

std::optional<TimingSpread> spread_of(std::span<const CollectiveTiming* const> timings,
                                      std::span<const double> times) {
  if (timings.size() == 1) return timings.front()->spread;
  return TimingSpread{.low = Seconds{*quantile(times, 0.1)},
                      .high = Seconds{*quantile(times, 0.9)},
                      .calls = times.size()};
}

std::vector<BenchmarkRow> rows_of(std::span<const PlacedBenchmark> benchmarks,
                                  const Network& before, const Network& after,
                                  std::span<const TransferFit> transfers) {
  std::map<RowKey, std::vector<const CollectiveTiming*>> groups;
  for (const PlacedBenchmark& b : benchmarks)
    for (const CollectiveTiming& t : b.timings)
      groups[{t.kind, b.ranks, b.hosts, t.bytes.value}].push_back(&t);
  std::vector<BenchmarkRow> rows;
  for (const auto& [key, timings] : groups) {
    const auto& [kind, ranks, hosts, bytes] = key;
    std::vector<double> times;
    for (const CollectiveTiming* t : timings) times.push_back(t->time.count());
    BenchmarkRow row{.kind = kind,
                     .ranks = ranks,
                     .hosts = hosts,
                     .bytes = Bytes{bytes},
                     .measured = Seconds{*median(times)},
                     .spread = spread_of(timings, times)};
    row.before = modelled_time(before, *timings.front());
    CollectiveTiming on_fitted = *timings.front();  // a placement holds the rates of its links
    if (const auto group = place_ranks(ranks, hosts, after)) on_fitted.group = *group;
    row.modelled = modelled_time(after, on_fitted);
    row.fitted = fitted_time(row, placement_of_group(timings.front()->group), transfers);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

Result<PlacedBenchmark> place_benchmark(CommBenchmark benchmark, const Machine& machine,
                                        const BenchmarkPlace& place) {
  PlacedBenchmark placed;
  placed.ranks = benchmark.ranks > 0 ? benchmark.ranks : place.ranks.value_or(0);
  if (placed.ranks == 0)
    return wrong(benchmark, "does not say how many ranks it had", "give --ranks N");
  if (placed.ranks < 2)
    return wrong(benchmark, "is of one rank, which sends nothing", "measure with two or more");
  const auto network = make_network(machine);
  if (!network) return network.error();
  placed.hosts_assumed = benchmark.hosts == 0 && !place.hosts;
  placed.hosts = benchmark.hosts > 0 ? benchmark.hosts
                                     : place.hosts.value_or(fewest_hosts(placed.ranks, *network));
  if (placed.hosts_assumed && placed.ranks % placed.hosts != 0)
    return wrong(benchmark,
                 "does not say on which hosts its " + std::to_string(placed.ranks) + " ranks were",
                 "give --nodes N");
  if (!benchmark.same_ranks_per_host || placed.ranks % placed.hosts != 0)
    return wrong(benchmark, "has ranks unevenly on its hosts",
                 "measure with as many on each, which the model of the links assumes");
  const auto group = place_ranks(placed.ranks, placed.hosts, *network);
  if (!group)
    return wrong(benchmark,
                 std::to_string(placed.ranks) + " ranks on " + std::to_string(placed.hosts) +
                     " hosts lie on links that the machine does not have",
                 "give --machine with them");
  const std::int64_t times = benchmark.per_rank ? placed.ranks : 1;
  if (!benchmark.many_at_once)
    for (const BenchmarkPoint& p : benchmark.points)
      placed.timings.push_back({.kind = benchmark.kind,
                                .group = *group,
                                .bytes = Bytes{p.bytes.value * times},
                                .time = p.time,
                                .algorithm = {}});
  placed.benchmark = std::move(benchmark);
  return placed;
}

std::vector<BenchmarkRow> benchmark_rows(std::span<const CollectiveTiming> measured,
                                         const Machine& fitted,
                                         std::span<const TransferFit> transfers) {
  std::vector<BenchmarkRow> rows;
  const auto network = make_network(fitted);
  for (CollectiveTiming t : measured) {
    BenchmarkRow row{.kind = t.kind,
                     .ranks = t.group.size,
                     .bytes = t.bytes,
                     .measured = t.time,
                     .spread = t.spread};
    row.fitted = fitted_time(row, placement_of_group(t.group), transfers);
    if (network) {
      if (const auto group = place(t.group.size, 1, *network)) t.group = *group;
      row.modelled = modelled_time(*network, t);
    }
    rows.push_back(row);
  }
  return rows;
}

Result<BenchmarkFit> fit_benchmarks(const Machine& base,
                                    std::span<const PlacedBenchmark> benchmarks,
                                    const std::string& source) {
  std::vector<CollectiveTiming> timings;
  for (const PlacedBenchmark& b : benchmarks)
    timings.insert(timings.end(), b.timings.begin(), b.timings.end());
  auto fitted = fitted_machine(base, timings, source);
  if (!fitted) {
    Error error = fitted.error();
    if (!benchmarks.empty()) error.file = benchmarks.front().benchmark.path;
    return error;
  }
  BenchmarkFit fit{
      .machine = std::move(fitted->machine), .transfers = fit_transfers(timings), .rows = {}};
  fit.reached_inside = fitted->reached_inside;
  fit.reached_across = fitted->reached_across;
  const auto before = make_network(base);
  const auto after = make_network(fit.machine);
  if (!before) return before.error();
  if (!after) return after.error();
  fit.rows = rows_of(benchmarks, *before, *after, fit.transfers);
  fit.fitted_error = mean_error(fit.rows, &BenchmarkRow::fitted);
  fit.modelled_error = mean_error(fit.rows, &BenchmarkRow::modelled);
  fit.before_error = mean_error(fit.rows, &BenchmarkRow::before);
  return fit;
}

}  // namespace stepscope
