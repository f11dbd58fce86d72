// SPDX-License-Identifier: Apache-2.0
// Metadata of a trace file about the traced process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

enum class Clock : std::uint8_t { unix_epoch, relative };

struct DeviceProperties {
  int id = -1;
  std::string name;
  Bytes total_memory{};
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::string uuid{};  // empty: not recorded
};

struct ProcessGroup {
  std::string name;         // "0", or a hash
  std::string description;  // "default_pg", "mesh_tp", "undefined"
  std::string backend;      // "cuda:nccl"
  int size = -1;
  std::vector<int> ranks;  // empty: whole world, or not recorded
};

struct Metadata {
  std::string path;
  std::string format;       // "kineto", "chrome"
  std::optional<int> rank;  // from the file's metadata; read/rows/rank_names.h reads file names
  std::optional<int> world_size;
  std::string backend;
  Clock clock = Clock::relative;
  Ns base{};  // baseTimeNanoseconds; already added to every instant
  std::vector<DeviceProperties> devices;
  std::vector<ProcessGroup> groups;
  std::optional<bool> with_shapes;  // record_shapes; absent ≠ off
  std::optional<bool> with_stack;
  std::optional<bool> with_memory;  // profile_memory
  std::optional<bool> with_flops;
  std::optional<bool> with_modules;
  std::map<std::string, std::string>
      texts;  // other scalar keys: host_name, nccl_version, cupti_version, ...
  std::uint64_t file_bytes = 0;
  std::uint64_t text_bytes = 0;  // after inflating
};

// Keys of `texts`: every call whose allocation failed is marked, and a warning of the profiler.
inline constexpr std::string_view call_results_key = "call_results";
inline constexpr std::string_view profiler_warning_key = "profiler_warning";
// Behind the name of an allocation that returned an error.
inline constexpr std::string_view failed_call = " (failed)";

}  // namespace stepscope
