// SPDX-License-Identifier: Apache-2.0
// What one rank did in a range of steps, as raw facts: times, counts, bytes. No ratio is stored;
// throughput.h, efficiency.h and the others compute them from sums. Windows of one rank follow each
// other in time: concat(). Windows of several ranks over the same steps stand side by side:
// gather() (job_window.h), another operation on another type.
//
// All instants are CLOCK_MONOTONIC of the rank's host; clock_offset makes them the job's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/stats/quantile_sketch.h"
#include "stepscope/telemetry/activity.h"

namespace stepscope {

using ActivityTimes = std::array<Ns, activity_count>;

// Communication that no computing hides, as the time budget of a trace counts it: a collective is
// under way, or the main thread waits for one, while that computes nothing and loads no data.
struct ExposedTime {
  Ns transfer{};  // one that is under way has all its members
  Ns unsplit{};   // else: of one it is not known
  Ns wait{};      // else: a member has not called yet
  // Parts of these in which the main thread did something else than wait for a collective.
  Ns during_transfer{};  // wait_transfer
  Ns during_io{};        // wait_io
  Ns during_other{};     // other
  [[nodiscard]] Ns sum() const { return transfer + unsplit + wait; }
  ExposedTime& operator+=(const ExposedTime& more);
  bool operator==(const ExposedTime&) const = default;
};

// One step: from the end of the one before to its own end, so that loading data, logging and
// checkpoints are inside.
struct StepRecord {
  std::int64_t index = 0;
  Ns begin{};
  Ns end{};
  ActivityTimes activity{};  // sums to end - begin, exactly
  std::int64_t tokens = 0;   // that this rank trained on
  Flops model_flops{};       // of this rank's tokens, without recomputation
  Flops executed_flops{};    // with it
  // Part of the computing activities with a collective of this rank under way.
  Ns overlapped{};
  ExposedTime exposed{};
  bool skipped = false;  // its update was not applied (NaN, overflow)
  bool operator==(const StepRecord&) const = default;
};

struct Durations {
  std::uint64_t count = 0;
  Ns total{};
  Ns min{};  // of one or more
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

// Passes as a whole, waits inside them included; `items` are tokens, or parameters (optimizer).
struct PassTotals {
  Durations time{};
  std::int64_t items = 0;
  bool operator==(const PassTotals&) const = default;
};

struct LayerTotals {
  std::string name{};
  Durations forward{};
  Durations backward{};
  bool operator==(const LayerTotals&) const = default;
};

// A communicator group. The name is the group's identity in the job: the same at all its members,
// and no other group's.
struct CollectiveGroup {
  std::string name{};
  int size = 0;
  bool operator==(const CollectiveGroup&) const = default;
};

// Calls of one kind in one group and for one purpose, as this rank saw them. Message size S as in
// nccl-tests: of all-gather what a rank has afterwards, of reduce-scatter what it had before, else
// its buffer. bus_bytes = S × busbw_factor (base/collective_kind.h), whole bytes.
struct CollectiveTotals {
  std::uint16_t group = 0;  // of RankWindow::groups
  CollectiveKind kind = CollectiveKind::none;
  CollectivePurpose purpose = CollectivePurpose::other;
  std::uint64_t calls = 0;
  Bytes bytes{};    // S, padding included
  Bytes padding{};  // part of it
  Bytes bus_bytes{};
  Ns time{};   // submitted to finished
  Ns stall{};  // that the main thread waited for them
  // Only of calls whose last arrival is known: finished - last arrival; what was moved in that
  // time; how long they waited for the last rank, and how much of that the main thread did.
  std::uint64_t timed_calls = 0;
  Bytes timed_bus_bytes{};
  Ns transfer{};
  Ns peer_wait{};
  Ns peer_stall{};
  QuantileSketch durations{};  // submitted to finished, ns
};

struct TransferTotals {
  std::uint64_t calls = 0;
  Bytes bytes{};
  Ns time{};  // sum of durations
  Ns busy{};  // at least one under way
  std::uint64_t parameter_calls = 0;
  Bytes parameter_bytes{};
  Ns parameter_time{};
  bool operator==(const TransferTotals&) const = default;
};

struct PrefetchTotals {
  std::uint64_t count = 0;
  Bytes bytes{};
  Ns stall{};    // waited for when needed
  Ns service{};  // launch to arrival
  bool operator==(const PrefetchTotals&) const = default;
};

struct MemoryTotals {
  Bytes current{};
  Bytes peak{};
  bool operator==(const MemoryTotals&) const = default;
};

enum class TrainingPass : std::uint8_t { forward, backward, optimizer };
inline constexpr std::size_t pass_count = 3;

// Sums over all steps of a window.
struct RankTotals {
  std::int64_t steps = 0;
  std::int64_t skipped_steps = 0;
  Ns wall{};
  Ns skipped_wall{};
  ActivityTimes activity{};  // sums to wall
  Ns overlapped{};           // as in StepRecord
  ExposedTime exposed{};     // likewise
  std::int64_t tokens = 0;
  Flops model_flops{};
  Flops executed_flops{};
  std::array<PassTotals, pass_count> passes{};
  Ns comm_in_flight{};  // at least one collective under way
  std::array<TransferTotals, transfer_direction_count> transfers{};
  std::array<PrefetchTotals, prefetch_outcome_count> prefetch{};
  std::array<MemoryTotals, memory_class_count> memory{};
  MemoryTotals memory_total{};  // the peak of the sum, not the sum of peaks
  Ns beyond_wall{};             // durations recorded by hand that did not fit into their steps
  std::uint64_t arrivals_dropped = 0;  // beyond the recorder's capacity
  bool operator==(const RankTotals&) const = default;
};

// One collective, for who came late (straggler.h).
struct Arrival {
  std::uint16_t group = 0;
  CollectiveKind kind = CollectiveKind::none;
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
  std::int64_t end_step = 0;  // one after the last
  Ns begin{};
  Ns end{};
  Ns clock_offset{};
  RankTotals totals{};
  QuantileSketch step_wall{};  // ns
  std::vector<CollectiveGroup> groups{};
  std::vector<CollectiveTotals> collectives{};  // by group, kind, purpose; those with calls
  std::vector<LayerTotals> layers{};
  std::vector<StepRecord> steps{};  // ascending; all of totals.steps, unless folded
  std::vector<Arrival> arrivals{};  // in the order of their ends

  [[nodiscard]] bool empty() const { return first_step == end_step && begin == end; }
};

// The later window appended to the earlier one. Refuses windows of different ranks and windows that
// overlap in steps or time. An empty window is the identity.
[[nodiscard]] Result<RankWindow> concat(const RankWindow& earlier, const RankWindow& later);
// The same in place, without copying the earlier one. Where it refuses, that one is as it was.
[[nodiscard]] Result<Done> append(RankWindow& earlier, const RankWindow& later);

// Adds sums of the same rank, or of what is alike; the later one's current memory stands.
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
