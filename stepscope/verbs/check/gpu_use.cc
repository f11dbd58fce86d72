// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/gpu_use.h"

#include <vector>

namespace stepscope {
namespace {

void add(GpuUse& use, int gpu, double mean, std::size_t readings) {
  if (use.gpus == 0 || mean < use.least) {
    use.least = mean;
    use.least_gpu = gpu;
  }
  ++use.gpus;
  use.readings += readings;
  use.mean += (mean - use.mean) / static_cast<double>(use.gpus);
}

std::optional<GpuUse> known(const GpuUse& use) {
  return use.gpus > 0 ? std::optional(use) : std::nullopt;
}

}  // namespace

std::optional<GpuUse> gpu_use_of_steps(const GpuEvidence& evidence) {
  GpuUse use{.of_steps = true};
  for (const GpuOfRank& rank : evidence.ranks)
    if (const auto mean = rank.whole.utilization.mean())
      add(use, rank.rank, *mean, rank.whole.readings);
  return known(use);
}

std::optional<GpuUse> gpu_use_of_logs(std::span<const GpuLog> logs) {
  GpuUse use;
  for (const GpuLog& log : logs) {
    std::vector<double> sums(log.gpus.size());
    std::vector<std::size_t> counts(log.gpus.size());
    for (const GpuReading& r : log.readings) {
      if (!r.utilization) continue;
      sums[r.gpu] += *r.utilization;
      ++counts[r.gpu];
    }
    for (std::size_t g = 0; g < sums.size(); ++g)
      if (counts[g] > 0)
        add(use, log.gpus[g].index.value_or(-1), sums[g] / static_cast<double>(counts[g]),
            counts[g]);
  }
  return known(use);
}

}  // namespace stepscope
