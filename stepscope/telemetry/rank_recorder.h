// SPDX-License-Identifier: Apache-2.0
// What the training thread of a rank calls while it trains: a few ns each besides reading the
// clock, no lock, and no allocation after construction (but see prepare()). One thread owns a
// recorder; what other threads should see is taken as a window and handed over.
//
//   RankRecorder recorder({.rank = rank, .world = world, .units = names, .groups = {{"world",
//   8}}}); for (each step) {
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
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/telemetry/activity.h"
#include "stepscope/telemetry/fast_clock.h"
#include "stepscope/telemetry/interval_union.h"
#include "stepscope/telemetry/rank_window.h"

namespace stepscope {

struct RecorderOptions {
  int rank = 0;
  int world = 1;
  std::vector<std::string> units{};       // names of the layers; layer() takes their numbers
  std::vector<CollectiveGroup> groups{};  // collective() takes their numbers
  std::size_t steps = 1024;               // kept between two windows; what is beyond is only summed
  std::size_t collectives = 16'384;       // likewise, of single collectives (56 bytes each)
  std::int64_t first_step = 0;
  Ns clock_offset{};  // job's clock less this host's CLOCK_MONOTONIC
  ClockSource clock = ClockSource::automatic;
};

// One finished collective; sizes as CollectiveTotals counts them. Instants are CLOCK_MONOTONIC.
struct CollectiveRecord {
  CollectiveKind kind = CollectiveKind::none;
  CollectivePurpose purpose = CollectivePurpose::other;
  std::uint16_t group = 0;
  std::uint64_t sequence = 0;  // the same at all members
  Bytes bytes{};
  Bytes padding{};  // part of bytes
  Ns submitted{};
  std::optional<Ns> last_arrival{};  // of the latest member
  Ns finished{};
  Ns stall{};  // that the main thread waited for it
};

// A piece of the main thread's time line.
struct ActivitySpan {
  Activity activity = Activity::other;
  Ns begin{};
  Ns end{};
  bool operator==(const ActivitySpan&) const = default;
};

class RankRecorder {
 public:
  // The first step begins here, with Activity::other.
  explicit RankRecorder(const RecorderOptions& options);
  RankRecorder(RankRecorder&&) noexcept = default;
  RankRecorder& operator=(RankRecorder&&) noexcept = default;
  RankRecorder(const RankRecorder&) = delete;  // a copy would lose the memory that was set aside
  RankRecorder& operator=(const RankRecorder&) = delete;
  ~RankRecorder() = default;

  // The main thread does `next` from now on. Returns what it did before.
  Activity enter(Activity next) { return enter_at(next, clock_.now()); }
  // The same at an instant that was read already; an instant before the last one counts as that.
  Activity enter_at(Activity next, Ns now) {
    advance(now);
    const Activity before = current_;
    current_ = next;
    if (state_of(before) != state_of(next)) turn();
    return before;
  }
  [[nodiscard]] Ns now() const { return clock_.now(); }
  // Reads this clock from now on. With monotonic, instants of collectives that the same clock gave
  // are never later than now(), so that what the main thread did until then is known.
  void use_clock(ClockSource source) { clock_ = FastClock(source); }
  [[nodiscard]] bool uses_counter() const { return clock_.uses_counter(); }
  // From now on the time line is also listed, for a trace, as long as `log` has capacity left: it
  // is never made larger. Null: no longer; what went on until then is listed.
  void log_activities(std::vector<ActivitySpan>* log) {
    advance(clock_.now());
    log_ = log;
  }

  void pass(TrainingPass pass, Ns duration, std::int64_t items) {
    PassTotals& totals = window_.totals.passes[slot(pass)];
    totals.time.add(duration);
    totals.items += items;
  }
  void layer(std::uint16_t unit, bool backward, Ns duration) {
    LayerTotals& totals = window_.layers[unit];
    (backward ? totals.backward : totals.forward).add(duration);
  }
  // Submitted: it counts as under way until collective() tells of its end. Without this call a
  // collective that lasts beyond the end of a step overlaps with nothing of that step.
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
  // A class now holds `current`, and held `peak` at most since it was last said.
  void memory(MemoryClass memory_class, Bytes current, Bytes peak);

  // The step ends here and the next one begins. What the main thread does goes on.
  void end_step(std::int64_t tokens, Flops model, Flops executed, bool skipped = false) {
    end_step_at(clock_.now(), tokens, model, executed, skipped);
    (void)clock_.discipline();
  }
  void end_step_at(Ns now, std::int64_t tokens, Flops model, Flops executed, bool skipped = false);

  // The first collective of a kind, group and purpose takes memory for its quantiles (12 kB),
  // unless it was announced here.
  void prepare(std::uint16_t group, CollectiveKind kind, CollectivePurpose purpose);

  // What was recorded since the last window, which starts anew. Call it right after end_step().
  // Uses the memory that `into` has: a window that is passed again needs no allocation once it has
  // been as large.
  void take_window(RankWindow& into);
  [[nodiscard]] RankWindow take_window();

  // The last finished step, e.g. for a progress line; absent before the first.
  [[nodiscard]] const std::optional<StepRecord>& last_step() const { return last_step_; }

 private:
  // What an activity means for communication that is under way meanwhile.
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
    spent_[slot(state_of(current_))] += now - since_;
    if (log_ != nullptr) log_piece(now);
    since_ = now;
  }
  void log_piece(Ns now);
  // The main thread's state changed at since_.
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
  std::vector<ActivitySpan>* log_ = nullptr;
  StepRecord open_;
  std::optional<StepRecord> last_step_;
  RankWindow window_;  // its collectives in the order of slots, some without calls
  struct Slot {
    std::uint16_t at = 0;  // of window_.collectives, + 1; 0 = none yet
    double bus_factor = 0;
  };
  std::vector<Slot> slots_;  // by group, kind, purpose
  Slot& slot_of(const CollectiveRecord& record);
  static constexpr std::size_t kept_turns = 4096;
  StateTimes spent_{};  // since construction, until since_
  struct Turn {
    Ns at{};
    State state = State::other;  // from then on
    StateTimes spent{};          // until then
  };
  std::vector<Turn> turns_;  // the last ones, a ring
  std::uint64_t turn_count_ = 0;
  struct Pending {
    Ns submitted{};
    std::uint64_t sequence = 0;
    std::uint16_t group = 0;
  };
  std::vector<Pending> pending_;
  IntervalUnion comm_;      // collectives under way
  IntervalUnion complete_;  // those of them that had all their members
  // Those, and the ones of which it is not known: absent before the first such, being the same.
  std::optional<IntervalUnion> complete_or_unknown_;
  // Of the open step.
  Ns waiting_in_flight_{};
  Ns exposed_complete_or_unknown_{};
  std::array<IntervalUnion, transfer_direction_count> busy_{};
  Ns comm_taken_{};  // covered when the last window was taken
  std::array<Ns, transfer_direction_count> busy_taken_{};
};

// Does `activity` until the end of its scope, then what was done before.
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
