// SPDX-License-Identifier: Apache-2.0
// `stepscope project` on a terminal.
#pragma once

#include <string>

#include "stepscope/pipeline/project.h"
#include "stepscope/report/terminal/text_options.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "On 64 ranks (dp 16 tp 4) a step would take 412 ms, …. In the traces, on 8 ranks, it takes 371
// ms."
[[nodiscard]] Message project_sentence(const ProjectResult& result);
[[nodiscard]] std::string project_text(const ProjectResult& result, const TextOptions& options);

}  // namespace stepscope
