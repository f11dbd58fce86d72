// SPDX-License-Identifier: Apache-2.0
// Call chains in an SQLite export of Nsight Systems: samples of the CPU (nsys profile
// --sample=process-tree), or, where there are none, the chains of calls of the operating system
// that took long (--osrt-backtrace), which weigh what the calls took.
#pragma once

#include <string>

#include "stepscope/base/sqlite_file.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// Errors: an export without chains, and no export.
[[nodiscard]] Result<Profile> read_nsys_samples(const SqliteFile& file, const std::string& path,
                                                bool keep_samples);

}  // namespace stepscope
