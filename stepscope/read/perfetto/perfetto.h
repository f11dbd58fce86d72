// SPDX-License-Identifier: Apache-2.0
// Native Perfetto traces (.pftrace, .perfetto-trace; protos/perfetto/trace of
// github.com/google/perfetto): track events with their debug annotations, GPU render stages and GPU
// counters, as torch.profiler's .pftrace, the Perfetto SDK and our own writer write them. Read in
// the memory of one packet, through the same classification and columns as Chrome JSON. What else
// such a file may hold (scheduling, ftrace, heaps) is stepped over.
#pragma once

#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"
#include "stepscope/read/perfetto/perfetto_packets.h"  // IWYU pragma: export

namespace stepscope {

// The traces of one file, unsealed: one, or several where it holds several ranks. Fails when the
// file cannot be read or holds no events; damage inside is counted in the notes.
[[nodiscard]] Result<std::vector<Trace>> read_perfetto(const std::string& path,
                                                       const ReadControl& control);

// The same from any source of bytes; `path` is only a name.
[[nodiscard]] Result<std::vector<Trace>> read_perfetto_from(ByteSource& source,
                                                            const std::string& path,
                                                            const ReadControl& control);

}  // namespace stepscope
