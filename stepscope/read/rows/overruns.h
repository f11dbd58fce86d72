// SPDX-License-Identifier: Apache-2.0
// Kernels of ROCm traces whose recorded end lies far behind their real one.
#pragma once

#include "stepscope/event/trace.h"

namespace stepscope {

// A HIP stream runs its kernels one after the other, so one that ends after the whole of the next
// on its stream has a wrong end (AMD-AGI/TraceLens#669): it is cut where the next begins, noted as
// kernel_beyond_the_next. Kernels of one launch (a graph) may run side by side and are left alone;
// so are copies, which engines of their own do, and traces without HIP calls. `trace` is not sealed
// yet.
void cut_overruns(Trace& trace);

}  // namespace stepscope
