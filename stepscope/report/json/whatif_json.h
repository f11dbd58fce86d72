// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope whatif` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/whatif.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json whatif_tree(const WhatIfResult& result);

}  // namespace stepscope
