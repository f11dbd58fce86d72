// SPDX-License-Identifier: Apache-2.0
// Expands the user's inputs (files, directories, glob patterns) to the files to read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

struct InputFiles {
  std::vector<std::string>
      files;  // in natural order ("rank2" before "rank10") within each input, no file twice
  std::vector<Error>
      errors;  // inputs that gave nothing: no such file, a directory without traces, no match
};

// Directories are searched to any depth for the endings in read/files/formats, and so are the
// objects of S3 below a name that is not an object itself. A file that is named directly may have
// any ending. S3 names may be patterns, whose * does not match a slash.
[[nodiscard]] InputFiles find_input_files(std::span<const std::string> inputs);

}  // namespace stepscope
