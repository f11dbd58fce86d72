// SPDX-License-Identifier: Apache-2.0
// Reads a file into memory as a whole, for formats that cannot be read in parts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/read/bytes/read_control.h"

namespace stepscope {

struct WholeFileLimit {
  std::uint64_t bytes = 0;
  std::string_view what;  // "more than 2 GB of ...", for the error
  std::string_view hint;
};

// All bytes up to the end, or up to damage, which source.damage() describes. Errors: reading fails,
// the file exceeds the limit, the user stops it.
[[nodiscard]] Result<std::string> read_whole_file(ByteSource& source, const std::string& path,
                                                  const ReadControl& control,
                                                  const WholeFileLimit& limit);

// A whole file, inflated. Errors: a damaged file, more than 4 GB of text, the user stops it.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path,
                                                 const StopFlag* stop = nullptr);

// Calls take(path, inside) for each input, and for the files inside one that is a directory: those
// with short names first. A directory that has only directories stands for the files below it, at
// most 20,000. A directory without files is an error with this hint.
void each_file(std::span<const std::string> inputs, std::string_view hint,
               std::vector<Error>& errors,
               const std::function<void(const std::string& path, bool inside)>& take);

}  // namespace stepscope
