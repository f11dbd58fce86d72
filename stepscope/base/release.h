// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace stepscope {

// Empties a container and frees its memory. `c = {}` keeps a vector's memory: it assigns an empty
// list.
template <class Container>
void release(Container& c) {
  c = Container();
}

// Returns what many small containers freed to the system. The allocator keeps it otherwise.
inline void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace stepscope
