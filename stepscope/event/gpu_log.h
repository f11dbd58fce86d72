// SPDX-License-Identifier: Apache-2.0
// Readings of GPUs that a monitor took while the traces were recorded: clocks, power, temperature,
// and why the clocks are limited. nvidia-smi, dcgmi and dcgm-exporter write them.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Why a GPU's clock is limited. The values are the bits of NVML's masks (nvml.h,
// nvmlClocksEventReason…), which DCGM's field 112 has too.
enum class ClockReason : std::uint8_t {
  idle,
  applications_clocks,
  sw_power_cap,
  hw_slowdown,
  sync_boost,
  sw_thermal_slowdown,
  hw_thermal_slowdown,
  hw_power_brake,
  display_clocks
};
inline constexpr auto clock_reason_names = enum_names<ClockReason::display_clocks>;
inline constexpr std::size_t clock_reason_count = clock_reason_names.size();
[[nodiscard]] constexpr std::uint32_t bit_of(ClockReason reason) {
  return std::uint32_t{1} << static_cast<unsigned>(reason);
}
inline constexpr std::uint32_t all_clock_reasons = (std::uint32_t{1} << clock_reason_count) - 1;

// One GPU of a log. Values that the log lacks are empty.
struct LoggedGpu {
  std::optional<int> index{};  // of nvidia-smi and DCGM: the order of the PCI bus
  std::string uuid{};          // "GPU-…"
  std::string name{};
  std::string host{};
  std::optional<double> max_sm_clock_mhz{};
  std::optional<double> power_limit_watts{};

  bool operator==(const LoggedGpu&) const = default;
};

struct GpuReading {
  Ns time{};              // since the epoch; on the writer's calendar where GpuLog::local_time
  std::uint32_t gpu = 0;  // row of GpuLog::gpus
  std::optional<float> sm_clock_mhz{};
  std::optional<float> memory_clock_mhz{};
  std::optional<float> power_watts{};
  std::optional<float> temperature_celsius{};
  std::optional<float> utilization{};  // share of the time in which a kernel ran
  std::optional<Bytes> memory_used{};
  std::optional<float> sm_active{};      // mean share of the SMs that hold a warp
  std::optional<float> tensor_active{};  // share of the cycles in which the tensor pipe is active
  std::optional<float> dram_active{};    // share of the cycles in which the DRAM moves data
  std::uint32_t reasons = 0;             // bits of ClockReason that are set
  std::uint32_t reasons_known = 0;       // bits that were read
};

struct GpuLog {
  std::string path;
  std::string format{};  // "nvidia-smi", "nvidia-smi dmon", "dcgmi dmon", "dcgm-exporter"
  std::optional<int> named_rank{};  // the number behind "rank" in the file's name
  bool local_time = false;          // the instants are on a calendar without a zone
  std::vector<LoggedGpu> gpus{};
  std::vector<GpuReading> readings{};  // by GPU, then time
  ImportNotes notes{};                 // rows that are not used, by reason
  std::uint64_t file_bytes = 0;
  std::uint64_t text_bytes = 0;  // after inflating
};

}  // namespace stepscope
