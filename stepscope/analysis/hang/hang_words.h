// SPDX-License-Identifier: Apache-2.0
// Calls of a record as texts.
#pragma once

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {

[[nodiscard]] HangCall spelled(const CommRecords& records, const CommCall& call);

}  // namespace stepscope
