// SPDX-License-Identifier: Apache-2.0
// What the host threads of an export did: CUDA calls, ranges of NVTX, calls of the operating
// system and of libraries, and what the profiler itself cost.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// Calls of the CUDA runtime and driver. With `create`, a process comes into being with its first
// row: for exports without device work.
void read_nsys_calls(NsysExport& nsys, NsysProcesses& processes, bool create);
// Ranges of NVTX. Those that torch.autograd.profiler.emit_nvtx wrote become operators again; those
// of NCCL fill NsysProcess::nccl.
void read_nsys_ranges(NsysExport& nsys, NsysProcesses& processes, bool create);
// OS runtime, cuBLAS, cuDNN, MPI, overhead; names of threads and processes.
void read_nsys_other(NsysExport& nsys, NsysProcesses& processes);

// The text of a range as emit_nvtx writes it: "aten::mm, seq = 12, op_id = 7, sizes = [[8, 4]]".
struct EmittedOperator {
  std::string_view name;
  std::int32_t sequence = -1;  // -1 = not in the text
  std::string_view sizes;      // "[[8, 4], []]", or empty
  bool is_operator = false;    // else a record_function of the user or of a library
};
// Absent for a text that emit_nvtx did not write.
[[nodiscard]] std::optional<EmittedOperator> parse_emitted(std::string_view text);

}  // namespace stepscope
