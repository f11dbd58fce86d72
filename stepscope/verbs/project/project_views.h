// SPDX-License-Identifier: Apache-2.0
// What people and programs see of projected steps: the public JSON with its tables, the
// terminal's text.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/project/project.h"

namespace stepscope {

[[nodiscard]] Json project_tree(const ProjectResult& result);
// The answer, its interval and its largest parts.
[[nodiscard]] Json project_brief_tree(const ProjectResult& result);

// changes, width.
[[nodiscard]] std::vector<TreeTable> project_tables(const Json& tree);

// "On 64 ranks (dp 16 tp 4) a step would take 412 ms, …. In the traces, on 8 ranks, it takes 371
// ms."
[[nodiscard]] Message project_sentence(const ProjectResult& result);
[[nodiscard]] std::string project_text(const ProjectResult& result, const TextOptions& options);

}  // namespace stepscope
