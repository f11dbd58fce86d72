// SPDX-License-Identifier: Apache-2.0
// Finds the findings that only follow from others.
#pragma once

#include "stepscope/analysis/hang/hang_finding.h"

namespace stepscope {

// A rank stands in the first of its calls that a finding is about. If every missing rank of a
// finding stands in another finding, the finding follows from that one. A rank that stands nowhere
// stopped before the earliest call that waits for it, and the other calls follow from that one. A
// call that all have made and none finishes follows from the finding in which one of them stands.
// Sets `follows` and `circular`.
void find_causes(const CommRecords& records, HangAccount& out);

}  // namespace stepscope
