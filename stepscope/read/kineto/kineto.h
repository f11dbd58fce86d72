// SPDX-License-Identifier: Apache-2.0
// Chrome-trace JSON as torch.profiler (Kineto, and the legacy autograd exporter) and similar tools
// write it, for CUDA, ROCm, MTIA, XPU and CPU. One file is read in bounded chunks in parallel. A
// chunk is cut where an event seems to begin. The reader verifies that each chunk ended exactly
// there; if not, it reads the file again in one piece.
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

// The note (ImportNotes) of a file in which no row has a category, so that nothing distinguishes
// operators, calls and kernels.
inline constexpr const char* no_categories = "no_categories";

// The traces of one file, unsealed, with the base time added; several if the file holds several
// ranks. Errors: the file cannot be read, or it holds no trace events. Damage inside is counted in
// the notes.
[[nodiscard]] Result<std::vector<Trace>> read_kineto(const std::string& path,
                                                     const ReadControl& control);

// The same from any source of bytes; `path` is only a name. `open` returns the text from its
// beginning. It is called again if the text must be read twice.
using OpenSource = std::function<Result<std::unique_ptr<ByteSource>>()>;
[[nodiscard]] Result<std::vector<Trace>> read_kineto_from(const OpenSource& open,
                                                          const std::string& path,
                                                          const ReadControl& control);

}  // namespace stepscope
