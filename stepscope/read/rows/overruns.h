// SPDX-License-Identifier: Apache-2.0
// Corrects kernels of ROCm traces whose recorded end is far too late.
#pragma once

#include "stepscope/event/trace.h"

namespace stepscope {

// A HIP stream runs its kernels one after the other. So a kernel that ends after the whole next
// kernel on its stream has a wrong end (AMD-AGI/TraceLens#669). It is cut where the next begins and
// noted as kernel_beyond_the_next. Kernels of one launch (a graph), which may run in parallel, are
// not changed. Copies have their own engines and are not changed, nor are traces without HIP calls.
// REQUIRES: not sealed.
void cut_overruns(Trace& trace);

}  // namespace stepscope
