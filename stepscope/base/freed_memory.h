// SPDX-License-Identifier: Apache-2.0
// What happens to memory that a program frees. The choice is for the whole process, so only main()
// makes it, never the library.
#pragma once

namespace stepscope {

// Keeps freed memory in the process for its next allocation. A reader allocates and drops columns
// of megabytes; without this the kernel zeroes their pages each time
// (docs/reference/benchmarks.md). The peak grows by about a tenth. No effect outside glibc.
void keep_freed_memory();

}  // namespace stepscope
