// SPDX-License-Identifier: Apache-2.0
// For tests: a temporary folder, removed with its contents.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "stepscope/base/result.h"

namespace stepscope::test {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "stepscope-XXXXXX").string();
    check(mkdtemp(name.data()) != nullptr, "there is room for a folder");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }

  std::filesystem::path path;
};

}  // namespace stepscope::test
