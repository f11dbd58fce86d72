// SPDX-License-Identifier: Apache-2.0
// JSON of rocprofv3 (--output-format json; rocprofiler-sdk, source/lib/output/generateJSON.cpp):
// kernels, copies, calls of HIP and HSA, roctx ranges, RCCL calls. Times are ns of a clock that all
// processes of a host share and that has no relation to UNIX time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

[[nodiscard]] bool is_rocprof(std::string_view head);

// One unsealed trace for each process in the file. The text, at most 4 GB, and its tree are in
// memory meanwhile. Errors: the file cannot be read, is not a whole JSON text or holds no records.
// A record that is not understood is counted in the notes, at byte 0.
// `path` is only a name.
[[nodiscard]] Result<std::vector<Trace>> read_rocprof_from(ByteSource& source,
                                                           const std::string& path,
                                                           const ReadControl& control);

}  // namespace stepscope
