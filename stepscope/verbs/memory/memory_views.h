// SPDX-License-Identifier: Apache-2.0
// What people and programs see of memory snapshots: sentences, the public JSON
// (docs/reference/json/memory.md), the terminal's text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/memory/memory.h"

namespace stepscope {

// "At its peak device 0 holds 12.3 GB: 45.2 % are activations, …" of the device that holds most.
[[nodiscard]] Message memory_sentence(const MemoryResult& result);
// The same of one device.
[[nodiscard]] Message device_memory_sentence(const AccountedSnapshot& s,
                                             const DeviceMemoryAccount& d);
// "device 0 of rank 3".
[[nodiscard]] Message place_in_words(const AccountedSnapshot& s, int device);
// Uses (MemoryUse) with bytes, largest first.
[[nodiscard]] std::vector<std::size_t> uses_by_size(const MemoryInstant& at);

[[nodiscard]] Json memory_tree_json(const MemoryResult& result);

struct MemoryTextOptions {
  TextOptions text{};
  std::size_t top = 10;  // holders shown
};

[[nodiscard]] std::string memory_text(const MemoryResult& result,
                                      const MemoryTextOptions& options = {});

}  // namespace stepscope
