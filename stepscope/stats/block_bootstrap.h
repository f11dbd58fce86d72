// SPDX-License-Identifier: Apache-2.0
// The sampling distribution of the median of autocorrelated numbers. The circular block bootstrap
// (Politis and Romano, 1992) makes new series from blocks of neighbours and takes their medians. If
// blocks are shorter than the memory of the series, the distribution is too narrow; `variance` lets
// the caller correct it (median_ratio.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/stats/long_run.h"

namespace stepscope {

struct BootstrapOptions {
  std::size_t replicates = 1000;
  std::size_t block = 0;  // values; 0: twice the cube root of a stretch
  std::uint64_t seed = 1;
};

struct MedianBootstrap {
  double median = 0;               // of the values themselves
  std::vector<double> replicates;  // medians, in the order drawn
  // The part of the signs' long-run variance that the blocks keep: the variance of sign(value -
  // median) summed over a block, divided by the block's length.
  double sign_variance = 0;
  std::size_t block = 0;
};

// Blocks do not cross stretches, and each stretch keeps its length. The same options give the same
// replicates on every machine. REQUIRES: not empty, no NaN. A replicate costs one operation per
// block and one per value near the median.
[[nodiscard]] MedianBootstrap bootstrap_median(std::span<const Series> stretches,
                                               const BootstrapOptions& options = {});

}  // namespace stepscope
