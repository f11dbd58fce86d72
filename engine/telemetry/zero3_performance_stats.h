// SPDX-License-Identifier: Apache-2.0
// The performance statistics of a ZeRO-3 trainer as one object: a view of a JobWindow. Trainers
// without a RankRecorder can fill one with durations that they measure. All figures are computed
// from the window's raw sums; a figure that the window cannot give is absent.
//
//   Zero3PerformanceStats stats(rank, world);
//   …                                    // each step:
//   if (auto done = stats.record_forward_pass(forward, tokens); !done) return done.error();
//   …  record_backward_pass(backward, tokens), record_gradient_sync(sync, elements, world)
//   if (auto done = stats.record_optimizer_step(update, parameters); !done) …  // ends the step
//   stats.tokens_per_second();
//
// A record that cannot be true is an error (ErrorCode::refused) and changes nothing: a negative
// duration, count or size, a wait longer than the call, a group larger than the world. An object of
// several ranks takes no records: each rank records in its own, and a copy is merged.
//
// docs/reference/zero3-statistics.md compares each definition with the usual one. For one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/telemetry/efficiency.h"
#include "engine/telemetry/fast_clock.h"
#include "engine/telemetry/interval_union.h"
#include "engine/telemetry/job_window.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope {

using CommunicationOperation = CollectiveKind;

// The runs of one layer, over all ranks. A call of record_layer_execution() is one run; the engine
// reports one for each pass of a micro-batch (LayerTotals), so that the mean is that of a pass.
struct LayerTimingStats {
  std::uint64_t forward_count = 0;
  std::uint64_t backward_count = 0;
  std::uint64_t recompute_count = 0;  // forward again in backward; not part of backward
  Ns total_forward_time{};
  Ns total_backward_time{};
  Ns total_recompute_time{};
  std::optional<Ns> average_forward_time{};
  std::optional<Ns> average_backward_time{};
  std::optional<Ns> average_recompute_time{};
  std::optional<Ns> min_forward_time{};
  std::optional<Ns> max_forward_time{};
  std::optional<Ns> min_backward_time{};
  std::optional<Ns> max_backward_time{};
  std::optional<Ns> min_recompute_time{};
  std::optional<Ns> max_recompute_time{};
  int slowest_rank = 0;  // with the longest single run
};

// The passes of one kind, over all ranks. The quantile q of n times is the time of rank
// floor(q (n - 1)) in ascending order, within 1 % (stats/quantile_sketch.h): of one time every
// quantile is that time, of 2 to 101 times p99 is the second longest, within 1 %. Absent without
// passes.
struct PassTimes {
  std::uint64_t count = 0;
  std::int64_t items = 0;  // tokens, or parameters (optimizer)
  Ns total{};
  std::optional<Ns> mean{};
  std::optional<Ns> min{};
  std::optional<Ns> p50{};
  std::optional<Ns> p90{};
  std::optional<Ns> p99{};
  std::optional<Ns> max{};
};

struct PerformanceSummary {
  int ranks = 0;
  std::uint64_t forward_passes = 0;
  std::uint64_t backward_passes = 0;
  std::uint64_t optimizer_steps = 0;
  Ns total_forward_time{};  // mean over ranks, like the four below
  Ns total_backward_time{};
  Ns total_optimizer_time{};
  Ns parameter_transfer_time{};
  Ns gradient_sync_time{};
  std::array<PassTimes, pass_count> passes{};  // by TrainingPass
  ActivityTimes budget{};                      // device time of all ranks; sums to rank_wall
  Ns rank_wall{};
  Ns beyond_wall{};  // manually recorded durations that exceed their steps, left out of the budget
  std::map<std::string, LayerTimingStats, std::less<>> layers{};
  ThroughputMetrics throughput{};
  MemoryTransferMetrics memory_transfers{};
  CommunicationStats communication{};
  OptimizationEfficiency efficiency{};
  std::array<MemoryTotals, memory_class_count> memory_most{};  // maximum over ranks
  std::optional<MemoryTotals> memory_total_most{};             // absent: no memory was reported
  ReferenceRates references{};  // that the efficiencies are relative to
};

class Zero3PerformanceStats {
 public:
  using Clock = Ns (*)();
  // The statistics of one rank. The first step begins now.
  explicit Zero3PerformanceStats(int rank = 0, int world = 1, Clock clock = host_now);
  // From windows of recorders, gathered or not. Recording continues if they are of one rank.
  explicit Zero3PerformanceStats(JobWindow window, Clock clock = host_now);

  // The job's clock minus this host's. Ranks of several hosts need it before they are merged.
  void set_clock_offset(Ns offset);

  // Durations that a trainer measured, reported when they are over. They exclude one another: a
  // forward pass is without the waits that are recorded separately. `num_tokens` counts tokens, not
  // elements.
  Result<Done> record_forward_pass(Ns duration, std::int64_t num_tokens);
  Result<Done> record_backward_pass(Ns duration, std::int64_t num_tokens);
  // Ends the step. Its wall time beyond the recorded durations is Activity::other.
  Result<Done> record_optimizer_step(Ns duration, std::int64_t num_params);
  Result<Done> record_layer_execution(std::string_view layer_name, Ns duration);
  Result<Done> record_layer_backward(std::string_view layer_name, Ns duration);
  Result<Done> record_layer_recompute(std::string_view layer_name, Ns duration);
  // The main thread waited for the whole transfer, or for `stall`.
  Result<Done> record_parameter_transfer(Ns duration, Bytes bytes, TransferDirection direction,
                                         std::optional<Ns> stall = std::nullopt);
  struct CommunicationDetail {
    int group_size = 0;  // 0: the world
    CollectivePurpose purpose = CollectivePurpose::other;
    std::optional<Ns> stall{};  // of the main thread; absent: the whole duration
    // From the call to the last rank's call. Absent: known once all members are merged.
    std::optional<Ns> waited_for_peers{};
    // The group's own name, equal at its members. Each member records each of its calls. Groups
    // without a name, smaller than the world, are not distinguished, and nobody is late in them.
    std::string_view group{};
  };
  // `num_gradients` elements of `type`, reduce-scattered (stages 2, 3) or all-reduced. Their
  // purpose is gradients.
  Result<Done> record_gradient_sync(Ns duration, std::int64_t num_gradients, int world_size,
                                    ElementType type, CommunicationOperation operation,
                                    CommunicationDetail detail);
  Result<Done> record_gradient_sync(
      Ns duration, std::int64_t num_gradients, int world_size, ElementType type = ElementType::f32,
      CommunicationOperation operation = CollectiveKind::reduce_scatter) {
    return record_gradient_sync(duration, num_gradients, world_size, type, operation,
                                CommunicationDetail{});
  }
  // `bytes` as in CollectiveTotals.
  Result<Done> record_communication(CommunicationOperation operation, Ns duration, Bytes bytes,
                                    const CommunicationDetail& detail);
  Result<Done> record_communication(CommunicationOperation operation, Ns duration, Bytes bytes) {
    return record_communication(operation, duration, bytes, CommunicationDetail{});
  }
  // For the current step, used for MFU. Executed FLOPs include the model's.
  Result<Done> record_flops(Flops model, Flops executed);
  // Ends the step in loops without an optimizer step.
  Result<Done> end_step();

  // The thirteen members. Total times of several ranks are their mean; over_ranks() has the
  // distribution. Layers, transfers and collectives are summed over ranks.
  [[nodiscard]] std::uint64_t forward_passes() const;
  [[nodiscard]] std::uint64_t backward_passes() const;
  [[nodiscard]] std::uint64_t optimizer_steps() const;
  [[nodiscard]] Ns total_forward_time() const;
  [[nodiscard]] Ns total_backward_time() const;
  [[nodiscard]] Ns total_optimizer_time() const;
  [[nodiscard]] Ns parameter_transfer_time() const;
  [[nodiscard]] Ns gradient_sync_time() const;  // from submission to end, overlapped or not
  [[nodiscard]] std::map<std::string, LayerTimingStats, std::less<>> layer_timings() const;
  [[nodiscard]] ThroughputMetrics throughput_metrics() const { return throughput(window_); }
  [[nodiscard]] MemoryTransferMetrics memory_transfer_metrics() const {
    return memory_transfers(window_, references_);
  }
  [[nodiscard]] CommunicationStats communication_stats() const {
    return communication(window_, references_);
  }
  [[nodiscard]] OptimizationEfficiency optimization_efficiency() const {
    return stepscope::optimization_efficiency(window_, references_);
  }

  [[nodiscard]] PassTimes pass_times(TrainingPass pass) const;
  [[nodiscard]] std::optional<Ns> average_forward_time() const;
  [[nodiscard]] std::optional<Ns> average_backward_time() const;
  [[nodiscard]] std::optional<Ns> average_optimizer_time() const;
  // Tokens of all ranks / the whole wall time of the job.
  [[nodiscard]] std::optional<double> tokens_per_second() const;
  [[nodiscard]] std::optional<double> memory_bandwidth_gb_per_s() const;  // GB = 1e9 bytes
  [[nodiscard]] std::optional<double> communication_efficiency() const;
  [[nodiscard]] std::optional<double> training_efficiency() const;  // MFU
  [[nodiscard]] PerformanceSummary performance_summary() const;

  // Drops all records and begins a step.
  void reset();
  // gather(): adds the ranks of another, after which this object takes no records until reset().
  // Errors: a rank that is already here; ranks over other steps, or never in them at the same time.
  // On an error this object does not change.
  [[nodiscard]] Result<Done> merge(const Zero3PerformanceStats& other);

  // References for efficiencies: peaks and links, measured by the caller. Groups have the names
  // "world" and "group of N", or a name with which a call was recorded. Errors: a group that this
  // job cannot have; a peak or a rate that is not above 0.
  Result<Done> set_references(ReferenceRates references);
  [[nodiscard]] const JobWindow& window() const { return window_; }

 private:
  RankWindow& own();
  [[nodiscard]] std::optional<Error> several_ranks() const;
  [[nodiscard]] std::optional<Error> not_a_group(std::string_view name, int size) const;
  LayerTotals& layer(std::string_view name);
  void add_pass(TrainingPass kind, Ns duration, std::int64_t items);
  void claim(Activity activity, Ns duration);

  Clock clock_;
  int rank_ = 0;
  int world_ = 1;
  Ns clock_offset_{};
  JobWindow window_;
  ReferenceRates references_;
  StepRecord open_;
  // The next number of each group's collectives. Messages between two ranks are not
  // numbered: the other members of the group do not take part.
  std::map<std::string, std::uint64_t, std::less<>> sequences_;
  IntervalUnion comm_;
  std::array<IntervalUnion, transfer_direction_count> busy_{};
};

}  // namespace stepscope
