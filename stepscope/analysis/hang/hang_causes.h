// SPDX-License-Identifier: Apache-2.0
// Which findings only follow from others.
#pragma once

#include "stepscope/analysis/hang/hang_finding.h"

namespace stepscope {

// A rank stands in the first call it made that a finding is about. Where every rank that is missing
// stands in another finding, this one follows from that; one that stands nowhere stopped before the
// earliest call that waits for it, and the other calls follow from that one. A call that all have
// made and none finishes follows from what one of them stands in. Sets `follows` and `circular`.
void find_causes(const CommRecords& records, HangAccount& out);

}  // namespace stepscope
