// SPDX-License-Identifier: Apache-2.0
// Call chains in an SQLite export of Nsight Systems: CPU samples (nsys profile
// --sample=process-tree). Without samples, the chains of long operating system calls
// (--osrt-backtrace), weighted by the duration of the calls.
#pragma once

#include <string>

#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// Whether a database has tables of call chains with rows.
[[nodiscard]] bool has_nsys_samples(const SqliteFile& file);

// Errors: an export without chains; not an export.
[[nodiscard]] Result<Profile> read_nsys_samples(const SqliteFile& file, const std::string& path,
                                                bool keep_samples);

}  // namespace stepscope
