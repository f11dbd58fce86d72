// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/disk_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stepscope::zero {

Error file_error(const std::string& path, const std::string& doing, int code) {
  Error error{.what = doing + ": " + std::generic_category().message(code), .file = path};
  if (code == ENOSPC || code == EDQUOT || code == EFBIG)
    error.hint = "free space or choose another place";
  if (code == EACCES || code == EROFS || code == EPERM) error.hint = "check the permissions";
  if (code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG) error.hint = "check the path";
  return error;
}

Result<DiskFile> DiskFile::open(const std::string& path) {
  // Without O_NONBLOCK the opening of a named pipe waits for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error(path, "cannot open", errno);
  DiskFile file(path, fd);
  struct stat info{};
  if (::fstat(fd, &info) != 0) return file_error(path, "cannot open", errno);
  if (!S_ISREG(info.st_mode))
    return Error{.what = "is no regular file", .file = path, .hint = "write it to a file first"};
  return file;
}

Result<DiskFile> DiskFile::of_text(std::string_view text, const std::string& name) {
  const int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0) return file_error(name, "cannot hold it in memory", errno);
  DiskFile file(name, fd);
  if (auto written = file.write(0, std::as_bytes(std::span(text))); !written)
    return written.error();
  return file;
}

Result<DiskFile> DiskFile::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return file_error(path, "cannot create", errno);
  return DiskFile(path, fd);
}

DiskFile::DiskFile(DiskFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

DiskFile& DiskFile::operator=(DiskFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

DiskFile::~DiskFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::uint64_t> DiskFile::size() const {
  struct stat info{};
  if (::fstat(fd_, &info) != 0) return file_error(path_, "cannot read its size", errno);
  return static_cast<std::uint64_t>(info.st_size);
}

Result<Done> DiskFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t n = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      Error error = file_error(path_, "cannot read", errno);
      error.byte = offset;
      return error;
    }
    if (n == 0) {
      return Error{.what = "the file ends here, " + std::to_string(into.size()) +
                           " bytes before the end of what should be read",
                   .file = path_,
                   .byte = offset,
                   .hint = "write or copy the file again"};
    }
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return Done{};
}

Result<Done> DiskFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      Error error = file_error(path_, "cannot write", n < 0 ? errno : ENOSPC);
      error.byte = offset;
      return error;
    }
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return Done{};
}

Result<Done> DiskFile::sync() const {
  if (::fsync(fd_) != 0) return file_error(path_, "cannot write to the device", errno);
  return Done{};
}

Result<Done> write_in_place(const std::string& path,
                            const std::function<Result<Done>(const DiskFile&)>& write) {
  const std::string temporary = path + ".tmp";
  const auto all = [&]() -> Result<Done> {
    auto file = DiskFile::create(temporary);
    if (!file) return file.error();
    if (auto written = write(*file); !written) return written.error();
    if (auto synced = file->sync(); !synced) return synced.error();
    if (std::rename(temporary.c_str(), path.c_str()) != 0)
      return file_error(path, "cannot write", errno);
    return Done{};
  };
  auto written = all();
  std::error_code ignored;
  if (!written) std::filesystem::remove(temporary, ignored);
  return written;
}

Result<Done> sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return file_error(path, "cannot open", errno);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // EINVAL: this file system cannot flush directories and need not.
  if (failed != 0 && failed != EINVAL)
    return file_error(path, "cannot write to the device", failed);
  return Done{};
}

}  // namespace stepscope::zero
