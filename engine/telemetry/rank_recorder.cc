// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/rank_recorder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

std::size_t slot_number(std::uint16_t group, CollectiveKind kind, CollectivePurpose purpose) {
  return (group * collective_kind_count + slot(kind)) * collective_purpose_count + slot(purpose);
}

// Resets the totals but keeps the memory of the quantiles.
void restart(CollectiveTotals& totals) {
  QuantileSketch durations = std::move(totals.durations);
  durations.clear();
  totals = {.group = totals.group, .kind = totals.kind, .purpose = totals.purpose};
  totals.durations = std::move(durations);
}

constexpr std::size_t most_pending = 512;

template <class Row>
void copy_rows(const std::vector<Row>& from, std::vector<Row>& to) {
  to.assign(from.begin(), from.end());
}

}  // namespace

RankRecorder::RankRecorder(const RecorderOptions& options) : clock_(options.clock) {
  check(options.rank >= 0 && options.rank < options.world, "a recorder's rank is not of its world");
  window_.rank = options.rank;
  window_.world = options.world;
  window_.first_step = window_.end_step = options.first_step;
  window_.clock_offset = options.clock_offset;
  window_.groups = options.groups;
  for (const std::string& unit : options.units) window_.layers.push_back({.name = unit});
  window_.steps.reserve(options.steps);
  window_.arrivals.reserve(options.collectives);
  slots_.resize(options.groups.size() * collective_kind_count * collective_purpose_count);
  window_.collectives.reserve(slots_.size());
  window_.step_wall.reserve();
  for (QuantileSketch& times : window_.pass_times) times.reserve();
  turns_.resize(kept_turns);
  pending_.reserve(most_pending);
  since_ = open_.begin = window_.begin = window_.end = clock_.now();
  open_.index = options.first_step;
  turn();
}

// The main thread's times up to t, from the last turn before t. Most questions are about the last
// few turns, so the search doubles its steps back until a turn is before t.
RankRecorder::StateTimes RankRecorder::spent_until(Ns t) const {
  const std::uint64_t oldest = turn_count_ > kept_turns ? turn_count_ - kept_turns : 0;
  std::uint64_t first = turn_count_ - 1;
  std::uint64_t end = turn_count_;
  for (std::uint64_t back = 1; first > oldest && turns_[first % kept_turns].at > t; back *= 2) {
    end = first;
    first = first - oldest > back ? first - back : oldest;
  }
  while (end - first > 1) {
    const std::uint64_t middle = first + (end - first) / 2;
    (turns_[middle % kept_turns].at <= t ? first : end) = middle;
  }
  const Turn& turn = turns_[first % kept_turns];
  StateTimes spent = turn.spent;
  if (t > turn.at) spent[slot(turn.state)] += t - turn.at;
  return spent;
}

// Within the open step.
RankRecorder::StateTimes RankRecorder::spent_between(Ns from, Ns until) const {
  from = std::max(from, open_.begin);
  if (until <= from) return {};
  const Turn& last = turns_[(turn_count_ - 1) % kept_turns];
  if (from >= last.at) {
    StateTimes spent{};
    spent[slot(last.state)] = until - from;
    return spent;
  }
  StateTimes spent = spent_until(until);
  const StateTimes before = spent_until(from);
  for (std::size_t i = 0; i < state_count; ++i) spent[i] -= before[i];
  return spent;
}

// At least one collective was in flight; the new part is attributed to this step's activities.
void RankRecorder::under_way(Ns begin, Ns end) {
  comm_.add(begin, end, [this](Ns from, Ns until) {
    const StateTimes spent = spent_between(from, until);
    open_.overlapped += spent[slot(State::computing)];
    open_.exposed.during_transfer += spent[slot(State::transfer)];
    open_.exposed.during_io += spent[slot(State::io)];
    open_.exposed.during_other += spent[slot(State::other)];
    waiting_in_flight_ += spent[slot(State::waiting)];
  });
}

Ns RankRecorder::neither_computing_nor_loading(Ns from, Ns until) const {
  const StateTimes spent = spent_between(from, until);
  return spent[slot(State::waiting)] + spent[slot(State::transfer)] + spent[slot(State::io)] +
         spent[slot(State::other)];
}

// A collective in flight had all its members.
void RankRecorder::complete(Ns begin, Ns end) {
  complete_.add(begin, end, [this](Ns from, Ns until) {
    open_.exposed.transfer += neither_computing_nor_loading(from, until);
  });
  if (!complete_or_unknown_) return;
  complete_or_unknown_->add(begin, end, [this](Ns from, Ns until) {
    exposed_complete_or_unknown_ += neither_computing_nor_loading(from, until);
  });
}

// A collective was in flight, and the arrival of its members is unknown.
void RankRecorder::unknown(Ns begin, Ns end) {
  if (!complete_or_unknown_) {
    complete_or_unknown_ = complete_;
    exposed_complete_or_unknown_ = open_.exposed.transfer;
  }
  complete_or_unknown_->add(begin, end, [this](Ns from, Ns until) {
    exposed_complete_or_unknown_ += neither_computing_nor_loading(from, until);
  });
}

// Instants of another clock may exceed the step's edges slightly.
void RankRecorder::close_exposed() {
  ExposedTime& exposed = open_.exposed;
  const Ns waits = collective_wait_time(open_.activity);
  const auto of = [this](Activity a) { return open_.activity[slot(a)]; };
  open_.overlapped = std::min(open_.overlapped, computing_time(open_.activity));
  exposed.during_transfer = std::min(exposed.during_transfer, of(Activity::wait_transfer));
  exposed.during_io = std::min(exposed.during_io, of(Activity::wait_io));
  exposed.during_other = std::min(exposed.during_other, of(Activity::other));
  const Ns in_flight = std::min(waiting_in_flight_, waits) + exposed.during_transfer +
                       exposed.during_io + exposed.during_other;
  exposed.transfer = std::min(exposed.transfer, in_flight);
  const Ns not_waiting = complete_or_unknown_
                             ? std::clamp(exposed_complete_or_unknown_, exposed.transfer, in_flight)
                             : exposed.transfer;
  exposed.wait = in_flight - not_waiting;
  // Waits with nothing in flight belong to a collective that was not reported.
  exposed.unsplit = not_waiting - exposed.transfer + waits - std::min(waiting_in_flight_, waits);
  waiting_in_flight_ = exposed_complete_or_unknown_ = {};
}

// Adjacent pieces of one activity are merged.
void RankRecorder::log_piece(Ns now) {
  if (now == since_) return;
  const ActivitySpan piece{current_, current_ == Activity::other ? current_ : around_, since_, now};
  if (!log_->empty() && log_->back().activity == current_ && log_->back().end == since_ &&
      log_->back().surrounding == piece.surrounding)
    log_->back().end = now;
  else if (log_->size() < log_->capacity())
    log_->push_back(piece);
}

void RankRecorder::prepare(std::uint16_t group, CollectiveKind kind, CollectivePurpose purpose) {
  check(group < window_.groups.size(), "a collective's group is not one of the recorder's");
  std::uint16_t& at = slots_[slot_number(group, kind, purpose)];
  if (at != 0) return;
  window_.collectives.push_back({.group = group, .kind = kind, .purpose = purpose});
  window_.collectives.back().durations.reserve();
  at = static_cast<std::uint16_t>(window_.collectives.size());
}

CollectiveTotals& RankRecorder::totals_of(const CollectiveRecord& record) {
  check(record.group < window_.groups.size(), "a collective's group is not one of the recorder's");
  const std::uint16_t& at = slots_[slot_number(record.group, record.kind, record.purpose)];
  if (at == 0) prepare(record.group, record.kind, record.purpose);
  return window_.collectives[at - 1U];
}

void RankRecorder::collective(const CollectiveRecord& record) {
  CollectiveTotals& totals = totals_of(record);
  const Ns time = std::max(record.finished - record.submitted, Ns{});
  ++totals.calls;
  totals.bytes += record.bytes;
  totals.padding += record.padding;
  totals.time += time;
  totals.stall += record.stall;
  if (record.last_arrival) {
    const Ns arrival = std::clamp(*record.last_arrival, record.submitted, record.submitted + time);
    ++totals.timed_calls;
    totals.timed_bytes += record.bytes;
    totals.transfer += record.submitted + time - arrival;
    totals.peer_wait += arrival - record.submitted;
    totals.peer_stall += peer_stall(arrival, record.finished, record.stall);
    complete(arrival, record.finished);
  } else {
    unknown(record.submitted, record.finished);
  }
  totals.durations.add(static_cast<double>(time.count()));
  under_way(record.submitted, record.finished);
  for (Pending& pending : pending_) {
    if (pending.sequence != record.sequence || pending.group != record.group) continue;
    pending = pending_.back();
    pending_.pop_back();
    break;
  }
  if (window_.arrivals.size() < window_.arrivals.capacity())
    window_.arrivals.push_back({.group = record.group,
                                .kind = record.kind,
                                .purpose = record.purpose,
                                .timed = record.last_arrival.has_value(),
                                .sequence = record.sequence,
                                .step = open_.index,
                                .submitted = record.submitted,
                                .finished = record.finished,
                                .stall = record.stall});
  else
    ++window_.totals.arrivals_dropped;
}

void RankRecorder::transfer(TransferDirection direction, Bytes bytes, Ns begin, Ns end,
                            bool parameters) {
  TransferTotals& totals = window_.totals.transfers[slot(direction)];
  const Ns time = std::max(end - begin, Ns{});
  ++totals.calls;
  totals.bytes += bytes;
  totals.time += time;
  if (parameters) {
    ++totals.parameter_calls;
    totals.parameter_bytes += bytes;
    totals.parameter_time += time;
  }
  busy_[slot(direction)].add(begin, end);
}

void RankRecorder::memory(MemoryClass memory_class, Bytes current, Bytes peak) {
  MemoryTotals& totals = window_.totals.memory[slot(memory_class)];
  MemoryTotals& all = window_.totals.memory_total;
  all.current += current - totals.current;
  all.peak = std::max(all.peak, all.current);
  totals.current = current;
  totals.peak = std::max({totals.peak, peak, current});
}

void RankRecorder::end_step_at(Ns now, std::int64_t tokens, Flops model, Flops executed,
                               bool skipped) {
  advance(now);
  open_.surrounding[slot(Activity::other)] += std::exchange(gap_, {});
  around_ = Activity::other;
  open_.end = since_;
  for (const Pending& pending : pending_) {
    unknown(pending.submitted, open_.end);
    under_way(pending.submitted, open_.end);
  }
  close_exposed();
  open_.tokens = tokens;
  open_.model_flops = model;
  open_.executed_flops = executed;
  open_.skipped = skipped;
  RankTotals& totals = window_.totals;
  const Ns wall = open_.end - open_.begin;
  ++totals.steps;
  totals.wall += wall;
  if (skipped) {
    ++totals.skipped_steps;
    totals.skipped_wall += wall;
  }
  for (std::size_t i = 0; i < activity_count; ++i) totals.activity[i] += open_.activity[i];
  totals.overlapped += open_.overlapped;
  totals.exposed += open_.exposed;
  totals.tokens += tokens;
  totals.model_flops += model;
  totals.executed_flops += executed;
  window_.step_wall.add(static_cast<double>(wall.count()));
  window_.end = open_.end;
  ++window_.end_step;
  if (window_.steps.size() < window_.steps.capacity()) window_.steps.push_back(open_);
  last_step_ = open_;
  open_ = {.index = open_.index + 1, .begin = since_};
}

void RankRecorder::take_window(RankWindow& into) {
  RankTotals& totals = window_.totals;
  totals.comm_in_flight = comm_.covered() - comm_taken_;
  comm_taken_ = comm_.covered();
  for (std::size_t i = 0; i < transfer_direction_count; ++i) {
    totals.transfers[i].busy = busy_[i].covered() - busy_taken_[i];
    busy_taken_[i] = busy_[i].covered();
  }
  into.rank = window_.rank;
  into.world = window_.world;
  into.first_step = window_.first_step;
  into.end_step = window_.end_step;
  into.begin = window_.begin;
  into.end = window_.end;
  into.clock_offset = window_.clock_offset;
  into.totals = totals;
  into.step_wall = window_.step_wall;
  into.pass_times = window_.pass_times;
  copy_rows(window_.groups, into.groups);
  copy_rows(window_.layers, into.layers);
  copy_rows(window_.steps, into.steps);
  copy_rows(window_.arrivals, into.arrivals);
  // Rows with calls, in order of group, kind, purpose, like the slots.
  std::size_t rows = 0;
  for (const std::uint16_t at : slots_) {
    if (at == 0 || window_.collectives[at - 1U].calls == 0) continue;
    CollectiveTotals& calls = window_.collectives[at - 1U];
    if (rows == into.collectives.size()) into.collectives.emplace_back();
    into.collectives[rows++] = calls;
    restart(calls);
  }
  into.collectives.resize(rows);

  const auto memory = totals.memory;
  const Bytes held = totals.memory_total.current;
  totals = {};
  for (std::size_t i = 0; i < memory_class_count; ++i)
    totals.memory[i] = {memory[i].current, memory[i].current};
  totals.memory_total = {held, held};
  window_.step_wall.clear();
  for (QuantileSketch& times : window_.pass_times) times.clear();
  for (LayerTotals& layer : window_.layers) layer.forward = layer.backward = layer.recompute = {};
  window_.steps.clear();
  window_.arrivals.clear();
  window_.first_step = window_.end_step;
  window_.begin = window_.end;
}

RankWindow RankRecorder::take_window() {
  RankWindow window;
  take_window(window);
  return window;
}

}  // namespace stepscope
