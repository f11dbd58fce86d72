// SPDX-License-Identifier: Apache-2.0
// The entry point: reads a file, plain or compressed, of any format in this module. The first bytes
// show the format.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

struct ProfileOptions {
  std::string format{};  // from profile_format_names(); empty: detected
  bool keep_samples = false;
};

[[nodiscard]] std::span<const std::string_view> profile_format_names();

// The format of a profile that begins with these bytes; empty if none.
[[nodiscard]] std::string_view profile_format_of(std::string_view head);

// Also reads SQLite exports of Nsight Systems (nsys_samples.h). Errors: the file cannot be read, is
// empty or is not a profile; the hint then names the kind of file if it is known (a Chrome trace).
[[nodiscard]] Result<Profile> read_profile(const std::string& path,
                                           const ProfileOptions& options = {});
// The same for any bytes; `name` replaces the path.
[[nodiscard]] Result<Profile> read_profile_from(std::unique_ptr<ByteSource> raw,
                                                const std::string& name,
                                                const ProfileOptions& options = {});

// Whether the profile may be any text: collapsed stacks of one frame each are lines that end in a
// number.
[[nodiscard]] bool may_be_text(const Profile& profile);

}  // namespace stepscope
