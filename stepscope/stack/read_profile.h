// SPDX-License-Identifier: Apache-2.0
// The front door: a file, plain or compressed, of any format this module reads, recognised by what
// it begins with.
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
  std::string format{};  // of profile_format_names(); empty: recognised
  bool keep_samples = false;
};

[[nodiscard]] std::span<const std::string_view> profile_format_names();

// An SQLite export of Nsight Systems too (nsys_samples.h). Errors: a file that cannot be read, is
// empty, or is no profile; then its hint names what it is where that is known (a Chrome trace).
[[nodiscard]] Result<Profile> read_profile(const std::string& path,
                                           const ProfileOptions& options = {});
// The same of any bytes; `name` stands for the path.
[[nodiscard]] Result<Profile> read_profile_from(std::unique_ptr<ByteSource> raw,
                                                const std::string& name,
                                                const ProfileOptions& options = {});

}  // namespace stepscope
