// SPDX-License-Identifier: Apache-2.0
// Profiles of XLA (FILE.xplane.pb of jax.profiler and TensorFlow; tsl/profiler/protobuf/
// xplane.proto): threads of the host with what they call, streams of GPUs. Derived rows, and the
// planes of TPUs, are counted and left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

[[nodiscard]] bool is_xplane(std::string_view head);

// One trace, unsealed, of the host that wrote the file: all its GPUs. The file is held in memory,
// at most 2 GB, as a protocol buffer can be. Fails when it cannot be read or holds no events; of
// one that was cut, the whole planes before the cut are read, and the notes say so.
[[nodiscard]] Result<std::vector<Trace>> read_xplane(const std::string& path,
                                                     const ReadControl& control);

// The same from any source of bytes; `path` is only a name.
[[nodiscard]] Result<std::vector<Trace>> read_xplane_from(ByteSource& source,
                                                          const std::string& path,
                                                          const ReadControl& control);

}  // namespace stepscope
