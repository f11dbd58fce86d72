// SPDX-License-Identifier: Apache-2.0
// The records of one rank in a range of steps, as raw facts: times, counts, bytes. Ratios are not
// stored; efficiency.h and others compute them from sums. concat() joins windows of one rank that
// follow one another in time. gather() (job_window.h) joins windows of several ranks over the same
// steps into another type.
//
// All instants are CLOCK_MONOTONIC of the rank's host. clock_offset converts them to the job's
// clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/telemetry/activity.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/stats/quantile_sketch.h"

namespace stepscope {

using ActivityTimes = std::array<Ns, activity_count>;

// Communication that no computation hides, as in the time budget of a trace. A collective is in
// flight, or the main thread waits for one, while the thread computes nothing and loads no data.
struct ExposedTime {
  Ns transfer{};  // a collective in flight has all its members
  Ns unsplit{};   // else: the arrivals of one in flight are unknown
  Ns wait{};      // else: a member has not arrived yet
  // Parts of these in which the main thread did other things than wait for a collective.
  Ns during_transfer{};  // wait_transfer
  Ns during_io{};        // wait_io
  Ns during_other{};     // other
  [[nodiscard]] Ns sum() const { return transfer + unsplit + wait; }
  ExposedTime& operator+=(const ExposedTime& more);
  bool operator==(const ExposedTime&) const = default;
};

// One step, from the end of the step before to its own end. It includes data loading, logging and
// checkpoints.
struct StepRecord {
  std::int64_t index = 0;
  Ns begin{};
  Ns end{};
  ActivityTimes activity{};  // sums to end - begin, exactly
  // The same time by what surrounds it: a wait belongs to the computation before it. Only the
  // computing activities, data and other. Time in `other` between a piece of an activity and
  // more of it, or a wait that belongs to it, belongs to that activity.
  ActivityTimes surrounding{};
  std::int64_t tokens = 0;  // trained on this rank
  Flops model_flops{};      // of this rank's tokens, without recomputation
  Flops executed_flops{};   // includes recomputation
  // Part of the computing activities during which a collective of this rank is in flight.
  Ns overlapped{};
  ExposedTime exposed{};
  bool skipped = false;  // its update was skipped (NaN, overflow)
  bool operator==(const StepRecord&) const = default;
};

struct Durations {
  std::uint64_t count = 0;
  Ns total{};
  Ns min{};  // of at least one
  Ns max{};
  void add(Ns duration) {
    if (count == 0 || duration < min) min = duration;
    if (count == 0 || duration > max) max = duration;
    ++count;
    total += duration;
  }
  void merge(const Durations& other);
  bool operator==(const Durations&) const = default;
};

// Whole passes, including waits inside them. `items` are tokens, or parameters (optimizer).
struct PassTotals {
  Durations time{};
  std::int64_t items = 0;
  bool operator==(const PassTotals&) const = default;
};

// A call of record_layer is one run of the layer. The engine reports all work on a layer's
// parameters in one pass as one run, so that its means are means of a pass.
struct LayerTotals {
  std::string name{};
  Durations forward{};
  Durations backward{};
  Durations recompute{};  // forward again, within the backward pass; not part of `backward`
  bool operator==(const LayerTotals&) const = default;
};

// A communicator group. The name identifies the group in the job: equal at all its members and
// unique to the group.
struct CollectiveGroup {
  std::string name{};
  int size = 0;
  bool several = false;  // groups of this size without a name: nothing distinguishes them
  bool operator==(const CollectiveGroup&) const = default;
};

// Calls of one kind in one group for one purpose, as this rank saw them. Message size S as in
// nccl-tests: for all-gather a rank's output, for reduce-scatter its input, else its buffer.
// Sizes are kept as they were, and bus_bytes() is taken of their sums.
struct CollectiveTotals {
  std::uint16_t group = 0;  // index in RankWindow::groups
  CollectiveKind kind = CollectiveKind::none;
  CollectivePurpose purpose = CollectivePurpose::other;
  std::uint64_t calls = 0;
  Bytes bytes{};    // S, padding included
  Bytes padding{};  // part of it
  Ns time{};        // from submission to end
  Ns stall{};       // waits of the main thread for them
  // Only calls whose last arrival is known: their S; end - last arrival; the wait for the last
  // rank, and the main thread's part of that wait.
  std::uint64_t timed_calls = 0;
  Bytes timed_bytes{};
  Ns transfer{};
  Ns peer_wait{};
  Ns peer_stall{};
  QuantileSketch durations{};  // from submission to end, in ns
};

// S × busbw_factor (base/collective_kind.h) in whole bytes, rounded once; 0 for kinds without it.
[[nodiscard]] Bytes bus_bytes(CollectiveKind kind, int group_size, Bytes size);

// The part of a call's stall in which a member had not arrived yet. The main thread waits at the
// end of a call: its stall is the last part of it.
[[nodiscard]] constexpr Ns peer_stall(Ns last_arrival, Ns finished, Ns stall) {
  return std::clamp(last_arrival - (finished - stall), Ns{}, std::max(stall, Ns{}));
}

struct TransferTotals {
  std::uint64_t calls = 0;
  Bytes bytes{};
  Ns time{};  // sum of durations
  Ns busy{};  // at least one in flight
  std::uint64_t parameter_calls = 0;
  Bytes parameter_bytes{};
  Ns parameter_time{};
  bool operator==(const TransferTotals&) const = default;
};

struct PrefetchTotals {
  std::uint64_t count = 0;
  Bytes bytes{};
  Ns stall{};    // wait when needed
  Ns service{};  // from launch to arrival
  bool operator==(const PrefetchTotals&) const = default;
};

struct MemoryTotals {
  Bytes current{};
  Bytes peak{};
  bool operator==(const MemoryTotals&) const = default;
};

enum class TrainingPass : std::uint8_t { forward, backward, optimizer };
inline constexpr std::size_t pass_count = 3;
inline constexpr std::array<std::string_view, pass_count> training_pass_names = {
    "forward", "backward", "optimizer"};

// Sums over all steps of a window.
struct RankTotals {
  std::int64_t steps = 0;
  std::int64_t skipped_steps = 0;
  Ns wall{};
  Ns skipped_wall{};
  ActivityTimes activity{};  // sums to wall
  Ns overlapped{};           // as in StepRecord
  ExposedTime exposed{};     // as in StepRecord
  std::int64_t tokens = 0;
  Flops model_flops{};
  Flops executed_flops{};
  std::array<PassTotals, pass_count> passes{};
  Ns comm_in_flight{};  // at least one collective in flight
  std::array<TransferTotals, transfer_direction_count> transfers{};
  std::array<PrefetchTotals, prefetch_outcome_count> prefetch{};
  std::array<MemoryTotals, memory_class_count> memory{};
  MemoryTotals memory_total{};         // peak of the sum, not sum of peaks
  Ns beyond_wall{};                    // manually recorded durations that exceed their steps
  std::uint64_t arrivals_dropped = 0;  // over the recorder's capacity
  bool operator==(const RankTotals&) const = default;
};

// One collective, to find late ranks (straggler.h).
struct Arrival {
  std::uint16_t group = 0;
  CollectiveKind kind = CollectiveKind::none;
  CollectivePurpose purpose = CollectivePurpose::other;
  bool timed = false;  // one of CollectiveTotals::timed_calls
  std::uint64_t sequence = 0;
  std::int64_t step = 0;
  Ns submitted{};
  Ns finished{};
  Ns stall{};
  bool operator==(const Arrival&) const = default;
};

struct RankWindow {
  int rank = 0;
  int world = 1;
  std::int64_t first_step = 0;
  std::int64_t end_step = 0;  // the last step + 1
  Ns begin{};
  Ns end{};
  Ns clock_offset{};     // the job's clock minus this one
  bool by_hand = false;  // of a trainer's durations, which show no skipped step
  RankTotals totals{};
  QuantileSketch step_wall{};                           // ns
  std::array<QuantileSketch, pass_count> pass_times{};  // ns, by TrainingPass
  std::vector<CollectiveGroup> groups{};
  std::vector<CollectiveTotals> collectives{};  // by group, kind, purpose; only those with calls
  std::vector<LayerTotals> layers{};
  std::vector<StepRecord> steps{};  // ascending; all of totals.steps, unless folded
  std::vector<Arrival> arrivals{};  // in the order of their ends

  [[nodiscard]] bool empty() const { return first_step == end_step && begin == end; }
};

// Appends the later window to the earlier one. Errors: windows of different ranks; windows that
// overlap in steps or time. An empty window is the identity.
[[nodiscard]] Result<RankWindow> concat(const RankWindow& earlier, const RankWindow& later);
// The same in place, without copying the earlier window. On an error it does not change.
[[nodiscard]] Result<Done> append(RankWindow& earlier, const RankWindow& later);

// Adds sums of the same rank or of the same kind. The later one's current memory is used.
void add_totals(RankTotals& sum, const RankTotals& later);
void add_totals(CollectiveTotals& sum, const CollectiveTotals& other);
void add_totals(PrefetchTotals& sum, const PrefetchTotals& other);
void add_totals(TransferTotals& sum, const TransferTotals& other);
[[nodiscard]] Ns sum(const ActivityTimes& times);
// Forward, backward, recompute and optimizer; the three waits for collectives.
[[nodiscard]] Ns computing_time(const ActivityTimes& times);
[[nodiscard]] Ns collective_wait_time(const ActivityTimes& times);
// Whether an activity is one of the first four.
[[nodiscard]] constexpr bool computes(Activity activity) { return activity <= Activity::optimizer; }

}  // namespace stepscope
