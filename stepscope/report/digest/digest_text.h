// SPDX-License-Identifier: Apache-2.0
// `stepscope digest` for the terminal: how small the digests are, and which ranks have none.
#pragma once

#include <string>

#include "stepscope/pipeline/digest.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string digest_text(const DigestResult& result, const TextOptions& options = {});

}  // namespace stepscope
