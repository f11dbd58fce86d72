// SPDX-License-Identifier: Apache-2.0
// A temporary folder, removed with its contents.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "stepscope/base/result.h"

namespace stepscope::matrix {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "training-XXXXXX").string();
    check(mkdtemp(name.data()) != nullptr, "there is room for a folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace stepscope::matrix
