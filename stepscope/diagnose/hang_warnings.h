// SPDX-License-Identifier: Apache-2.0
// What records of communication cannot tell of a hang, and what was not understood in them.
#pragma once

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/say/message.h"

namespace stepscope {

[[nodiscard]] Messages hang_warnings(const CommRecords& records, const HangAccount& account);

}  // namespace stepscope
