// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch's flight recorder (torch.distributed), versions 2.x: the pickle that a timeout
// writes, and the same as JSON. A dump is one rank's ring of calls; it does not say whose.
#pragma once

#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/comm_records.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

// Whether this is such a dump, and not another file of plain data.
[[nodiscard]] bool is_flight_dump(const PlainValue& dump);

// Adds the calls of rank `rank`. What cannot be used is counted in input.notes. Errors: no dump,
// a version that is not known.
[[nodiscard]] Result<Done> add_flight_dump(const PlainTree& dump, int rank, CommInput& input,
                                           CommRecords& into);

// The largest number of ranks that a group of this dump has; 0 where it names none.
[[nodiscard]] int world_size_of(const PlainTree& dump);

// A rank of the job that a group of this dump has (`pg_config`) in "[0, 1, 2]".
[[nodiscard]] std::vector<int> ranks_in_text(std::string_view text);

// After the last dump and log: calls in groups whose members are not recorded go to the one group
// of the same name that has their rank; where there is none, the members are those who called.
void settle_groups(CommRecords& records);

}  // namespace stepscope
