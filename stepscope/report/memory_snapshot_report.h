// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope memory`: what holds the memory at the peak, how much is lost between
// blocks, and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct SnapshotReport {
  const MemorySnapshot* snapshot = nullptr;
  const MemoryAccount* account = nullptr;
  std::optional<int> rank{};
};

struct MemoryReport {
  std::string version;
  std::vector<SnapshotReport> snapshots{};
  std::size_t top = 10;  // holders shown
};

// "At its peak device 0 holds 12.3 GB: 45.2 % are activations, …" of the device that holds most.
[[nodiscard]] std::string memory_sentence(const MemoryReport& report);
// Of all snapshots.
[[nodiscard]] std::vector<std::string> memory_warnings(const MemoryReport& report);
[[nodiscard]] std::string memory_text(const MemoryReport& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json memory_tree_json(const MemoryReport& report);

}  // namespace stepscope
