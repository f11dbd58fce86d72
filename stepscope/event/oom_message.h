// SPDX-License-Identifier: Apache-2.0
// What a framework says as a device has no room for an allocation. All sizes are bytes; those that
// the message does not give are absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// A process in the message, with what it holds on the device.
struct OomProcess {
  std::int64_t pid = 0;
  Bytes bytes{};
};

// Whose allocator or runtime writes the message, as far as its words show.
enum class OomFramework : std::uint8_t { unknown, pytorch, tensorflow, xla, paddle, vllm };
inline constexpr auto oom_framework_names = enum_names<OomFramework::vllm>;
[[nodiscard]] constexpr std::string_view name_of(OomFramework framework) {
  return oom_framework_names[static_cast<std::size_t>(framework)];
}

// The memory that had no room.
enum class OomSpace : std::uint8_t { device, host, chip, unknown };
inline constexpr auto oom_space_names = enum_names<OomSpace::unknown>;
[[nodiscard]] constexpr std::string_view name_of(OomSpace space) {
  return oom_space_names[static_cast<std::size_t>(space)];
}

struct OomMessage {
  OomFramework framework = OomFramework::unknown;
  std::string backend{};  // "CUDA", "HIP", "XPU", "TensorFlow"; empty if the message names none
  OomSpace space = OomSpace::device;
  std::string allocator{};  // of TensorFlow and XLA: "GPU_0_bfc", "cuda_host_bfc"; XLA's name of a
                            // memory on the chip: "vmem"
  std::optional<int> rank{};
  std::optional<int> device{};
  std::optional<Bytes> request{};
  std::optional<Bytes> total{};    // of the device
  std::optional<Bytes> free{};     // of the device, as the driver says
  std::optional<Bytes> allowed{};  // a limit that the program has set
  std::optional<Bytes> allocated{};
  std::optional<Bytes> elsewhere{};      // by the process outside its allocator (Metal)
  std::optional<Bytes> private_pools{};  // part of `allocated` in pools of CUDA graphs
  std::optional<Bytes> needed{};         // by a whole compiled program (XLA)
  std::optional<Bytes> arguments{};      // part of `needed`: what the program is called with
  std::optional<Bytes> at_once{};        // the largest allocation that the platform gives
  std::optional<Bytes> unallocated{};    // reserved by the allocator, but not in use
  std::optional<Bytes> own{};            // of the process itself, with what is not the allocator's
  std::vector<OomProcess> processes{};   // in a container the process itself may be one of them
  std::optional<double> share{};         // of the device, that vLLM was set to take at its start
  std::string variable{};                // with the allocator's settings, that the message names
  bool for_context = false;              // what a process makes before it can hold memory there
  bool retried = false;                  // the allocator tries again, with less or after a flush
  std::string where{};                   // "train.py:120", from the traceback
  std::uint32_t input = 0;               // of the list of files
  std::uint64_t line = 0;                // from 1
  std::uint64_t times = 1;               // the same message of the same rank
};

}  // namespace stepscope
