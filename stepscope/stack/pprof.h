// SPDX-License-Identifier: Apache-2.0
// pprof's protocol buffer (perftools.profiles.Profile, proto/profile.proto of
// github.com/google/pprof), usually compressed with gzip. Go, parca, pyroscope, gperftools and
// OpenTelemetry write it. The default sample type is counted, else the last one, as in pprof.
// Inlined functions become separate frames. A location without a function is shown as its mapping's
// file.
#pragma once

#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

[[nodiscard]] bool is_pprof(std::string_view head);
[[nodiscard]] Result<Done> read_pprof(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
