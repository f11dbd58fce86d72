// SPDX-License-Identifier: Apache-2.0
// speedscope's JSON (https://www.speedscope.app/file-format-schema.json), also written by py-spy:
// sampled and evented profiles, one per thread. It is read as a stream. Data behind a syntax error
// is left out, with a note. Times become nanoseconds. Evented profiles that are not nested are
// mended and counted.
#pragma once

#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

[[nodiscard]] bool is_speedscope(std::string_view head);
[[nodiscard]] Result<Done> read_speedscope(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
