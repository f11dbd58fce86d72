// SPDX-License-Identifier: Apache-2.0
// The whole text of a file, inflated.
#pragma once

#include <string>

namespace stepscope::roundtrip {

// Throws std::runtime_error if the file cannot be read to its end.
[[nodiscard]] std::string file_text(const std::string& path);

}  // namespace stepscope::roundtrip
