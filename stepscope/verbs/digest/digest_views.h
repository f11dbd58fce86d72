// SPDX-License-Identifier: Apache-2.0
// What digests were written: the public JSON, the terminal's text.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/digest/digest.h"

namespace stepscope {

[[nodiscard]] Json digest_tree(const DigestResult& result);

// "8 digests take 2.1 MB, 0.7 % of the 301 MB of their traces. No digest is of ranks 3, 5."
[[nodiscard]] Message digest_sentence(const DigestResult& result);
[[nodiscard]] std::string digest_text(const DigestResult& result, const TextOptions& options = {});

}  // namespace stepscope
