// SPDX-License-Identifier: Apache-2.0
// SQLite exports of NVIDIA Nsight Systems (nsys export --type sqlite) are read, of schema 2 (2022)
// to 3.25 (2026). Each process with GPU work becomes one trace. Missing tables and columns are not
// errors; the import notes name them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

// The traces of one export, unsealed. Instants are since the UNIX epoch if the export has its
// start. Errors: those of SqliteFile::open; an SQLite database that is not an export; one without
// CUDA and NVTX.
[[nodiscard]] Result<std::vector<Trace>> read_nsys(const std::string& path,
                                                   const ReadControl& control);
// The same for the bytes of a database; `name` replaces the path.
[[nodiscard]] Result<std::vector<Trace>> read_nsys_bytes(std::string_view bytes,
                                                         const std::string& name,
                                                         const ReadControl& control);

}  // namespace stepscope
