// SPDX-License-Identifier: Apache-2.0
// Exports of NVIDIA Nsight Systems (nsys export --type sqlite), of schema 2 (2022) to 3.25 (2026):
// one trace for each process with GPU work. Tables and columns that an export lacks are no error:
// the import notes say what is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

// The traces of one export, unsealed, instants since the UNIX epoch where the export has its start.
// Errors: as of SqliteFile::open; an SQLite database that is no export; one without CUDA and NVTX.
[[nodiscard]] Result<std::vector<Trace>> read_nsys(const std::string& path,
                                                   const ReadControl& control);
// The same of the bytes of a database; `name` stands for the path.
[[nodiscard]] Result<std::vector<Trace>> read_nsys_bytes(std::string_view bytes,
                                                         const std::string& name,
                                                         const ReadControl& control);

}  // namespace stepscope
