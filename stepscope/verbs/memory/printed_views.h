// SPDX-License-Identifier: Apache-2.0
// What people and programs see of the allocator's totals that programs print.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/memory/memory.h"

namespace stepscope {

[[nodiscard]] Message printed_sentence(const PrintedMemory& printed);
// Sentences, advice and tables of one file.
[[nodiscard]] std::string printed_text(const PrintedMemory& printed, std::size_t width);

[[nodiscard]] Json size_or_null(const std::optional<Bytes>& bytes);
[[nodiscard]] Json checkpoints_json(const std::vector<PrintedMemory>& files);
[[nodiscard]] Json summaries_json(const std::vector<PrintedMemory>& files);

}  // namespace stepscope
