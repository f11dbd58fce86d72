// SPDX-License-Identifier: Apache-2.0
// The recorder that the training thread of a rank calls. A call takes a few ns in addition to
// reading the clock, takes no lock, and does not allocate after construction (except as prepare()
// describes). One thread owns a recorder. Data for other threads is taken as a window and passed
// on.
//
//   RankRecorder recorder(
//       {.rank = rank, .world = world, .units = names, .groups = {{"world", 8}}});
//   for (each step) {
//     { ActivityScope on(recorder, Activity::forward); … }
//     …
//     recorder.end_step(tokens, model_flops, executed_flops);
//   }
//   recorder.take_window(window);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/telemetry/activity.h"
#include "engine/telemetry/fast_clock.h"
#include "engine/telemetry/interval_union.h"
#include "engine/telemetry/rank_window.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

struct RecorderOptions {
  int rank = 0;
  int world = 1;
  std::vector<std::string> units{};       // names of the layers; layer() takes their index
  std::vector<CollectiveGroup> groups{};  // collective() takes their index
  std::size_t steps = 1024;               // kept between two windows; further steps are only summed
  std::size_t collectives = 16'384;       // the same for single collectives (56 bytes each)
  std::int64_t first_step = 0;
  Ns clock_offset{};  // job's clock minus this host's CLOCK_MONOTONIC
  ClockSource clock = ClockSource::automatic;
};

// A finished collective. Sizes are as in CollectiveTotals, instants CLOCK_MONOTONIC.
struct CollectiveRecord {
  CollectiveKind kind = CollectiveKind::none;
  CollectivePurpose purpose = CollectivePurpose::other;
  std::uint16_t group = 0;
  std::uint64_t sequence = 0;  // equal at all members
  Bytes bytes{};
  Bytes padding{};  // part of bytes
  Ns submitted{};
  std::optional<Ns> last_arrival{};  // of the latest member
  Ns finished{};
  Ns stall{};  // wait of the main thread for it
};

// A piece of the main thread's timeline.
struct ActivitySpan {
  Activity activity = Activity::other;
  Activity surrounding = Activity::other;  // as in StepRecord
  Ns begin{};
  Ns end{};
  bool operator==(const ActivitySpan&) const = default;
};

class RankRecorder {
 public:
  // Begins the first step with Activity::other.
  explicit RankRecorder(const RecorderOptions& options);
  RankRecorder(RankRecorder&&) noexcept = default;
  RankRecorder& operator=(RankRecorder&&) noexcept = default;
  RankRecorder(const RankRecorder&) = delete;  // a copy would lose its reserved memory
  RankRecorder& operator=(const RankRecorder&) = delete;
  ~RankRecorder() = default;

  // Switches the main thread to activity `next`. Returns the previous activity.
  Activity enter(Activity next) { return enter_at(next, clock_.now()); }
  // The same at an instant that was already read. An instant before the last one counts as the
  // last.
  Activity enter_at(Activity next, Ns now) {
    advance(now);
    const Activity before = current_;
    current_ = next;
    if (state_of(before) != state_of(next)) turn();
    return before;
  }
  [[nodiscard]] Ns now() const { return clock_.now(); }
  // Uses this clock from now on. With monotonic, instants of collectives from the same clock are
  // never later than now(), so the main thread's activity until then is known.
  void use_clock(ClockSource source) { clock_ = FastClock(source); }
  [[nodiscard]] bool uses_counter() const { return clock_.uses_counter(); }
  // From now on also lists the timeline in `log`, for a trace, as long as `log` has spare capacity;
  // it never grows. Null ends the listing; the activity until now is still listed.
  void log_activities(std::vector<ActivitySpan>* log) {
    advance(clock_.now());
    log_ = log;
  }

  void pass(TrainingPass pass, Ns duration, std::int64_t items) {
    PassTotals& totals = window_.totals.passes[slot(pass)];
    totals.time.add(duration);
    totals.items += items;
    window_.pass_times[slot(pass)].add(static_cast<double>(duration.count()));
  }
  // `run` is forward, backward or recompute.
  void layer(std::uint16_t unit, Activity run, Ns duration) {
    LayerTotals& totals = window_.layers[unit];
    (run == Activity::forward     ? totals.forward
     : run == Activity::recompute ? totals.recompute
                                  : totals.backward)
        .add(duration);
  }
  // Submission of a collective. It is in flight until collective() reports its end. Without this
  // call a collective that ends after the step overlaps with nothing in the step.
  void collective_submitted(std::uint16_t group, std::uint64_t sequence) {
    collective_submitted_at(clock_.now(), group, sequence);
  }
  void collective_submitted_at(Ns now, std::uint16_t group, std::uint64_t sequence) {
    if (pending_.size() < pending_.capacity()) pending_.push_back({now, sequence, group});
  }
  void collective(const CollectiveRecord& record);
  void transfer(TransferDirection direction, Bytes bytes, Ns begin, Ns end, bool parameters);
  void prefetch(PrefetchOutcome outcome, Bytes bytes, Ns stall, Ns service) {
    PrefetchTotals& totals = window_.totals.prefetch[slot(outcome)];
    ++totals.count;
    totals.bytes += bytes;
    totals.stall += stall;
    totals.service += service;
  }
  // Sets the current bytes of a class, and its peak since the last call.
  void memory(MemoryClass memory_class, Bytes current, Bytes peak);

  // Ends the step and begins the next one. The main thread's activity continues.
  void end_step(std::int64_t tokens, Flops model, Flops executed, bool skipped = false) {
    end_step_at(clock_.now(), tokens, model, executed, skipped);
    (void)clock_.discipline();
  }
  void end_step_at(Ns now, std::int64_t tokens, Flops model, Flops executed, bool skipped = false);

  // Reserves the quantiles of a kind, group and purpose (12 kB). Without this call, the first such
  // collective allocates them.
  void prepare(std::uint16_t group, CollectiveKind kind, CollectivePurpose purpose);

  // Takes the records since the last window and starts a new one. Call it right after end_step().
  // It reuses the memory of `into`: a window that is passed again needs no allocation once it is
  // large enough.
  void take_window(RankWindow& into);
  [[nodiscard]] RankWindow take_window();

  // The last finished step, e.g. for a progress line; absent before the first.
  [[nodiscard]] const std::optional<StepRecord>& last_step() const { return last_step_; }

 private:
  // The effect of an activity on communication in flight.
  enum class State : std::uint8_t { computing, waiting, transfer, io, other, loading };
  static constexpr std::size_t state_count = 6;
  using StateTimes = std::array<Ns, state_count>;
  static constexpr State state_of(Activity activity) {
    if (computes(activity)) return State::computing;
    switch (activity) {
      case Activity::wait_transfer:
        return State::transfer;
      case Activity::wait_io:
        return State::io;
      case Activity::data:
        return State::loading;
      case Activity::other:
        return State::other;
      default:
        return State::waiting;
    }
  }

  void advance(Ns now) {
    if (now < since_) now = since_;
    open_.activity[slot(current_)] += now - since_;
    surround(now - since_);
    spent_[slot(state_of(current_))] += now - since_;
    if (log_ != nullptr) log_piece(now);
    since_ = now;
  }
  // Books a piece of the current activity by what surrounds it.
  void surround(Ns piece) {
    if (current_ == Activity::other) {
      gap_ += piece;
      return;
    }
    const bool own = computes(current_) || current_ == Activity::data;
    const Activity before = std::exchange(around_, own ? current_ : around_);
    open_.surrounding[slot(before == around_ ? around_ : Activity::other)] += gap_;
    open_.surrounding[slot(around_)] += piece;
    gap_ = {};
  }
  void log_piece(Ns now);
  // Records a change of the main thread's state at since_.
  void turn() {
    turns_[turn_count_ % kept_turns] = {since_, state_of(current_), spent_};
    ++turn_count_;
  }
  [[nodiscard]] StateTimes spent_until(Ns t) const;
  [[nodiscard]] StateTimes spent_between(Ns from, Ns until) const;
  void under_way(Ns begin, Ns end);
  [[nodiscard]] Ns neither_computing_nor_loading(Ns from, Ns until) const;
  void complete(Ns begin, Ns end);
  void unknown(Ns begin, Ns end);
  void close_exposed();

  FastClock clock_;
  Activity current_ = Activity::other;
  Ns since_{};
  Activity around_ = Activity::other;  // the last activity of this step that is no wait
  Ns gap_{};                           // in Activity::other since then
  std::vector<ActivitySpan>* log_ = nullptr;
  StepRecord open_;
  std::optional<StepRecord> last_step_;
  RankWindow window_;  // its collectives are in slot order, some without calls
  // By group, kind, purpose: index in window_.collectives + 1; 0 = none yet.
  std::vector<std::uint16_t> slots_;
  CollectiveTotals& totals_of(const CollectiveRecord& record);
  static constexpr std::size_t kept_turns = 4096;
  StateTimes spent_{};  // since construction, until since_
  struct Turn {
    Ns at{};
    State state = State::other;  // state from this instant on
    StateTimes spent{};          // times until this instant
  };
  std::vector<Turn> turns_;  // ring of the last ones
  std::uint64_t turn_count_ = 0;
  struct Pending {
    Ns submitted{};
    std::uint64_t sequence = 0;
    std::uint16_t group = 0;
  };
  std::vector<Pending> pending_;
  IntervalUnion comm_;      // collectives in flight
  IntervalUnion complete_;  // those that had all their members
  // Those, and the ones with unknown arrivals. Absent before the first such, as both are equal
  // then.
  std::optional<IntervalUnion> complete_or_unknown_;
  // For the open step.
  Ns waiting_in_flight_{};
  Ns exposed_complete_or_unknown_{};
  std::array<IntervalUnion, transfer_direction_count> busy_{};
  Ns comm_taken_{};  // covered time at the last window
  std::array<Ns, transfer_direction_count> busy_taken_{};
};

// Sets `activity` until the end of its scope, then restores the previous one.
class ActivityScope {
 public:
  ActivityScope(RankRecorder& recorder, Activity activity)
      : recorder_(recorder), before_(recorder.enter(activity)) {}
  ~ActivityScope() { recorder_.enter(before_); }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  RankRecorder& recorder_;
  Activity before_;
};

}  // namespace stepscope
