// SPDX-License-Identifier: Apache-2.0
// Whether a rank that is slower than its peers also has a lower clock, by the readings of logs of
// GPUs given with the traces; and what limits the clock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class ClockVerdict : std::uint8_t {
  lower,  // the lower clock explains at least half of the rank's slowness
  part,   // lower, but it explains less
  alike   // within threshold::clock_alike of its peers'
};
inline constexpr auto clock_verdict_names = enum_names<ClockVerdict::alike>;

struct ActiveReason {
  ClockReason reason{};
  double share = 0;                   // of the time in its steps
  std::optional<double> peers_share;  // the median of its peers
};

struct ClockCause {
  ClockVerdict verdict = ClockVerdict::alike;
  double clock_mhz = 0;  // mean over its slow steps
  double peers_mhz = 0;  // median of its peers' means over theirs
  std::size_t peers = 0;
  std::vector<ActiveReason> reasons{};  // that limit it more than its peers, largest share first
  std::optional<double> power_watts{};
  std::optional<double> temperature_celsius{};
  std::optional<double> peers_power_watts{};
  std::optional<double> peers_temperature_celsius{};
  Message sentence{};  // "The SM clock of rank 3 is 1.20 GHz, …"
};

// The cause for a rank whose kernels take `ratio` times as long as its peers', in its steps from
// `first_step` on (absent: all). Peers are the ranks with a GPU of the same name whose steps have
// readings. Absent where the rank or all peers lack readings of the clock for half of these steps.
[[nodiscard]] std::optional<ClockCause> clock_cause(const JobResult& job, int rank, double ratio,
                                                    std::optional<std::int64_t> first_step);

// "hardware thermal slowdown".
[[nodiscard]] Message in_words(ClockReason reason);
// Reasons that say that a GPU protects itself or its supply, not that it idles or was set so.
[[nodiscard]] bool is_protection(ClockReason reason);
// What to do about a clock that these reasons limit.
[[nodiscard]] Message advice_for_clock(const ClockCause& cause);

}  // namespace stepscope
