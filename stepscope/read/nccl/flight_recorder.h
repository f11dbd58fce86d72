// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch's flight recorder (torch.distributed), versions 2.x: the pickle that is written
// on a timeout, and the same as JSON. A dump is one rank's ring of calls; it does not contain the
// rank.
#pragma once

#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/comm_records.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

// Whether this is such a dump and not another file of plain data.
[[nodiscard]] bool is_flight_dump(const PlainValue& dump);

// Whether a file whose first bytes hold these values (plain_head()) may be such a dump.
[[nodiscard]] bool begins_flight_dump(const PlainValue& head);

// Adds the calls of rank `rank`. Unusable entries are counted in input.notes. Errors: not a dump,
// an unknown version.
[[nodiscard]] Result<Done> add_flight_dump(const PlainTree& dump, int rank, CommInput& input,
                                           CommRecords& into);

// The error about plain data that is no such dump.
[[nodiscard]] Error no_flight_dump(const PlainValue& data, const std::string& path);

// The largest number of ranks in a group of this dump; 0 if it names none.
[[nodiscard]] int world_size_of(const PlainTree& dump);

// The ranks in a text like "[0, 1, 2]" (`pg_config`).
[[nodiscard]] std::vector<int> ranks_in_text(std::string_view text);

// Call after the last dump and log. Calls in groups without recorded members are moved to the only
// group with that name and their rank. Without such a group, the members are the ranks that called.
void settle_groups(CommRecords& records);

}  // namespace stepscope
