// SPDX-License-Identifier: Apache-2.0
// Reads native Perfetto traces (.pftrace, .perfetto-trace; protos/perfetto/trace of
// github.com/google/perfetto): track events with their debug annotations, GPU render stages and GPU
// counters. torch.profiler's .pftrace, the Perfetto SDK and our own writer write them. Memory is
// that of one packet. Classification and columns are the same as for Chrome JSON. Other data in
// such a file (scheduling, ftrace, heaps) is skipped.
#pragma once

#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"
#include "stepscope/read/perfetto/perfetto_packets.h"  // IWYU pragma: export

namespace stepscope {

// The traces of one file, unsealed; several if it holds several ranks. Errors: the file cannot be
// read, or it holds no events. Damage inside is counted in the notes.
// `path` is only a name.
[[nodiscard]] Result<std::vector<Trace>> read_perfetto_from(ByteSource& source,
                                                            const std::string& path,
                                                            const ReadControl& control);

}  // namespace stepscope
