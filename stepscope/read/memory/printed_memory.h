// SPDX-License-Identifier: Apache-2.0
// Tables of the allocator's totals at points of a step, as a loop prints them under "=== Memory
// Profile ===":
//   Label                             Allocated     Reserved         Peak     Frag
//   after_forward                       40.20GB      42.50GB      40.90GB    5.4%
//   Checkpoint                        Allocated         Peak        Delta
//   After forward (activations)        6460.0 MB     8600.0 MB      +17.1 MB
// or keep them as JSON, [{"label": …, "allocated_GB": …, "reserved_GB": …, "max_allocated_GB": …}]
// or [{"name": …, "allocated_mb": …, "peak_mb": …}].
// Units are decimal. And lines of DeepSpeed's see_memory_usage(), whose GB are 2^30 bytes:
//   [… see_memory_usage] after forward
//   [… see_memory_usage] MA 26.38 GB  Max_MA 26.38 GB  CA 26.71 GB  Max_CA 27 GB
//   [… see_memory_usage] CPU Virtual Memory:  used = 322.57 GB, percent = 17.1%
// Other lines are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct MemoryCheckpoint {
  std::string label{};
  Bytes allocated{};
  std::optional<Bytes> reserved{};
  Bytes peak{};                 // the most that was allocated since the peak was reset
  std::optional<Bytes> host{};  // in use on the whole host
};

// Takes a text in blocks of whole lines.
class PrintedMemoryLines {
 public:
  enum class Table : std::uint8_t { none, with_reserved, with_change };
  void take(std::string_view block);

  std::vector<MemoryCheckpoint> checkpoints{};  // of all tables, in the order of their lines

 private:
  [[nodiscard]] bool usage_line(std::string_view line);

  std::string point_{};  // that DeepSpeed names before its sizes
  std::uint64_t number_ = 0;
  bool titled_ = false;
  Table table_ = Table::none;
};

// Whether such JSON begins here.
[[nodiscard]] bool begins_json_checkpoints(std::string_view head);
// The tables of a whole text, or its JSON.
[[nodiscard]] std::vector<MemoryCheckpoint> printed_checkpoints(std::string_view text);

}  // namespace stepscope
