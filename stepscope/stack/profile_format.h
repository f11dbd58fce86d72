// SPDX-License-Identifier: Apache-2.0
// The profile formats, in the order in which they are tried.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

struct ProfileFormat {
  std::string_view name;
  // `head`: up to 64 KiB from the start of the file.
  bool (*recognises)(std::string_view head);
  Result<Done> (*read)(ByteSource& source, ProfileBuilder& into);
};

[[nodiscard]] std::span<const ProfileFormat> profile_formats();

// Describes a file that is not a profile in one sentence, with advice at the end. Empty if unknown.
[[nodiscard]] std::string what_it_is(std::string_view head);

}  // namespace stepscope
