// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope whatif`: the answers of the replay as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/pipeline/whatif.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

[[nodiscard]] std::string whatif_text(const WhatIfResult& result, std::size_t width);
// docs/reference/json.md.
[[nodiscard]] Json whatif_tree(const WhatIfResult& result);

}  // namespace stepscope
