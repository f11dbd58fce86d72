// SPDX-License-Identifier: Apache-2.0
// The tables of torch.cuda.memory_summary(), whole or cut:
//   |                  PyTorch CUDA memory summary, device ID 0                 |
//   |            CUDA OOMs: 1            |        cudaMalloc retries: 1         |
//   |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
//   | Allocated memory      |    1062 MB |    4877 MB |   89299 MB |   88237 MB |
// Units are binary, also where older versions write MB. Other text may stand in front of a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct SummarySizes {
  Bytes now{};
  Bytes peak{};
};

struct MemorySummary {
  int device = 0;
  std::uint64_t line = 0;                 // of the title, from 1
  std::optional<std::int64_t> ooms{};     // allocations that failed
  std::optional<std::int64_t> retries{};  // after which the cache was emptied
  std::optional<SummarySizes> allocated{};
  std::optional<SummarySizes> reserved{};
  std::optional<SummarySizes> stranded{};  // between blocks of segments that are in use
};

// Takes a text in blocks of whole lines.
class MemorySummaryLines {
 public:
  void take(std::string_view block);

  std::vector<MemorySummary> summaries{};  // those with the allocated memory, in order

 private:
  void line(std::string_view text);

  std::uint64_t number_ = 0;
  std::optional<MemorySummary> open_{};  // a title without sizes yet
  bool mixed_ = false;                   // a second title came before the sizes of the first
};

}  // namespace stepscope
