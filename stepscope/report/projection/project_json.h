// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope project` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/project.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json project_tree(const ProjectResult& result);
// The answer, its interval and its largest parts.
[[nodiscard]] Json project_brief_tree(const ProjectResult& result);

}  // namespace stepscope
