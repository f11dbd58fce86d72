// SPDX-License-Identifier: Apache-2.0
// Measured kernels (event/kernel_times.h) as operations of the performance model.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stepscope/event/kernel_times.h"
#include "stepscope/fit/compute_fit.h"

namespace stepscope {

enum class KernelGroup : std::uint8_t { products, grouped, attention, passes, strided, mixed };

struct KernelTiming {
  KernelGroup group{};
  std::size_t kernel = 0;  // index in the kernels
  OperationTiming timing;
};

// A device's copy is a pass that reads and writes its bytes. Left out are pointwise passes of other
// work than "add", "cast_add" and "half_of_rows", products without a known format, optimizers and
// launches.
[[nodiscard]] std::vector<KernelTiming> kernel_timings(std::span<const KernelTime> kernels);

}  // namespace stepscope
