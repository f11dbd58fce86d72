// SPDX-License-Identifier: Apache-2.0
// A run of training on a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "engine/train/train_result.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string train_text(const TrainResult& result, const TextOptions& options = {});
// A part of it: computation and communication measured apart.
[[nodiscard]] std::string isolation_text(const TrainIsolation& isolation, std::size_t width);

}  // namespace stepscope
