// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope digest` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/digest.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json digest_tree(const DigestResult& result);

}  // namespace stepscope
