// SPDX-License-Identifier: Apache-2.0
// The last call that each rank recorded, over all its groups.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/comm_records.h"

namespace stepscope {

struct LastCall {
  std::uint32_t rank = 0;   // in CommRecords::ranks
  std::uint64_t calls = 0;  // of the rank
  std::uint32_t group = 0;  // in CommRecords::groups; of the last call
  CommCall call{};
};

// One a rank with any call, in the order of CommRecords::ranks.
[[nodiscard]] std::vector<LastCall> last_calls(const CommRecords& records);

}  // namespace stepscope
