// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/launch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "stepscope/base/output_file.h"

namespace stepscope {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view folder_prefix = "stepscope-launches-";

// A descriptor that holds the lock of a folder until it is closed or the process ends in any way;
// -1 where another process has it.
int lock_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

// Whether it is of this user and so old that a process that made it has locked it.
bool is_old_and_own(const std::string& path) {
  constexpr std::time_t fresh = 60;  // seconds
  struct stat about{};
  return ::lstat(path.c_str(), &about) == 0 && about.st_uid == ::geteuid() &&
         S_ISDIR(about.st_mode) && about.st_mtime + fresh < std::time(nullptr);
}

// Removes what killed processes have left.
void remove_left_folders(const fs::path& place) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(place, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(folder_prefix) || !is_old_and_own(path))
      continue;
    const int lock = lock_folder(path);
    if (lock < 0) continue;
    fs::remove_all(path, ignored);
    ::close(lock);
  }
}

}  // namespace

Result<LaunchFolder> LaunchFolder::make(const std::string& keep) {
  std::error_code code;
  if (!keep.empty()) {
    fs::create_directories(keep, code);
    if (code)
      return Error{.what = "cannot make the directory: " + code.message(),
                   .file = keep,
                   .hint = "choose a place that you may write to"};
    return LaunchFolder(keep, true);
  }
  const fs::path place = fs::temp_directory_path(code);
  if (!code) remove_left_folders(place);
  std::string name = (place / (std::string(folder_prefix) + "XXXXXX")).string();
  if (code || ::mkdtemp(name.data()) == nullptr)
    return Error{.what = "cannot make a temporary directory",
                 .file = name,
                 .hint = "set TMPDIR to a place that you may write to, or give --keep DIR"};
  LaunchFolder folder(name, false);
  folder.lock_ = lock_folder(name);
  note_folder(name);
  return folder;
}

LaunchFolder::LaunchFolder(LaunchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      keep_(other.keep_),
      lock_(std::exchange(other.lock_, -1)) {}

LaunchFolder::~LaunchFolder() {
  std::error_code ignored;
  if (!keep_ && !path_.empty()) {
    fs::remove_all(path_, ignored);
    forget_folder(path_);
  }
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace stepscope
