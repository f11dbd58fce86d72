// SPDX-License-Identifier: Apache-2.0
// What a memory snapshot gives reason to say: findings with what is usually done about them, and
// warnings about what it lacks.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/say/message.h"

namespace stepscope {

// Worth a sentence: what is the matter, and what to try.
struct MemoryFinding {
  std::string id{};  // "out_of_memory", "stranded", "retries", "rounding", "activations", …
  Message sentence{};
  Message advice{};  // may be nothing
  Bytes bytes{};     // that it is about
};
// What happened (failed allocations, retries) first, then what holds or loses most bytes.
[[nodiscard]] std::vector<MemoryFinding> memory_findings(const MemorySnapshot& snapshot,
                                                         const DeviceMemoryAccount& device);

// What the snapshot cannot show, and what was not understood in it.
[[nodiscard]] Messages memory_warnings(const MemorySnapshot& snapshot,
                                       const MemoryAccount& account);

// "forward (model.py:12)", "AddmmBackward0 in autograd", "no stack recorded".
[[nodiscard]] Message site_in_words(const AllocationSite& site);
// "device 0", "pinned host memory".
[[nodiscard]] Message device_in_words(int device);

}  // namespace stepscope
