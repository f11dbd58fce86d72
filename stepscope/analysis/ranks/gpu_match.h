// SPDX-License-Identifier: Apache-2.0
// Which GPU of which log is a rank's, and how far the log's clock is from UTC. Neither is guessed:
// where the rules of docs/reference/inputs.md do not decide, a sentence says what is missing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/ranks/gpu_state.h"
#include "stepscope/event/gpu_log.h"
#include "stepscope/event/metadata.h"

namespace stepscope {

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
inline constexpr std::array<std::string_view, 3> gpu_match_rule_names = {"file_name", "uuid",
                                                                         "index"};

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
inline constexpr std::array<std::string_view, 3> zone_source_names = {"recorded", "given",
                                                                      "only_one"};

struct GpuLogUse {
  std::optional<Ns> zone;  // the log's calendar minus UTC; absent: not decided, or nothing to place
  ZoneSource zone_source = ZoneSource::recorded;
  std::string problem{};  // why it tells of no rank, or not of all; empty: nothing is missing
};

struct GpuMatches {
  std::vector<GpuLogUse> logs;  // parallel to the logs
  std::vector<RankGpu> ranks;   // by owner; the first log of several counts
};

// `world_size`: of the job, if it is known. `zone`: as --gpu-log-zone gives it.
[[nodiscard]] GpuMatches match_gpus(std::span<const GpuLog> logs, std::span<const GpuOwner> owners,
                                    std::optional<int> world_size, std::optional<Ns> zone);

// "UTC", "UTC+1", "UTC-3:30".
[[nodiscard]] std::string zone_in_words(Ns zone);

}  // namespace stepscope
