// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope memory`: what holds the memory at the peak, how much is lost between
// blocks, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/memory.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_report.h"

namespace stepscope {

struct MemoryTextOptions {
  TextOptions text{};
  std::size_t top = 10;  // holders shown
};

// Worth a sentence: what is the matter, and what to try.
struct MemoryFinding {
  std::string id{};        // "out_of_memory", "stranded", "retries", "rounding", "activations", …
  std::string sentence{};  // begins with a capital and ends with a full stop
  std::string advice{};    // the same; may be empty
  Bytes bytes{};           // that it is about
};
// Most urgent first.
[[nodiscard]] std::vector<MemoryFinding> memory_findings(const MemorySnapshot& snapshot,
                                                         const DeviceMemoryAccount& device);

// "At its peak device 0 holds 12.3 GB: 45.2 % are activations, …" of the device that holds most.
[[nodiscard]] std::string memory_sentence(const MemoryResult& result);
// "forward (model.py:12)", "AddmmBackward0 in autograd", "no stack recorded".
[[nodiscard]] std::string site_in_words(const AllocationSite& site);
// What the snapshots cannot tell, and what was not understood in them.
[[nodiscard]] std::vector<std::string> memory_warnings(const MemoryResult& result);
[[nodiscard]] std::string memory_text(const MemoryResult& result,
                                      const MemoryTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json memory_tree_json(const MemoryResult& result);

}  // namespace stepscope
