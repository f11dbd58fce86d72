// SPDX-License-Identifier: Apache-2.0
// The job's account while it trains: all ranks share now and then what they recorded, and rank 0
// keeps it, names who is late, and publishes metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/telemetry/efficiency.h"
#include "engine/telemetry/job_window.h"
#include "engine/telemetry/openmetrics.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/telemetry/straggler.h"
#include "engine/train/train_progress.h"
#include "engine/zero/engine/engine.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/metrics/metrics_output.h"

namespace stepscope {

class TrainAccount {
 public:
  // All outlive it.
  TrainAccount(zero::Engine& engine, RankRecorder& recorder, int rank, int world,
               const TrainProgress& progress);

  // Rank 0: opens where metrics go, and notes a port. Error: the port is taken, the file cannot be
  // written.
  [[nodiscard]] Result<Done> open_metrics(const std::string& text, const std::string& token_file);
  void set_references(const ReferenceRates& references) { references_ = references; }

  // Whether this rank finds that it is time to share: rank 0 once a second, or a rank whose
  // recorder fills up.
  [[nodiscard]] bool due() const;
  // What was recorded since the last time goes to rank 0; all ranks call it, between two steps, or
  // after the last one when the engine has settled: what is still under way counts the next time.
  // `gauges`: what the recorder does not know, for the metrics.
  [[nodiscard]] Result<Done> share(std::vector<ExtraGauge> gauges);

  // The window of rank 0: every step that was shared, with its records; arrivals are not kept.
  [[nodiscard]] const JobWindow& run() const { return run_; }
  // Over the last ten steps or more: who is persistently late now.
  [[nodiscard]] const std::vector<PersistentStraggler>& late_now() const { return late_now_; }

 private:
  [[nodiscard]] Result<JobWindow> decode(std::size_t each) const;
  [[nodiscard]] Result<Done> keep(JobWindow stretch, std::vector<ExtraGauge> gauges);
  void look_for_late();
  void publish(std::vector<ExtraGauge> gauges);

  zero::Engine& engine_;
  RankRecorder& recorder_;
  int rank_;
  int world_;
  const TrainProgress& progress_;
  std::unique_ptr<MetricsOutput> metrics_;
  ReferenceRates references_;
  RankWindow own_;
  std::vector<std::byte> own_bytes_;
  std::vector<std::byte> all_bytes_;
  Ns shared_at_{};
  std::int64_t shared_steps_ = 0;  // of the engine
  JobWindow run_;
  JobWindow folded_;              // the same without its single steps, for the metrics
  std::deque<JobWindow> recent_;  // the last stretches, of ten steps or more
  std::vector<PersistentStraggler> late_now_;
};

}  // namespace stepscope
