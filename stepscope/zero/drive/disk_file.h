// SPDX-License-Identifier: Apache-2.0
// A file read and written at offsets (pread, pwrite; never mapped). Errors name file and byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "stepscope/base/result.h"

namespace stepscope::zero {

// What a failed call of the system says: `doing` ("cannot write") and errno's text, and for a full
// disk or a missing permission what to do.
[[nodiscard]] Error file_error(const std::string& path, const std::string& doing, int code);

class DiskFile {
 public:
  [[nodiscard]] static Result<DiskFile> open(const std::string& path);
  // An empty file for writing and reading; one that is there is emptied.
  [[nodiscard]] static Result<DiskFile> create(const std::string& path);
  DiskFile(DiskFile&& other) noexcept;
  DiskFile& operator=(DiskFile&& other) noexcept;
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] Result<std::uint64_t> size() const;
  // All of `into` or `bytes`. A file that ends before is an error at the byte where it ends.
  [[nodiscard]] Result<Done> read(std::uint64_t offset, std::span<std::byte> into) const;
  [[nodiscard]] Result<Done> write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // The data is on the device (fsync).
  [[nodiscard]] Result<Done> sync() const;

 private:
  DiskFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

// Calls `write` with a new file beside `path`, flushes it to the device and renames it into place;
// on failure nothing is left of it.
[[nodiscard]] Result<Done> write_in_place(
    const std::string& path, const std::function<Result<Done>(const DiskFile&)>& write);

// The entries of a directory are on the device.
[[nodiscard]] Result<Done> sync_directory(const std::string& path);

}  // namespace stepscope::zero
