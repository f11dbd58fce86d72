// SPDX-License-Identifier: Apache-2.0
// Sends and receives of a group that do not find each other.
#pragma once

#include <cstdint>

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {

// Between two recorded ranks: of those that wait, the n-th send and the n-th receive belong
// together; where nothing tells what waits (logs), all of them, from
// the first one on, if nothing before it was cut off. Adds what is left over, and pairs of other
// sizes.
void find_unpaired(const CommRecords& records, std::uint32_t group, HangAccount& out);

}  // namespace stepscope
