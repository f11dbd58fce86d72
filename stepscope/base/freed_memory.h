// SPDX-License-Identifier: Apache-2.0
// What becomes of memory that a program frees. A choice of the whole process, so it is for main()
// alone and never made by the library.
#pragma once

namespace stepscope {

// Freed memory stays with the process for its next allocation. A reader that makes and drops
// columns of megabytes otherwise has every page of them zeroed by the kernel again and again
// (docs/reference/benchmarks.md); costs about a tenth more memory at the peak. Nothing outside
// glibc.
void keep_freed_memory();

}  // namespace stepscope
