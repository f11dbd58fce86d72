// SPDX-License-Identifier: Apache-2.0
// The facts in a training job's log beyond its step times: throughput, loss, memory, permanent
// changes of the step time, and the tools' own timers and tables with their known faults corrected.
// Figures "of the steps" are medians over the records after the warm-up and the last change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/event/job_log.h"  // IWYU pragma: export
#include "stepscope/stats/drift.h"    // IWYU pragma: export

namespace stepscope {

struct LogLaunch {  // between two restarts
  std::int64_t first_iteration = -1;
  std::int64_t last_iteration = -1;
  std::size_t records = 0;
  double median_ns = 0;
};

// A timer whose time changed with that of the step: by 50 % to 150 % of the step's change. If
// several did, the one that changed by the largest factor counts, because timers hold each other.
struct LogCause {
  std::string timer{};
  double before_ns = 0;  // medians that are one of the times
  double after_ns = 0;
};

struct LogChange {
  std::int64_t iteration = -1;  // first iteration whose step takes `after_ns`
  std::string place{};          // in words: step_place()
  std::size_t record = 0;       // its index among the steps
  double before_ns = 0;
  double after_ns = 0;
  std::string until{};  // where a later change takes back half of it; empty: it lasts
  std::optional<LogCause> cause{};
};

struct LogLoss {
  bool finite = false;  // some step has a finite one; else the next four say nothing
  bool rises = false;   // its last quarter is above one before, beyond chance
  double first = 0;
  double last = 0;
  double least = 0;
  std::int64_t least_iteration = -1;
  std::int32_t least_epoch = -1;       // if each epoch counts its steps anew; so below
  std::int64_t not_finite = 0;         // number of steps
  std::int64_t first_not_finite = -1;  // iteration of the first of them
  std::int32_t first_not_finite_epoch = -1;
};

// If the step time changed, of the steps from the last change on: times that occurred together.
struct LogTimerRow {
  std::string name;
  const LogTool* tool = nullptr;
  std::size_t count = 0;
  double median_ns = 0;               // one of the times
  std::optional<double> before_ns{};  // the median before the last change
  std::optional<double> share{};      // of the median step
};

// DeepSpeed prints twice the algbw of an all-reduce, in Gbit/s, and computes busbw with the size of
// the job for every group. `algbw` and `busbw` are corrected: bytes/s, algbw = total buffer / time.
struct LogCommunicationRow {
  LogCommunication printed;
  std::optional<double> bytes{};
  std::optional<double> algbw{};  // bytes/s
  std::optional<double> busbw{};
};

// DeepSpeed's flops profiler. It multiplies the forward pass by three, times one micro-step with
// synchronisations, and counts samples of the micro-batch on every rank of the job.
struct LogProfileRow {
  LogFlopsProfile printed;
  std::optional<double> forward_rate{};  // FLOP/s of one device, from its own FLOPs and latency
  std::optional<double> rate{};  // three times forward, over the whole iteration with its step
  std::optional<double> samples_per_s{};  // micro-batch x data-parallel size / iteration
  std::vector<std::string> faults{};
};

struct LogAccount {
  std::int64_t first_iteration = -1;
  std::int64_t last_iteration = -1;
  std::int64_t steps_per_record = 1;  // most common
  std::size_t warm_up = 0;            // records
  std::size_t slowest = 0;            // the step behind the warm-up that takes longest
  std::size_t settled = 0;            // the first step behind the warm-up and the last change
  double median_ns = 0;  // of the steps from the last change on; 0 if the log has rates only
  std::vector<LogLaunch> launches{};
  std::vector<LogChange> changes{};
  std::optional<Drift> drift{};  // of the step in ns, if no change was found
  // The least and the largest size that steps work on. Changes and drift are of times at equal
  // size.
  std::optional<std::pair<double, double>> works{};
  std::optional<double> batch{};     // sequences per step
  std::optional<double> sequence{};  // tokens per sequence
  std::optional<double> devices{};
  std::optional<double> tokens_per_s{};   // of the job
  std::optional<double> samples_per_s{};  // of the job, from batch and step time
  std::string throughput_from{};
  std::optional<double> printed_samples_per_s{};  // if it differs by more than 2 %
  const LogTool* printed_by = nullptr;            // whose lines have that rate
  // If it contradicts the tokens of a step and the step time, which then give `tokens_per_s`.
  std::optional<double> printed_tokens_per_s{};
  std::optional<LogLoss> loss{};
  std::int64_t skipped = 0;
  std::optional<double> memory_bytes{};  // the largest in any record
  std::optional<double> memory_share{};
  std::vector<LogTimerRow> timers{};
  std::vector<LogCommunicationRow> communication{};
  std::vector<LogProfileRow> profiles{};
};

[[nodiscard]] LogAccount account_of(const JobLog& log, const LogSteps& steps);

// The median of a figure over the records from step `first` on, from the tool that provides the
// steps. Absent if no record has it.
[[nodiscard]] std::optional<double> typical(const JobLog& log, const LogSteps& steps,
                                            std::size_t first, OptionalReal LogRecord::* figure);
// A whole number among the settings; absent if it is missing or not a whole number.
[[nodiscard]] std::optional<double> setting_of(const JobLog& log, std::string_view name);

// "step 12", "step 12 of epoch 2", "an unnumbered step".
[[nodiscard]] std::string step_name(std::int64_t iteration, std::int32_t epoch = -1);
// The same of the step at an index, with its epoch where each epoch counts its own, and "step 12 of
// part 2" where the numbers went back before. A step without a number is "the 21st step" of the
// log.
[[nodiscard]] std::string step_place(const JobLog& log, const LogSteps& steps, std::size_t at);
// Percentage by which the last step takes longer than the first.
[[nodiscard]] double percent_longer(const Drift& drift);

}  // namespace stepscope
