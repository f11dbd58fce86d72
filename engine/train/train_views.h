// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a training run: sentences, the public JSON with its tables, the
// terminal's text.
#pragma once

#include <cstddef>
#include <string>

#include "engine/train/train_result.h"
#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "A step takes 81.2 ms: 12.6 k tokens/s, 61.3 % MFU; loss 5.54 → 2.31 in 40 steps."
[[nodiscard]] Message train_sentence(const TrainResult& result);
// The verdict over the recorded steps, or why it is missing. Empty where one rank has no fault.
[[nodiscard]] Message train_verdict_sentence(const TrainResult& result);

[[nodiscard]] Json train_tree(const TrainResult& result);
// What a page of it draws: of many steps the longest of each few in turn, and of these only the
// times that are not 0. `drawn` says how many there were: {of_steps, every}.
[[nodiscard]] Json train_page_tree(Json tree);
// Its `isolation`.
[[nodiscard]] Json isolation_tree(const TrainIsolation& isolation);

// steps, rank_steps, memory, collectives.
[[nodiscard]] std::vector<TreeTable> train_tables(const Json& tree);

[[nodiscard]] std::string train_text(const TrainResult& result, const TextOptions& options = {});
// A part of it: computation and communication measured apart.
[[nodiscard]] std::string isolation_text(const TrainIsolation& isolation, std::size_t width);

}  // namespace stepscope
