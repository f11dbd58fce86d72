// SPDX-License-Identifier: Apache-2.0
// Corrects kernels whose recorded end is far too late.
#pragma once

#include "stepscope/event/trace.h"

namespace stepscope {

// A stream runs its kernels one after the other. So a kernel that ends after the whole next kernel
// on its stream has a wrong end (AMD-AGI/TraceLens#669). Which one is right is not known: it is cut
// where the next begins and noted as kernel_beyond_the_next. On CUDA a kernel may begin before its
// predecessor ends (programmatic dependent launch) and be shorter than the predecessor's tail.
// There it must outlast the next two kernels, or all other rows of the trace by 0.1 ms. Kernels of
// one launch (a graph), which may run in parallel, are not changed. Copies have their own engines
// and are not changed. REQUIRES: not sealed.
void cut_overruns(Trace& trace);

}  // namespace stepscope
