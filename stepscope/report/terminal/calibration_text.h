// SPDX-License-Identifier: Apache-2.0
// `stepscope calibrate` for the terminal.
#pragma once

#include <string>

#include "stepscope/fit/calibration.h"
#include "stepscope/pipeline/calibrate/calibrate_from.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

// The answer; the peaks, the largest products, the memory, drives and links, beside what the fitted
// machine says of the same.
[[nodiscard]] std::string calibration_text(const CalibrateResult& result,
                                           const TextOptions& options = {});

// What benchmarks and kernels measured beside what the fits and the machine, before and after, say
// of it. REQUIRES: a machine.
[[nodiscard]] std::string benchmark_text(const CalibrateFromResult& result,
                                         const TextOptions& options = {});

}  // namespace stepscope
