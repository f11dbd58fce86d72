// SPDX-License-Identifier: Apache-2.0
// `stepscope project` on a terminal.
#pragma once

#include <string>

#include "stepscope/pipeline/project.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string project_text(const ProjectResult& result, const TextOptions& options);

}  // namespace stepscope
