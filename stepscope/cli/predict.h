// SPDX-License-Identifier: Apache-2.0
// The two questions of `stepscope predict`; each returns the exit code.
#pragma once

#include "stepscope/cli/predict_flags.h"

namespace stepscope {

[[nodiscard]] int predict_collective(const PredictFlags& flags);

}  // namespace stepscope
