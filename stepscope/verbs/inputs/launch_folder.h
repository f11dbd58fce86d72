// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "stepscope/base/result.h"

namespace stepscope {

// A folder for what launches write: `keep`, which is made, or a temporary one that is removed.
// Temporary folders that killed processes of this user left a minute ago or earlier are removed,
// too.
class LaunchFolder {
 public:
  [[nodiscard]] static Result<LaunchFolder> make(const std::string& keep);
  LaunchFolder(LaunchFolder&& other) noexcept;
  LaunchFolder& operator=(LaunchFolder&&) = delete;
  LaunchFolder(const LaunchFolder&) = delete;
  LaunchFolder& operator=(const LaunchFolder&) = delete;
  ~LaunchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LaunchFolder(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}

  std::string path_;
  bool keep_;
  int lock_ = -1;  // of a temporary folder; shows other processes that it is used
};

}  // namespace stepscope
