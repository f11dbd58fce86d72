// SPDX-License-Identifier: Apache-2.0
// A log of GPUs while its rows are read, and what the dialects share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/gpu_log.h"

namespace stepscope {

// The meaning of a cell.
enum class GpuField : std::uint8_t {
  none,  // nothing that is used
  time,
  date,        // the day alone, before clock_time
  clock_time,  // the time of day alone
  index,
  uuid,
  name,
  sm_clock,  // MHz
  max_sm_clock,
  memory_clock,
  power,  // W
  power_limit,
  temperature,  // °C
  utilization,  // per cent
  memory_used,  // MiB
  sm_active,    // shares
  tensor_active,
  dram_active,
  reasons,  // mask
  reason    // one bit: Active, Not Active
};

// A dialect's name of a field.
struct GpuFieldName {
  std::string_view name;
  GpuField field = GpuField::none;
};
// GpuField::none for an unknown name.
[[nodiscard]] GpuField field_named(std::string_view name, std::span<const GpuFieldName> known);

// The words of a line between characters of `ends`.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view line,
                                                        std::string_view ends);

// The number of a cell: "1980 MHz", "99 %", "699.80", "71". Absent: "[N/A]", "N/A", "-",
// "[Not Supported]", "[Unknown Error]" and other words.
[[nodiscard]] std::optional<double> number_of_cell(std::string_view cell);
// A mask: "0x0000000000000004" or a decimal number.
[[nodiscard]] std::optional<std::uint64_t> mask_of_cell(std::string_view cell);

// A row with what identifies its GPU.
struct GpuRow {
  GpuReading reading{};
  LoggedGpu gpu{};
  bool timed = false;
};
// Sets the field to the value of the cell; a cell without a value leaves it absent. `reason` is the
// one of GpuField::reason. False if the cell is no instant where one belongs.
bool set_field(GpuRow& row, GpuField field, ClockReason reason, std::string_view cell,
               bool& local_time);

// Collects rows. Rows without an instant, without a GPU or without a reading are noted.
class GpuRows {
 public:
  explicit GpuRows(GpuLog& log) : log_(log) {}
  // The row stood at `byte`.
  void add(const GpuRow& row, std::uint64_t byte);
  void note(const std::string& reason, std::uint64_t byte);
  [[nodiscard]] GpuLog& log() { return log_; }

 private:
  static constexpr std::size_t most_gpus = 4096;

  GpuLog& log_;
  std::map<std::tuple<std::string, std::string, int>, std::uint32_t> place_;  // host, uuid, index
};

// A dialect takes one line after the other. The line is without its end.
class GpuLogDialect {
 public:
  virtual ~GpuLogDialect() = default;
  virtual void take(std::string_view line, std::uint64_t byte, GpuRows& rows) = 0;
  // After the last line. Error: the file is of the dialect, but says too little; without file.
  virtual Result<Done> finish(GpuRows& rows) = 0;
};

}  // namespace stepscope
