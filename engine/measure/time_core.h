// SPDX-License-Identifier: Apache-2.0
// Times the kernels of nn/ on the calling thread, as operations of the performance model.
// fit_core() makes a core's curves from them.
#pragma once

#include <vector>

#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/fit/compute_fit.h"

namespace stepscope {

struct CoreSweep {
  Ns time_an_operation{20'000'000};  // approximate; at least three calls
  bool quick = false;                // the smaller sizes only
};

// Medians over the calls: products (forward and both backward ones) and fused attention of GPT-2
// shapes, norm, activation and AdamW; f32 or bf16. Allocates up to about 200 MB.
[[nodiscard]] std::vector<OperationTiming> time_core(ElementType type, const CoreSweep& sweep);

// Bytes per second that one core reads and writes when it adds two arrays far larger than its
// caches (STREAM's add: 2 reads, 1 write).
[[nodiscard]] ByteRate time_memory(Ns duration, Bytes array = Bytes{64 << 20});

}  // namespace stepscope
