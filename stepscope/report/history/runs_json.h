// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope runs` (schemas stepscope.runs/1 and, with --restore,
// stepscope.restored/1; docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/history/runs.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json runs_tree(const RunsResult& result);
[[nodiscard]] Json restored_tree(const RestoredRun& result);

}  // namespace stepscope
