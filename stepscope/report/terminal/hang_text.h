// SPDX-License-Identifier: Apache-2.0
// `stepscope hang` for the terminal: who is missing where, first as a sentence, then with what they
// called; how NCCL connected them.
#pragma once

#include <string>

#include "stepscope/pipeline/hang.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string hang_text(const HangResult& result, const TextOptions& options = {});

}  // namespace stepscope
