// SPDX-License-Identifier: Apache-2.0
// What records of communication cannot tell of a hang, and what was not understood in them.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {

[[nodiscard]] std::vector<std::string> hang_warnings(const CommRecords& records,
                                                     const HangAccount& account);

}  // namespace stepscope
