// SPDX-License-Identifier: Apache-2.0
// The sampling distribution of the median of autocorrelated numbers: the median of series put
// together anew from blocks of neighbours (the circular block bootstrap of Politis and Romano,
// 1992). Blocks shorter than the memory of the series make it too narrow; `variance` lets the
// caller say by how much (median_ratio.h).
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
  // Of the signs of value - median, summed over a block, divided by its length: what the blocks
  // keep of the long-run variance of the signs.
  double sign_variance = 0;
  std::size_t block = 0;
};

// Blocks do not cross from one stretch to another, and each stretch keeps its length. The same
// options give the same replicates everywhere. Not empty, no NaN. A replicate costs one step a
// block and one a value near the median.
[[nodiscard]] MedianBootstrap bootstrap_median(std::span<const Series> stretches,
                                               const BootstrapOptions& options = {});

}  // namespace stepscope
