// SPDX-License-Identifier: Apache-2.0
// Checks that viewers show a Chrome trace correctly.
#pragma once

#include <string>
#include <vector>

namespace stepscope::roundtrip {

struct ChromeFile {
  std::size_t slices = 0;         // complete events
  std::size_t device_slices = 0;  // those with device work
  std::size_t flows = 0;          // pairs of s and f
  // Events that viewers would drop or show wrongly, at most twenty lines: text that is not JSON;
  // device rows that overlap without nesting on one row (pid, tid); flows without a second end, or
  // with an end outside all slices of its row; rows without a name.
  std::vector<std::string> problems;
};

// `path` plain or .gz.
[[nodiscard]] ChromeFile inspect(const std::string& path);

}  // namespace stepscope::roundtrip
