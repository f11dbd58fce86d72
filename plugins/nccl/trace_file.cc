// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/trace_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stepscope::nccl {

namespace {
constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;
}

bool TraceFile::open(const char* folder, const char* stem, std::uint64_t most_bytes) {
  std::snprintf(path_.data(), path_.size(), "%s/%s.partial.json", folder, stem);
  void* memory =
      mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  buffer_ = static_cast<char*>(memory);
  descriptor_ = ::open(path_.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) unmap();
  error_ = 0;
  incomplete_ = false;
  written_ = 0;
  size_ = 0;
  most_bytes_ = most_bytes;
  return descriptor_ >= 0;
}

void TraceFile::unmap() {
  const int error = errno;
  munmap(buffer_, buffer_bytes);
  buffer_ = nullptr;
  errno = error;
}

bool TraceFile::put(std::string_view text) {
  if (descriptor_ < 0) return false;
  if (text.size() > buffer_bytes - size_ && error_ == 0) flush();
  if (text.size() > buffer_bytes - size_) return false;
  std::memcpy(buffer_ + size_, text.data(), text.size());
  size_ += text.size();
  return true;
}

bool TraceFile::append(std::string_view rows) {
  if (most_bytes_ != 0 && bytes() + rows.size() > most_bytes_) return false;
  return put(rows);
}

bool TraceFile::append_end(std::string_view text) {
  if (text.size() > buffer_bytes - size_) flush();
  const bool fits = put(text);
  incomplete_ |= !fits;
  return fits;
}

void TraceFile::flush() {
  std::size_t done = 0;
  error_ = 0;
  while (descriptor_ >= 0 && error_ == 0 && done < size_) {
    const ssize_t n = ::write(descriptor_, buffer_ + done, size_ - done);
    if (n >= 0)
      done += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      error_ = errno;
  }
  written_ += done;
  size_ -= done;
  if (size_ > 0 && done > 0) std::memmove(buffer_, buffer_ + done, size_);
}

bool TraceFile::close(const char* folder, const char* stem) {
  if (descriptor_ < 0) return false;
  flush();
  if (::close(descriptor_) != 0 && error_ == 0) error_ = errno;
  descriptor_ = -1;
  unmap();
  if (error_ != 0 || incomplete_) {
    errno = error_ != 0 ? error_ : ENOSPC;
    return false;
  }
  std::array<char, 1400> name = {};
  std::snprintf(name.data(), name.size(), "%s/%s.json", folder, stem);
  return std::rename(path_.data(), name.data()) == 0;
}

}  // namespace stepscope::nccl
