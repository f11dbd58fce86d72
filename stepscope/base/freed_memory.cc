// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/freed_memory.h"

#include <limits>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace stepscope {

void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace stepscope
