// SPDX-License-Identifier: Apache-2.0
// Chrome-trace JSON as torch.profiler (Kineto, and the legacy autograd exporter) and its relatives
// write it, for CUDA, ROCm, MTIA, XPU and CPU. Read in bounded chunks, in parallel within one file:
// a chunk is cut where an event seems to begin, and that each chunk ended exactly there is
// verified; if not, the file is read again in one piece.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

// The traces of one file, unsealed, base time added: one, or several where the file holds several
// ranks. Fails when the file cannot be read or holds no trace events; damage inside is counted in
// the notes.
[[nodiscard]] Result<std::vector<Trace>> read_kineto(const std::string& path,
                                                     const ReadControl& control);

// The same from any source of bytes; `path` is only a name. `open` gives the text from its
// beginning and is called again where it must be read twice.
using OpenSource = std::function<Result<std::unique_ptr<ByteSource>>()>;
[[nodiscard]] Result<std::vector<Trace>> read_kineto_from(const OpenSource& open,
                                                          const std::string& path,
                                                          const ReadControl& control);

}  // namespace stepscope
