// SPDX-License-Identifier: Apache-2.0
// `stepscope calibrate` for the terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stepscope/fit/benchmark_fit.h"
#include "stepscope/fit/calibration.h"

namespace stepscope {

// The peaks, the largest products, the memory, drives and links, beside what the fitted machine
// says of the same.
[[nodiscard]] std::string calibration_text(const Calibration& measured,
                                           const CalibratedMachine& made, std::size_t width);

// What benchmarks measured beside what the fits and the machine, before and after, say of it.
[[nodiscard]] std::string benchmark_text(std::span<const PlacedBenchmark> benchmarks,
                                         const BenchmarkFit& fit, std::size_t width);

}  // namespace stepscope
