// SPDX-License-Identifier: Apache-2.0
// What the user named (files, directories, glob patterns) → the files to read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

struct InputFiles {
  std::vector<std::string>
      files;  // sorted by natural order ("rank2" before "rank10") within each input, no file twice
  std::vector<Error>
      errors;  // an input that gave nothing: no such file, a directory without traces, no match
};

// Directories are searched to any depth for the endings of read/formats; a file named outright may
// end as it likes.
[[nodiscard]] InputFiles find_input_files(std::span<const std::string> inputs);

}  // namespace stepscope
