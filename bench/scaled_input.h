// SPDX-License-Identifier: Apache-2.0
// Inputs that grow in one dimension: events, ranks, steps, groups, stacks, lines of a log, files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::bench {

struct Dimension {
  std::string_view name;
  std::int64_t size;  // the smallest that is measured; the others are 2, 4 and 8 times as large
  // Commands, "@" for the folder of the input.
  std::vector<std::string_view> commands;
  void (*write)(const std::string& folder, std::int64_t size);
  bool quick = false;  // `make check-bench` measures the first command
};

[[nodiscard]] std::span<const Dimension> dimensions();

}  // namespace stepscope::bench
