// SPDX-License-Identifier: Apache-2.0
// What a GPU's readings say about a span of time. A reading stands from its instant until the next
// one of its GPU, at most for twice the median distance of its GPU's readings. Means are weighted
// with the time that readings stand for within the span.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/clock_correction.h"
#include "stepscope/event/gpu_log.h"
#include "stepscope/event/metadata.h"
#include "stepscope/say/message.h"

namespace stepscope {

class WeightedMean {
 public:
  void add(double value, Ns weight) {
    WeightedMean one;
    one.weight_ = static_cast<double>(weight.count());
    one.sum_ = one.weight_ * value;
    one.least_ = one.most_ = value;
    add(one);
  }
  void add(const WeightedMean& other) {
    if (other.weight_ <= 0) return;
    least_ = weight_ > 0 ? std::min(least_, other.least_) : other.least_;
    most_ = weight_ > 0 ? std::max(most_, other.most_) : other.most_;
    weight_ += other.weight_;
    sum_ += other.sum_;
  }
  // Absent: nothing was read.
  [[nodiscard]] std::optional<double> mean() const { return known(sum_ / weight_); }
  [[nodiscard]] std::optional<double> least() const { return known(least_); }
  [[nodiscard]] std::optional<double> most() const { return known(most_); }

 private:
  [[nodiscard]] std::optional<double> known(double value) const {
    return weight_ > 0 ? std::optional(value) : std::nullopt;
  }
  double weight_ = 0;
  double sum_ = 0;
  double least_ = 0;
  double most_ = 0;
};

struct GpuState {
  Ns span{};     // the time asked about
  Ns covered{};  // of it, the time that readings stand for
  std::size_t readings = 0;
  WeightedMean sm_clock_mhz;
  WeightedMean memory_clock_mhz;
  WeightedMean power_watts;
  WeightedMean temperature_celsius;
  WeightedMean utilization;
  WeightedMean sm_active;
  WeightedMean tensor_active;
  WeightedMean dram_active;
  std::array<WeightedMean, clock_reason_count> reasons;  // share of the time in which one is active

  void add(const GpuState& other);
  // Whether readings stand for at least half of the span.
  [[nodiscard]] bool tells() const { return covered > Ns{0} && 2 * covered >= span; }
};

struct TimeSpan {
  Ns start{};
  Ns end{};
};

// One state a span. `readings` are of one GPU in time order; `zone` is subtracted from their
// instants, then `correction` is applied. Spans are in time order and do not overlap.
[[nodiscard]] std::vector<GpuState> gpu_states(std::span<const GpuReading> readings, Ns zone,
                                               const ClockCorrection& correction,
                                               std::span<const TimeSpan> spans);

// The GPU of each rank in the logs, and how far the log's clock is from UTC. Neither is guessed:
// where the rules of docs/reference/inputs.md do not decide, a sentence says what is missing.

// A rank as a log's rows are compared with it.
struct GpuOwner {
  int rank = 0;
  std::string host{};                           // empty: not known
  int device = -1;                              // the ordinal of its GPU in the process; -1: none
  std::span<const DeviceProperties> devices{};  // that the process sees
  bool absolute = false;                        // its instants count from the epoch
  TimeSpan window{};                            // of its rows, by its own clock
};

enum class GpuMatchRule : std::uint8_t { file_name, uuid, index };
inline constexpr auto gpu_match_rule_names = enum_names<GpuMatchRule::index>;

struct RankGpu {
  std::size_t owner = 0;  // rows of the owners, logs and GPUs
  std::size_t log = 0;
  std::uint32_t gpu = 0;
  GpuMatchRule rule = GpuMatchRule::index;
};

enum class ZoneSource : std::uint8_t {
  recorded,  // the log's instants have a zone
  given,     // by the user
  only_one   // the only zone of the world in which log and capture overlap
};
inline constexpr auto zone_source_names = enum_names<ZoneSource::only_one>;

struct GpuLogUse {
  std::optional<Ns> zone;  // the log's calendar minus UTC; absent: not decided, or nothing to place
  ZoneSource zone_source = ZoneSource::recorded;
  Message problem{};  // why the log covers no rank, or not all; empty: nothing is missing
};

struct GpuMatches {
  std::vector<GpuLogUse> logs;  // parallel to the logs
  std::vector<RankGpu> ranks;   // by owner; the first log of several counts
};

// `world_size`: of the job, if it is known. `zone`: as --gpu-log-zone gives it.
[[nodiscard]] GpuMatches match_gpus(std::span<const GpuLog> logs, std::span<const GpuOwner> owners,
                                    std::optional<int> world_size, std::optional<Ns> zone);

// In time order.
[[nodiscard]] std::span<const GpuReading> readings_of(const GpuLog& log, std::uint32_t gpu);

// "UTC", "UTC+1", "UTC-3:30".
[[nodiscard]] std::string zone_in_words(Ns zone);

// What logs of GPUs show of a job's ranks.

struct GpuLogResult {
  std::string path;
  std::string format;
  std::size_t gpus = 0;
  std::size_t readings = 0;
  ImportNotes notes;
  std::vector<int> ranks;  // whose GPUs the log covers, ascending
  GpuLogUse use;
};

struct GpuOfRank {
  int rank = 0;
  std::size_t log = 0;  // row of GpuEvidence::logs
  GpuMatchRule rule = GpuMatchRule::index;
  LoggedGpu gpu;
  std::vector<GpuState> steps;  // parallel to the rank's steps
  GpuState whole;               // all of them
};

struct GpuEvidence {
  std::vector<GpuLogResult> logs;  // in the order of the inputs
  std::vector<GpuOfRank> ranks;    // ascending; only those with a GPU in a log
};

}  // namespace stepscope
