// SPDX-License-Identifier: Apache-2.0
// What `stepscope calibrate` found, for the terminal.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/fit/calibration.h"

namespace stepscope {

// The peaks, the largest products, the memory, drives and links, beside what the fitted machine
// says of the same.
[[nodiscard]] std::string calibration_text(const Calibration& measured,
                                           const CalibratedMachine& made, std::size_t width);

}  // namespace stepscope
