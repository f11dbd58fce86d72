// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/rank_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace stepscope {
namespace {

std::string range_text(const RankWindow& w) {
  return "steps [" + std::to_string(w.first_step) + ", " + std::to_string(w.end_step) +
         ") of rank " + std::to_string(w.rank);
}

std::uint16_t group_of(std::vector<CollectiveGroup>& groups, const CollectiveGroup& wanted) {
  const auto it = std::ranges::find(groups, wanted);
  if (it != groups.end()) return static_cast<std::uint16_t>(it - groups.begin());
  groups.push_back(wanted);
  return static_cast<std::uint16_t>(groups.size() - 1);
}

auto key(const CollectiveTotals& c) { return std::tuple(c.group, c.kind, c.purpose); }

void add_collectives(RankWindow& both, const RankWindow& later,
                     const std::vector<std::uint16_t>& group) {
  for (CollectiveTotals added : later.collectives) {
    added.group = group[added.group];
    const auto at = std::ranges::lower_bound(both.collectives, key(added), {}, key);
    if (at != both.collectives.end() && key(*at) == key(added))
      add_totals(*at, added);
    else
      both.collectives.insert(at, std::move(added));
  }
}

void add_layers(std::vector<LayerTotals>& sum, const std::vector<LayerTotals>& later) {
  for (std::size_t i = 0; i < later.size(); ++i) {
    auto at = i < sum.size() && sum[i].name == later[i].name
                  ? sum.begin() + static_cast<std::ptrdiff_t>(i)
                  : std::ranges::find(sum, later[i].name, &LayerTotals::name);
    if (at == sum.end()) {
      sum.push_back(later[i]);
    } else {
      at->forward.merge(later[i].forward);
      at->backward.merge(later[i].backward);
      at->recompute.merge(later[i].recompute);
    }
  }
}

}  // namespace

void Durations::merge(const Durations& other) {
  if (other.count == 0) return;
  min = count == 0 ? other.min : std::min(min, other.min);
  max = count == 0 ? other.max : std::max(max, other.max);
  count += other.count;
  total += other.total;
}

Bytes bus_bytes(CollectiveKind kind, int group_size, Bytes size) {
  return {
      std::llround(static_cast<double>(size.value) * busbw_factor(kind, group_size).value_or(0))};
}

ExposedTime& ExposedTime::operator+=(const ExposedTime& more) {
  transfer += more.transfer;
  unsplit += more.unsplit;
  wait += more.wait;
  during_transfer += more.during_transfer;
  during_io += more.during_io;
  during_other += more.during_other;
  return *this;
}

Ns sum(const ActivityTimes& times) { return std::accumulate(times.begin(), times.end(), Ns{}); }

Ns computing_time(const ActivityTimes& times) {
  return times[slot(Activity::forward)] + times[slot(Activity::backward)] +
         times[slot(Activity::recompute)] + times[slot(Activity::optimizer)];
}
Ns collective_wait_time(const ActivityTimes& times) {
  return times[slot(Activity::wait_fetch)] + times[slot(Activity::wait_reduce)] +
         times[slot(Activity::wait_gather)];
}

void add_totals(TransferTotals& sum, const TransferTotals& other) {
  sum.calls += other.calls;
  sum.bytes += other.bytes;
  sum.time += other.time;
  sum.busy += other.busy;
  sum.parameter_calls += other.parameter_calls;
  sum.parameter_bytes += other.parameter_bytes;
  sum.parameter_time += other.parameter_time;
}

void add_totals(PrefetchTotals& sum, const PrefetchTotals& other) {
  sum.count += other.count;
  sum.bytes += other.bytes;
  sum.stall += other.stall;
  sum.service += other.service;
}

void add_totals(CollectiveTotals& sum, const CollectiveTotals& other) {
  sum.calls += other.calls;
  sum.bytes += other.bytes;
  sum.padding += other.padding;
  sum.time += other.time;
  sum.stall += other.stall;
  sum.timed_calls += other.timed_calls;
  sum.timed_bytes += other.timed_bytes;
  sum.transfer += other.transfer;
  sum.peer_wait += other.peer_wait;
  sum.peer_stall += other.peer_stall;
  sum.durations.merge(other.durations);
}

void add_totals(RankTotals& sum, const RankTotals& later) {
  sum.steps += later.steps;
  sum.skipped_steps += later.skipped_steps;
  sum.wall += later.wall;
  sum.skipped_wall += later.skipped_wall;
  for (std::size_t i = 0; i < activity_count; ++i) sum.activity[i] += later.activity[i];
  sum.overlapped += later.overlapped;
  sum.exposed += later.exposed;
  sum.tokens += later.tokens;
  sum.model_flops += later.model_flops;
  sum.executed_flops += later.executed_flops;
  for (std::size_t i = 0; i < pass_count; ++i) {
    sum.passes[i].time.merge(later.passes[i].time);
    sum.passes[i].items += later.passes[i].items;
  }
  sum.comm_in_flight += later.comm_in_flight;
  for (std::size_t i = 0; i < transfer_direction_count; ++i)
    add_totals(sum.transfers[i], later.transfers[i]);
  for (std::size_t i = 0; i < prefetch_outcome_count; ++i)
    add_totals(sum.prefetch[i], later.prefetch[i]);
  for (std::size_t i = 0; i < memory_class_count; ++i)
    sum.memory[i] = {later.memory[i].current, std::max(sum.memory[i].peak, later.memory[i].peak)};
  sum.memory_total = {later.memory_total.current,
                      std::max(sum.memory_total.peak, later.memory_total.peak)};
  sum.beyond_wall += later.beyond_wall;
  sum.arrivals_dropped += later.arrivals_dropped;
}

Result<Done> append(RankWindow& earlier, const RankWindow& later) {
  if (later.empty()) return Done{};
  if (earlier.empty()) {
    earlier = later;
    return Done{};
  }
  if (earlier.rank != later.rank || earlier.world != later.world)
    return Error{.what = "cannot append " + range_text(later) + " to " + range_text(earlier),
                 .hint = "gather() puts ranks side by side"};
  if (later.first_step < earlier.end_step || later.begin < earlier.end)
    return Error{.what = range_text(earlier) + " and " + range_text(later) +
                         " overlap; the same time would count twice",
                 .hint = "append windows in the order in which they were taken"};
  earlier.end_step = later.end_step;
  earlier.end = later.end;
  earlier.clock_offset = later.clock_offset;
  earlier.by_hand = earlier.by_hand || later.by_hand;
  add_totals(earlier.totals, later.totals);
  earlier.step_wall.merge(later.step_wall);
  for (std::size_t i = 0; i < pass_count; ++i) earlier.pass_times[i].merge(later.pass_times[i]);
  std::vector<std::uint16_t> group;
  group.reserve(later.groups.size());
  for (const CollectiveGroup& g : later.groups) group.push_back(group_of(earlier.groups, g));
  add_collectives(earlier, later, group);
  add_layers(earlier.layers, later.layers);
  earlier.steps.insert(earlier.steps.end(), later.steps.begin(), later.steps.end());
  for (Arrival a : later.arrivals) {
    a.group = group[a.group];
    earlier.arrivals.push_back(a);
  }
  return Done{};
}

Result<RankWindow> concat(const RankWindow& earlier, const RankWindow& later) {
  RankWindow both = earlier;
  if (auto done = append(both, later); !done) return done.error();
  return both;
}

}  // namespace stepscope
