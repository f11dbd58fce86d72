// SPDX-License-Identifier: Apache-2.0
// A file read and written at offsets (pread, pwrite; never mapped). Errors name file and byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope::zero {

// The error of a failed system call: `doing` ("cannot write") and errno's text. For a full disk or
// a missing permission it also says how to fix it.
[[nodiscard]] Error file_error(const std::string& path, const std::string& doing, int code);

class DiskFile {
 public:
  [[nodiscard]] static Result<DiskFile> open(const std::string& path);
  // A file without a place that holds `text`; errors call it `name`.
  [[nodiscard]] static Result<DiskFile> of_text(std::string_view text, const std::string& name);
  // Opens an empty file for writing and reading. An existing file is emptied.
  [[nodiscard]] static Result<DiskFile> create(const std::string& path);
  DiskFile(DiskFile&& other) noexcept;
  DiskFile& operator=(DiskFile&& other) noexcept;
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] Result<std::uint64_t> size() const;
  // Reads all of `into`, or writes all of `bytes`. If the file ends too early, the error names the
  // byte where it ends.
  [[nodiscard]] Result<Done> read(std::uint64_t offset, std::span<std::byte> into) const;
  [[nodiscard]] Result<Done> write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Flushes the data to the device (fsync).
  [[nodiscard]] Result<Done> sync() const;

 private:
  DiskFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

// Calls `write` with a new file in the folder of `path`, flushes it to the device and renames it
// into place. After a failure nothing of it is left.
[[nodiscard]] Result<Done> write_in_place(
    const std::string& path, const std::function<Result<Done>(const DiskFile&)>& write);

// Flushes a directory's entries to the device.
[[nodiscard]] Result<Done> sync_directory(const std::string& path);

}  // namespace stepscope::zero
