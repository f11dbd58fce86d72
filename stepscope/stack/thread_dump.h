// SPDX-License-Identifier: Apache-2.0
// Text dumps of all threads at one moment: `py-spy dump` (innermost frame first) and Python's
// faulthandler. Each thread is one sample.
#pragma once

#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

[[nodiscard]] bool is_thread_dump(std::string_view head);
[[nodiscard]] Result<Done> read_thread_dump(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
