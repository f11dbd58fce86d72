// SPDX-License-Identifier: Apache-2.0
// A file that has to be in memory whole before anything of it can be understood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

struct WholeFileLimit {
  std::uint64_t bytes = 0;
  std::string_view what;  // "more than 2 GB of ...", where there are more
  std::string_view hint;
};

// All bytes up to the end, or to damage, of which source.damage() tells. Fails where reading does,
// beyond the limit, and when it is stopped.
[[nodiscard]] Result<std::string> read_whole_file(ByteSource& source, const std::string& path,
                                                  const ReadControl& control,
                                                  const WholeFileLimit& limit);

// A whole file, inflated. A damaged file and more than 4 GB of text are errors.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

}  // namespace stepscope
