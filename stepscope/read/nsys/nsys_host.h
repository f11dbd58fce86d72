// SPDX-License-Identifier: Apache-2.0
// Host rows of an export: CUDA calls, NVTX ranges, calls of the operating system and of libraries,
// and the overhead of the profiler.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// Calls of the CUDA runtime and driver. With `create`, the first row of a process creates it; that
// is for exports without device work.
void read_nsys_calls(NsysExport& nsys, NsysProcesses& processes, bool create);
// NVTX ranges. Ranges of torch.autograd.profiler.emit_nvtx become operators again; ranges of NCCL
// fill NsysProcess::nccl.
void read_nsys_ranges(NsysExport& nsys, NsysProcesses& processes, bool create);
// OS runtime, cuBLAS, cuDNN, MPI, overhead; names of threads and processes.
void read_nsys_other(NsysExport& nsys, NsysProcesses& processes);

// A range text that emit_nvtx writes: "aten::mm, seq = 12, op_id = 7, sizes = [[8, 4]]".
struct EmittedOperator {
  std::string_view name;
  std::int32_t sequence = -1;  // -1 = not in the text
  std::string_view sizes;      // "[[8, 4], []]", or empty
  bool is_operator = false;    // otherwise a record_function of the user or of a library
};
// Absent if emit_nvtx did not write the text.
[[nodiscard]] std::optional<EmittedOperator> parse_emitted(std::string_view text);

}  // namespace stepscope
