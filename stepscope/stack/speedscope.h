// SPDX-License-Identifier: Apache-2.0
// speedscope's JSON (https://www.speedscope.app/file-format-schema.json), also of py-spy: sampled
// and evented profiles, one a thread. Read as a stream; what follows a syntax error is left out and
// said. Times become nanoseconds. Evented profiles that are not nested are mended and counted.
#pragma once

#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

[[nodiscard]] bool is_speedscope(std::string_view head);
[[nodiscard]] Result<Done> read_speedscope(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
