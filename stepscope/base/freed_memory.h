// SPDX-License-Identifier: Apache-2.0
// Memory that a program frees.
#pragma once

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace stepscope {

// Keeps freed memory in the process for its next allocation. A reader allocates and drops columns
// of megabytes; without this the kernel zeroes their pages each time
// (docs/dev/benchmarks.md). The peak grows by about a tenth. No effect outside glibc. The
// choice is for the whole process, so only main() makes it, never the library.
void keep_freed_memory();

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
