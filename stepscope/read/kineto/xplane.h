// SPDX-License-Identifier: Apache-2.0
// Profiles of XLA (FILE.xplane.pb of jax.profiler and TensorFlow;
// tsl/profiler/protobuf/xplane.proto): host threads with their calls, and streams of GPUs. Derived
// rows and the planes of TPUs are counted and left out.
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

// One unsealed trace of the host that wrote the file, with all its GPUs. The file is held in
// memory, at most 2 GB, the limit of a protocol buffer. Errors: it cannot be read or holds no
// events. From a cut file the whole planes before the cut are read, and the notes say so.
// `path` is only a name.
[[nodiscard]] Result<std::vector<Trace>> read_xplane_from(ByteSource& source,
                                                          const std::string& path,
                                                          const ReadControl& control);

}  // namespace stepscope
