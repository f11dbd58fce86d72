// SPDX-License-Identifier: Apache-2.0
// What holds a device's memory at its peak.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stepscope/pipeline/memory.h"

namespace stepscope {

// "At its peak device 0 holds 12.3 GB: 45.2 % are activations, …" of the device that holds most.
[[nodiscard]] std::string memory_sentence(const MemoryResult& result);
// The same of one device.
[[nodiscard]] std::string device_memory_sentence(const AccountedSnapshot& s,
                                                 const DeviceMemoryAccount& d);
// "device 0 of rank 3".
[[nodiscard]] std::string place_in_words(const AccountedSnapshot& s, int device);
// Uses (MemoryUse) with bytes, largest first.
[[nodiscard]] std::vector<std::size_t> uses_by_size(const MemoryInstant& at);

}  // namespace stepscope
