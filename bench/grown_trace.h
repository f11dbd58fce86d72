// SPDX-License-Identifier: Apache-2.0
// A real recording made longer.
#pragma once

#include <cstdint>
#include <string>

#include "stepscope/base/result.h"

namespace stepscope::bench {

// Writes the text of a trace (.json, .json.gz) to standard output with its events repeated until it
// is about `bytes` long. Each copy is later than the previous one by the trace's length. Numbers
// that link rows or count steps continue from copy to copy. The result is therefore one long
// recording, not many equal ones. Rows that name processes and threads (M) appear once.
[[nodiscard]] Result<Done> write_grown(const std::string& trace, std::uint64_t bytes);

}  // namespace stepscope::bench
