// SPDX-License-Identifier: Apache-2.0
// Whether the parameters of sharded units came in time.
#pragma once

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/unit_waits.h"
#include "stepscope/say/message.h"

namespace stepscope {

// The source of the units of the job's ranks.
[[nodiscard]] UnitSource unit_source(const JobUnits& units);
// "32 of 64 fetches came after their unit was needed: …"
[[nodiscard]] Message fetches_in_words(const JobUnits& units);
// Sharded parameters were gathered, and no row shows for which unit: what would record it.
[[nodiscard]] Message unit_waits_warning(const JobUnits& units, const Collectives& collectives);

}  // namespace stepscope
