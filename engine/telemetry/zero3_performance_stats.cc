// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/zero3_performance_stats.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/stats/round_to_sum.h"

namespace stepscope {
namespace {

std::uint64_t most_passes(const JobWindow& window, TrainingPass pass) {
  std::uint64_t most = 0;
  for (const RankWindow& rank : window.ranks)
    most = std::max(most, rank.totals.passes[slot(pass)].time.count);
  return most;
}

template <class Time>
Ns mean_time(const JobWindow& window, const Time& time) {
  if (window.ranks.empty()) return {};
  Ns total{};
  for (const RankWindow& rank : window.ranks) total += time(rank);
  return total / static_cast<std::int64_t>(window.ranks.size());
}

Ns mean_pass_time(const JobWindow& window, TrainingPass pass) {
  return mean_time(
      window, [&](const RankWindow& rank) { return rank.totals.passes[slot(pass)].time.total; });
}

std::optional<Ns> average(const Durations& times) {
  if (times.count == 0) return std::nullopt;
  return times.total / static_cast<std::int64_t>(times.count);
}

// Joined only for an error: a good record allocates nothing.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(part);
  return text;
}

constexpr std::string_view nameless = "group of ";

CollectiveGroup group_of(std::string_view name, int size, int world) {
  if (!name.empty()) return {std::string(name), size};
  if (size == world) return {"world", size};
  return {std::string(nameless) + std::to_string(size), size, true};
}

Error cannot_be(std::string what, std::string_view value, std::string_view hint) {
  what.append(" cannot be ").append(value);
  return {.what = std::move(what), .hint = std::string(hint), .code = ErrorCode::refused};
}

// Refuses a negative duration or number.
std::optional<Error> negative(std::string_view what, Ns duration, std::int64_t number = 0,
                              std::string_view of = "") {
  if (duration < Ns{})
    return cannot_be(joined({"the duration of ", what}),
                     joined({std::to_string(duration.count()), " ns"}),
                     "take both ends from one monotonic clock");
  if (number < 0)
    return cannot_be(joined({"the number of ", of, " of ", what}), std::to_string(number),
                     "give a count of 0 or more");
  return std::nullopt;
}

std::optional<Error> not_within(std::string_view part, std::optional<Ns> time,
                                std::string_view what, Ns duration) {
  if (!time || (*time >= Ns{} && *time <= duration)) return std::nullopt;
  return cannot_be(joined({part, " of ", what, " of ", std::to_string(duration.count()), " ns"}),
                   joined({std::to_string(time->count()), " ns"}), "give a part of the duration");
}

std::optional<Error> not_a_rate(std::string_view what, double rate, Seconds start = {}) {
  if (!(rate > 0) || !std::isfinite(rate))
    return cannot_be(joined({"the rate of ", what}), std::to_string(rate),
                     "give a measured rate above 0");
  if (!(start >= Seconds{}) || !std::isfinite(start.count()))
    return cannot_be(joined({"the start of ", what}), joined({std::to_string(start.count()), " s"}),
                     "give a time of 0 or more");
  return std::nullopt;
}

LayerTimingStats timings(const JobLayer& layer) {
  const auto if_any = [](const Durations& runs, Ns time) {
    return runs.count > 0 ? std::optional(time) : std::nullopt;
  };
  return {.forward_count = layer.forward.count,
          .backward_count = layer.backward.count,
          .recompute_count = layer.recompute.count,
          .total_forward_time = layer.forward.total,
          .total_backward_time = layer.backward.total,
          .total_recompute_time = layer.recompute.total,
          .average_forward_time = average(layer.forward),
          .average_backward_time = average(layer.backward),
          .average_recompute_time = average(layer.recompute),
          .min_forward_time = if_any(layer.forward, layer.forward.min),
          .max_forward_time = if_any(layer.forward, layer.forward.max),
          .min_backward_time = if_any(layer.backward, layer.backward.min),
          .max_backward_time = if_any(layer.backward, layer.backward.max),
          .min_recompute_time = if_any(layer.recompute, layer.recompute.min),
          .max_recompute_time = if_any(layer.recompute, layer.recompute.max),
          .slowest_rank = layer.slowest_rank};
}

Activity wait_for(CollectivePurpose purpose) {
  if (purpose == CollectivePurpose::parameters) return Activity::wait_fetch;
  if (purpose == CollectivePurpose::gradients) return Activity::wait_reduce;
  return Activity::wait_gather;
}

bool with_nvme(TransferDirection direction) {
  return direction != TransferDirection::host_to_device &&
         direction != TransferDirection::device_to_host;
}

CollectiveTotals& collective_row(RankWindow& window, const CollectiveGroup& group,
                                 CollectiveKind kind, CollectivePurpose purpose) {
  auto known = std::ranges::find(window.groups, group);
  if (known == window.groups.end()) known = window.groups.insert(known, group);
  const auto number = static_cast<std::uint16_t>(known - window.groups.begin());
  const auto key = [](const CollectiveTotals& c) { return std::tuple(c.group, c.kind, c.purpose); };
  const std::tuple wanted(number, kind, purpose);
  auto at = std::ranges::lower_bound(window.collectives, wanted, {}, key);
  if (at == window.collectives.end() || key(*at) != wanted)
    at = window.collectives.insert(at, {.group = number, .kind = kind, .purpose = purpose});
  return *at;
}

// The number of the next collective of each group: behind every number of the window, and not below
// the count of its calls, whose numbers a folded window lacks.
std::map<std::string, std::uint64_t, std::less<>> next_numbers(const RankWindow& window) {
  std::map<std::string, std::uint64_t, std::less<>> next;
  for (const CollectiveTotals& calls : window.collectives)
    if (!is_message(calls.kind)) next[window.groups[calls.group].name] += calls.calls;
  for (const Arrival& call : window.arrivals) {
    if (is_message(call.kind)) continue;
    std::uint64_t& number = next[window.groups[call.group].name];
    number = std::max(number, call.sequence + 1);
  }
  return next;
}

}  // namespace

Zero3PerformanceStats::Zero3PerformanceStats(int rank, int world, Clock clock)
    : clock_(clock), rank_(rank), world_(world) {
  check(rank >= 0 && rank < world, "a rank's statistics are not of its world");
  reset();
}

Zero3PerformanceStats::Zero3PerformanceStats(JobWindow window, Clock clock)
    : clock_(clock), window_(std::move(window)) {
  if (window_.empty()) {
    reset();
    return;
  }
  rank_ = window_.ranks.front().rank;
  world_ = window_.ranks.front().world;
  clock_offset_ = window_.ranks.front().clock_offset;
  open_ = {.index = window_.ranks.front().end_step, .begin = clock_()};
  if (window_.ranks.size() == 1) sequences_ = next_numbers(window_.ranks.front());
}

void Zero3PerformanceStats::reset() {
  const Ns now = clock_();
  window_ = {};
  window_.ranks.push_back(
      {.rank = rank_, .world = world_, .begin = now, .end = now, .clock_offset = clock_offset_});
  open_ = {.begin = now};
  sequences_.clear();
  comm_ = {};
  busy_ = {};
}

RankWindow& Zero3PerformanceStats::own() {
  return *std::ranges::find(window_.ranks, rank_, &RankWindow::rank);
}

void Zero3PerformanceStats::set_clock_offset(Ns offset) {
  own().clock_offset = clock_offset_ = offset;
}

// A record of one rank would give it a step that the others lack.
std::optional<Error> Zero3PerformanceStats::several_ranks() const {
  if (window_.ranks.size() == 1) return std::nullopt;
  return cannot_be("a record", "one of several ranks",
                   "record in each rank's own object, and merge copies");
}

LayerTotals& Zero3PerformanceStats::layer(std::string_view name) {
  auto& layers = own().layers;
  const auto at = std::ranges::find(layers, name, &LayerTotals::name);
  if (at != layers.end()) return *at;
  layers.push_back({.name = std::string(name)});
  return layers.back();
}

void Zero3PerformanceStats::claim(Activity activity, Ns duration) {
  open_.activity[slot(activity)] += duration;
}

void Zero3PerformanceStats::add_pass(TrainingPass kind, Ns duration, std::int64_t items) {
  RankWindow& window = own();
  PassTotals& pass = window.totals.passes[slot(kind)];
  pass.time.add(duration);
  pass.items += items;
  window.pass_times[slot(kind)].add(static_cast<double>(duration.count()));
}

Result<Done> Zero3PerformanceStats::record_forward_pass(Ns duration, std::int64_t num_tokens) {
  if (auto error = several_ranks()) return *error;
  if (auto error = negative("a forward pass", duration, num_tokens, "tokens")) return *error;
  add_pass(TrainingPass::forward, duration, num_tokens);
  open_.tokens += num_tokens;  // only here: each token is trained on once
  claim(Activity::forward, duration);
  return Done{};
}

Result<Done> Zero3PerformanceStats::record_backward_pass(Ns duration, std::int64_t num_tokens) {
  if (auto error = several_ranks()) return *error;
  if (auto error = negative("a backward pass", duration, num_tokens, "tokens")) return *error;
  add_pass(TrainingPass::backward, duration, num_tokens);
  claim(Activity::backward, duration);
  return Done{};
}

Result<Done> Zero3PerformanceStats::record_optimizer_step(Ns duration, std::int64_t num_params) {
  if (auto error = several_ranks()) return *error;
  if (auto error = negative("an optimizer step", duration, num_params, "parameters")) return *error;
  add_pass(TrainingPass::optimizer, duration, num_params);
  claim(Activity::optimizer, duration);
  return end_step();
}

Result<Done> Zero3PerformanceStats::record_layer_execution(std::string_view layer_name,
                                                           Ns duration) {
  if (auto error = several_ranks()) return *error;
  if (auto error = negative("a layer's forward pass", duration)) return *error;
  layer(layer_name).forward.add(duration);
  return Done{};
}
Result<Done> Zero3PerformanceStats::record_layer_backward(std::string_view layer_name,
                                                          Ns duration) {
  if (auto error = several_ranks()) return *error;
  if (auto error = negative("a layer's backward pass", duration)) return *error;
  layer(layer_name).backward.add(duration);
  return Done{};
}
Result<Done> Zero3PerformanceStats::record_layer_recompute(std::string_view layer_name,
                                                           Ns duration) {
  if (auto error = several_ranks()) return *error;
  if (auto error = negative("a layer's recomputation", duration)) return *error;
  layer(layer_name).recompute.add(duration);
  return Done{};
}

Result<Done> Zero3PerformanceStats::record_parameter_transfer(Ns duration, Bytes bytes,
                                                              TransferDirection direction,
                                                              std::optional<Ns> stall) {
  constexpr std::string_view what = "a parameter transfer";
  if (auto error = several_ranks()) return *error;
  if (auto error = negative(what, duration, bytes.value, "bytes")) return *error;
  if (auto error = not_within("the stall", stall, what, duration)) return *error;
  TransferTotals& totals = own().totals.transfers[slot(direction)];
  IntervalUnion& busy = busy_[slot(direction)];
  const Ns now = clock_();
  const Ns before = busy.covered();
  busy.add(now - duration, now);
  add_totals(totals, {.calls = 1,
                      .bytes = bytes,
                      .time = duration,
                      .busy = busy.covered() - before,
                      .parameter_calls = 1,
                      .parameter_bytes = bytes,
                      .parameter_time = duration});
  claim(with_nvme(direction) ? Activity::wait_io : Activity::wait_transfer,
        stall.value_or(duration));
  return Done{};
}

Result<Done> Zero3PerformanceStats::record_gradient_sync(Ns duration, std::int64_t num_gradients,
                                                         int world_size, ElementType type,
                                                         CommunicationOperation operation,
                                                         CommunicationDetail detail) {
  const auto width = static_cast<std::int64_t>(element_bytes(type));
  constexpr std::string_view what = "a gradient synchronization";
  if (auto error = negative(what, duration, num_gradients, "gradients")) return *error;
  if (world_size < 1)
    return cannot_be("the number of ranks of a gradient synchronization",
                     std::to_string(world_size), "give the size of the group");
  detail.group_size = world_size;
  detail.purpose = CollectivePurpose::gradients;
  return record_communication(operation, duration, Bytes{num_gradients * width}, detail);
}

std::optional<Error> Zero3PerformanceStats::not_a_group(std::string_view name, int size) const {
  if (size < 1 || size > world_)
    return cannot_be("the group of a collective",
                     "of " + std::to_string(size) + " of " + std::to_string(world_) + " ranks",
                     "give 0 for the world, or a number of its ranks");
  if (name.empty()) return std::nullopt;
  const auto& groups = window_.ranks.front().groups;
  const auto known = std::ranges::find(groups, name, &CollectiveGroup::name);
  if (name.starts_with(nameless) ||
      (known == groups.end() ? name == "world" && size != world_ : known->size != size))
    return cannot_be("the name of a group of " + std::to_string(size) + " ranks", name,
                     "give each group a name of its own");
  return std::nullopt;
}

Result<Done> Zero3PerformanceStats::record_communication(CommunicationOperation operation,
                                                         Ns duration, Bytes bytes,
                                                         const CommunicationDetail& detail) {
  constexpr std::string_view what = "a collective";
  if (auto error = several_ranks()) return *error;
  if (auto error = negative(what, duration, bytes.value, "bytes")) return *error;
  if (operation == CollectiveKind::none || slot(operation) >= collective_kind_count)
    return cannot_be("the operation of a collective", "none", "name its CollectiveKind");
  const int size = detail.group_size == 0 ? world_ : detail.group_size;
  if (auto error = not_a_group(detail.group, size)) return *error;
  if (auto error = not_within("the stall", detail.stall, what, duration)) return *error;
  if (auto error = not_within("the wait for peers", detail.waited_for_peers, what, duration))
    return *error;
  const CollectiveGroup group = group_of(detail.group, size, world_);
  const Ns now = clock_();
  const Ns submitted = now - duration;
  const Ns stall = detail.stall.value_or(duration);
  RankWindow& window = own();
  CollectiveTotals& totals = collective_row(window, group, operation, detail.purpose);
  CollectiveTotals added{.calls = 1, .bytes = bytes, .time = duration, .stall = stall};
  if (detail.waited_for_peers) {
    const Ns waited = *detail.waited_for_peers;
    added.timed_calls = 1;
    added.timed_bytes = bytes;
    added.transfer = duration - waited;
    added.peer_wait = waited;
    added.peer_stall = peer_stall(submitted + waited, now, stall);
    open_.exposed.wait += added.peer_stall;
  } else {
    open_.exposed.unsplit += stall;
  }
  added.durations.add(static_cast<double>(duration.count()));
  add_totals(totals, added);
  const Ns before = comm_.covered();
  comm_.add(submitted, now);
  const Ns under_way = comm_.covered() - before;
  window.totals.comm_in_flight += under_way;
  open_.overlapped += std::max(under_way - stall, Ns{});
  if (!group.several && !is_message(operation))
    window.arrivals.push_back({.group = totals.group,
                               .kind = operation,
                               .purpose = detail.purpose,
                               .timed = detail.waited_for_peers.has_value(),
                               .sequence = sequences_[group.name]++,
                               .step = open_.index,
                               .submitted = submitted,
                               .finished = now,
                               .stall = stall});
  claim(wait_for(detail.purpose), stall);
  return Done{};
}

Result<Done> Zero3PerformanceStats::record_flops(Flops model, Flops executed) {
  if (auto error = several_ranks()) return *error;
  if (!(model.value >= 0) || !std::isfinite(executed.value))
    return cannot_be("a step's FLOPs",
                     joined({std::to_string(model.value), " and ", std::to_string(executed.value)}),
                     "give finite counts of 0 or more");
  if (executed.value < model.value)
    return cannot_be("executed FLOPs",
                     joined({std::to_string(executed.value), " of ", std::to_string(model.value)}),
                     "add recomputed FLOPs to the model's");
  open_.model_flops += model;
  open_.executed_flops += executed;
  return Done{};
}

Result<Done> Zero3PerformanceStats::end_step() {
  if (auto error = several_ranks()) return *error;
  open_.end = std::max(clock_(), open_.begin);
  RankWindow& window = own();
  const Ns wall = open_.end - open_.begin;
  const Ns claimed = sum(open_.activity);
  if (claimed <= wall) {
    open_.activity[slot(Activity::other)] += wall - claimed;
  } else {  // they overlapped: scaled, so that the step sums to its wall
    std::array<double, activity_count> parts{};
    for (std::size_t i = 0; i < activity_count; ++i)
      parts[i] = static_cast<double>(open_.activity[i].count()) *
                 static_cast<double>(wall.count()) / static_cast<double>(claimed.count());
    const auto whole = round_to_sum(parts);
    for (std::size_t i = 0; i < activity_count; ++i) open_.activity[i] = Ns{whole[i]};
  }
  for (std::size_t i = 0; i < activity_count; ++i) {  // what surrounds a wait is not known here
    const auto activity = static_cast<Activity>(i);
    const bool own = computes(activity) || activity == Activity::data;
    open_.surrounding[slot(own ? activity : Activity::other)] += open_.activity[i];
  }
  open_.overlapped = std::min(open_.overlapped, computing_time(open_.activity));
  const Ns waits = collective_wait_time(open_.activity);
  ExposedTime& exposed = open_.exposed;
  exposed.wait = std::min(exposed.wait, waits);
  exposed.unsplit = std::min(exposed.unsplit, waits - exposed.wait);
  exposed.transfer = waits - exposed.wait - exposed.unsplit;
  RankTotals step{.steps = 1, .wall = wall, .activity = open_.activity, .tokens = open_.tokens};
  step.overlapped = open_.overlapped;
  step.exposed = open_.exposed;
  step.model_flops = open_.model_flops;
  step.executed_flops = open_.executed_flops;
  step.beyond_wall = std::max(claimed - wall, Ns{});
  step.memory = window.totals.memory;
  step.memory_total = window.totals.memory_total;
  add_totals(window.totals, step);
  window.step_wall.add(static_cast<double>(wall.count()));
  window.steps.push_back(open_);
  window.end = open_.end;
  window.end_step = open_.index + 1;
  window.by_hand = true;
  open_ = {.index = open_.index + 1, .begin = open_.end};
  return Done{};
}

std::uint64_t Zero3PerformanceStats::forward_passes() const {
  return most_passes(window_, TrainingPass::forward);
}
std::uint64_t Zero3PerformanceStats::backward_passes() const {
  return most_passes(window_, TrainingPass::backward);
}
std::uint64_t Zero3PerformanceStats::optimizer_steps() const {
  const std::uint64_t passes = most_passes(window_, TrainingPass::optimizer);
  if (passes > 0) return passes;
  std::int64_t applied = 0;  // reporting optimizer passes to a recorder is optional
  for (const RankWindow& rank : window_.ranks)
    applied = std::max(applied, rank.totals.steps - rank.totals.skipped_steps);
  return static_cast<std::uint64_t>(applied);
}
Ns Zero3PerformanceStats::total_forward_time() const {
  return mean_pass_time(window_, TrainingPass::forward);
}
Ns Zero3PerformanceStats::total_backward_time() const {
  return mean_pass_time(window_, TrainingPass::backward);
}
Ns Zero3PerformanceStats::total_optimizer_time() const {
  return mean_pass_time(window_, TrainingPass::optimizer);
}

Ns Zero3PerformanceStats::parameter_transfer_time() const {
  return mean_time(window_, [](const RankWindow& rank) {
    Ns total{};
    for (const TransferTotals& transfer : rank.totals.transfers) total += transfer.parameter_time;
    return total;
  });
}

Ns Zero3PerformanceStats::gradient_sync_time() const {
  return mean_time(window_, [](const RankWindow& rank) {
    Ns total{};
    for (const CollectiveTotals& calls : rank.collectives)
      if (calls.purpose == CollectivePurpose::gradients) total += calls.time;
    return total;
  });
}

std::map<std::string, LayerTimingStats, std::less<>> Zero3PerformanceStats::layer_timings() const {
  std::map<std::string, LayerTimingStats, std::less<>> out;
  for (const JobLayer& layer : job_layers(window_)) out[layer.name] = timings(layer);
  return out;
}

PassTimes Zero3PerformanceStats::pass_times(TrainingPass pass) const {
  Durations all;
  QuantileSketch times;
  PassTimes out;
  for (const RankWindow& rank : window_.ranks) {
    all.merge(rank.totals.passes[slot(pass)].time);
    times.merge(rank.pass_times[slot(pass)]);
    out.items += rank.totals.passes[slot(pass)].items;
  }
  out.count = all.count;
  out.total = all.total;
  if (all.count == 0) return out;
  const auto quantile = [&](double q) {
    return std::optional(Ns{std::llround(times.quantile(q).value_or(0))});
  };
  out.mean = average(all);
  out.min = all.min;
  out.p50 = quantile(0.5);
  out.p90 = quantile(0.9);
  out.p99 = quantile(0.99);
  out.max = all.max;
  return out;
}
std::optional<Ns> Zero3PerformanceStats::average_forward_time() const {
  return pass_times(TrainingPass::forward).mean;
}
std::optional<Ns> Zero3PerformanceStats::average_backward_time() const {
  return pass_times(TrainingPass::backward).mean;
}
std::optional<Ns> Zero3PerformanceStats::average_optimizer_time() const {
  return pass_times(TrainingPass::optimizer).mean;
}
std::optional<double> Zero3PerformanceStats::tokens_per_second() const {
  return throughput_metrics().tokens_per_second;
}
std::optional<double> Zero3PerformanceStats::memory_bandwidth_gb_per_s() const {
  return memory_transfer_metrics().gb_per_s;
}
Result<Done> Zero3PerformanceStats::set_references(ReferenceRates references) {
  const auto known = [&](const std::string& name) {
    const auto size = name.starts_with(nameless)
                          ? number_of<int>(std::string_view(name).substr(nameless.size()))
                          : std::nullopt;
    if (size && *size >= 1 && *size < world_) return true;
    for (const RankWindow& rank : window_.ranks)
      if (std::ranges::find(rank.groups, name, &CollectiveGroup::name) != rank.groups.end())
        return true;
    return name == "world";
  };
  for (const CollectiveReference& reference : references.collectives) {
    if (!known(reference.group))
      return cannot_be("the group of a reference", reference.group,
                       "write \"world\", \"group of N\" with N below the number of ranks, or a "
                       "name with which a call was recorded");
    if (auto error = not_a_rate("a group's link", reference.link.rate.value, reference.link.start))
      return *error;
  }
  for (const auto& link : references.transfers)
    if (link)
      if (auto error = not_a_rate("a direction's link", link->rate.value, link->start))
        return *error;
  if (references.peak)
    if (auto error = not_a_rate("a rank's peak", references.peak->value)) return *error;
  references_ = std::move(references);
  return Done{};
}

std::optional<double> Zero3PerformanceStats::communication_efficiency() const {
  return communication_stats().efficiency;
}
std::optional<double> Zero3PerformanceStats::training_efficiency() const {
  return optimization_efficiency().mfu;
}

PerformanceSummary Zero3PerformanceStats::performance_summary() const {
  PerformanceSummary out{.ranks = static_cast<int>(window_.ranks.size()),
                         .forward_passes = forward_passes(),
                         .backward_passes = backward_passes(),
                         .optimizer_steps = optimizer_steps(),
                         .total_forward_time = total_forward_time(),
                         .total_backward_time = total_backward_time(),
                         .total_optimizer_time = total_optimizer_time(),
                         .parameter_transfer_time = parameter_transfer_time(),
                         .gradient_sync_time = gradient_sync_time()};
  for (std::size_t i = 0; i < pass_count; ++i)
    out.passes[i] = pass_times(static_cast<TrainingPass>(i));
  for (const RankWindow& rank : window_.ranks) {
    for (std::size_t i = 0; i < activity_count; ++i) out.budget[i] += rank.totals.activity[i];
    out.rank_wall += rank.totals.wall;
    out.beyond_wall += rank.totals.beyond_wall;
    const auto most = [](MemoryTotals& sum, const MemoryTotals& other) {
      sum.current = std::max(sum.current, other.current);
      sum.peak = std::max(sum.peak, other.peak);
    };
    for (std::size_t i = 0; i < memory_class_count; ++i)
      most(out.memory_most[i], rank.totals.memory[i]);
    if (rank.totals.memory_total.peak.value > 0) {
      if (!out.memory_total_most) out.memory_total_most.emplace();
      most(*out.memory_total_most, rank.totals.memory_total);
    }
  }
  out.layers = layer_timings();
  out.throughput = throughput_metrics();
  out.memory_transfers = memory_transfer_metrics();
  out.communication = communication_stats();
  out.efficiency = optimization_efficiency();
  out.references = references_;
  return out;
}

Result<Done> Zero3PerformanceStats::merge(const Zero3PerformanceStats& other) {
  auto joined = gather(window_, other.window_);
  if (!joined) return joined.error();
  window_ = std::move(*joined);
  return Done{};
}

}  // namespace stepscope
