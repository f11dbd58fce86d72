// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

Error output_error(const std::string& path, const std::string& doing, int code) {
  Error error{.what = doing + ": " + std::generic_category().message(code), .file = path};
  if (code == ENOSPC || code == EDQUOT || code == EFBIG)
    error.hint = "free space or choose another place";
  if (code == EACCES || code == EROFS || code == EPERM)
    error.hint = "choose a place that you may write to";
  if (code == ENOENT || code == ENOTDIR) error.hint = "create the directory first";
  if (code == EISDIR) error.hint = "name a file in it";
  if (code == ENAMETOOLONG) error.hint = "choose a shorter name";
  return error;
}

// Temporary files and folders that are there, and who may end the process.
struct Unfinished {
  std::mutex guard;  // held for good once the process ends
  std::set<std::string> files;
  std::set<std::string> folders;
  std::shared_mutex unbroken;
};

// Never destroyed: threads may write while the process exits.
Unfinished& unfinished() {
  static auto* const all = new Unfinished;
  return *all;
}

void forget_file(const std::string& path) {
  const std::lock_guard lock(unfinished().guard);
  unfinished().files.erase(path);
}

}  // namespace

void note_folder(const std::string& path) {
  const std::lock_guard lock(unfinished().guard);
  unfinished().folders.insert(path);
}

void forget_folder(const std::string& path) {
  const std::lock_guard lock(unfinished().guard);
  unfinished().folders.erase(path);
}

Unbroken::Unbroken() { unfinished().unbroken.lock_shared(); }
Unbroken::~Unbroken() { unfinished().unbroken.unlock_shared(); }

void end_process(int code) {
  unfinished().unbroken.lock();
  unfinished().guard.lock();
  for (const std::string& path : unfinished().files) ::unlink(path.c_str());
  std::error_code ignored;
  for (const std::string& path : unfinished().folders) std::filesystem::remove_all(path, ignored);
  ::_exit(code);
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  struct stat info{};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return output_error(path, "cannot write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return output_error(path, "cannot write", errno);
    return OutputFile(path, "", fd);
  }
  if (exists && (info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0)  // renaming would replace it
    return output_error(path, "cannot write", EACCES);
  // A name that exists is skipped. It may belong to another writer or to a process that died, or it
  // may be a link that another user made.
  const std::string first = path + ".tmp" + std::to_string(::getpid());
  constexpr int most_names = 100;
  for (int i = 0; i < most_names; ++i) {
    const std::string temporary = i == 0 ? first : first + "-" + std::to_string(i);
    const std::lock_guard lock(unfinished().guard);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) unfinished().files.insert(temporary);
    if (fd >= 0) return OutputFile(path, temporary, fd);
    if (errno != EEXIST) return output_error(path, "cannot write", errno);
  }
  return Error{.what = "cannot write: " + first + " and its like exist",
               .file = path,
               .hint = "delete these files"};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      failed_(std::move(other.failed_)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget_file(temporary_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      failed_ = output_error(path_, "cannot write", errno);
    else
      bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

Result<Done> OutputFile::commit() {
  if (::close(std::exchange(fd_, -1)) != 0 && !failed_)
    failed_ = output_error(path_, "cannot write", errno);
  if (failed_) return *failed_;
  if (temporary_.empty()) return Done{};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return output_error(path_, "cannot write", errno);
  forget_file(temporary_);
  temporary_.clear();
  return Done{};
}

Result<Done> write_file(const std::string& path, std::string_view bytes) {
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  file->write(bytes);
  return file->commit();
}

Result<Done> write_report(const std::string& path, std::string_view bytes) {
  constexpr std::size_t most_compared = 20;  // {"schema":"stepscope
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    std::string old(std::min(most_compared, bytes.size()), '\0');
    std::ifstream(path, std::ios::binary).read(old.data(), std::ssize(old));
    if (!bytes.starts_with(old))
      return Error{
          .what = "cannot write: the file exists and does not read as a report of this kind",
          .file = path,
          .hint = "give another name, or delete the file first"};
  }
  return write_file(path, bytes);
}

}  // namespace stepscope
