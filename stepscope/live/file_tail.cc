// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/file_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t piece = std::size_t{1} << 16;
constexpr std::size_t compared_bytes = 256;

Error tail_error(const std::string& path, const char* doing, int code) {
  Error error{.what = std::string("cannot ") + doing + ": " + std::generic_category().message(code),
              .file = path,
              .hint = "check the file and its permissions"};
  if (code == EMFILE) error.hint = "raise the limit of open files (ulimit -n)";
  return error;
}

}  // namespace

FileTail::FileTail(std::string path, std::uint64_t most_old)
    : path_(std::move(path)), most_old_(most_old) {}

FileTail::~FileTail() {
  if (fd_ >= 0) ::close(fd_);
}

Result<TailState> FileTail::open() {
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT) return TailState::missing;
    return tail_error(path_, "open", errno);
  }
  struct stat at{};
  if (::fstat(fd, &at) != 0 || !S_ISREG(at.st_mode)) {
    ::close(fd);
    return Error{.what = "is not a regular file",
                 .file = path_,
                 .hint = "give files that other programs append to"};
  }
  fd_ = fd;
  device_ = at.st_dev;
  inode_ = at.st_ino;
  begin_again();
  if (first_ && static_cast<std::uint64_t>(at.st_size) > most_old_) {
    // From the byte before on: a line that begins exactly there is kept.
    offset_ = static_cast<std::uint64_t>(at.st_size) - most_old_ - 1;
    counts_.skipped_bytes += offset_;
    skip_line_ = true;
  }
  first_ = false;
  return TailState::more;
}

void FileTail::begin_again() {
  offset_ = 0;
  skip_line_ = false;
  partial_.clear();
  last_bytes_.clear();
}

void FileTail::remember(std::string_view bytes) {
  last_bytes_.append(bytes.substr(bytes.size() - std::min(bytes.size(), compared_bytes)));
  if (last_bytes_.size() > compared_bytes)
    last_bytes_.erase(0, last_bytes_.size() - compared_bytes);
}

void FileTail::take(std::string_view bytes, const Line& line) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (!skip_line_ && partial_.size() + part.size() > most_line_bytes) {
      ++counts_.long_lines;
      skip_line_ = true;
      partial_ = {};
    }
    if (end == std::string_view::npos) {
      if (!skip_line_) partial_.append(part);
      return;
    }
    if (std::exchange(skip_line_, false)) continue;
    std::string_view whole = part;
    if (!partial_.empty()) whole = partial_.append(part);
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    if (!whole.empty()) line(whole);
    partial_.clear();
    if (partial_.capacity() > piece) partial_.shrink_to_fit();
  }
}

Result<TailState> FileTail::read_on(std::uint64_t most_bytes, const Line& line,
                                    const Restarted& restarted) {
  struct stat at{};
  if (::fstat(fd_, &at) != 0) return tail_error(path_, "read", errno);
  const auto size = static_cast<std::uint64_t>(at.st_size);
  const std::int64_t changed = at.st_mtim.tv_sec * 1'000'000'000 + at.st_mtim.tv_nsec;
  // A file that was written over may have its old size.
  if (size == offset_ && (offset_ == 0 || changed == changed_ns_)) return TailState::caught_up;
  changed_ns_ = changed;
  std::array<char, piece> room;
  bool again = size < offset_;
  if (!again && !last_bytes_.empty()) {
    const ssize_t got = ::pread(fd_, room.data(), last_bytes_.size(),
                                static_cast<off_t>(offset_ - last_bytes_.size()));
    if (got < 0) return tail_error(path_, "read", errno);
    again = std::string_view(room.data(), static_cast<std::size_t>(got)) != last_bytes_;
  }
  if (again) {
    ++counts_.truncations;
    begin_again();
    restarted();
  }
  std::uint64_t taken = 0;
  while (taken < most_bytes) {
    const ssize_t got = ::pread(fd_, room.data(), room.size(), static_cast<off_t>(offset_));
    if (got < 0) {
      if (errno == EINTR) continue;
      return tail_error(path_, "read", errno);
    }
    if (got == 0) return TailState::caught_up;
    const std::string_view bytes(room.data(), static_cast<std::size_t>(got));
    offset_ += bytes.size();
    taken += bytes.size();
    counts_.bytes += bytes.size();
    remember(bytes);
    take(bytes, line);
    if (bytes.size() < room.size()) return TailState::caught_up;
  }
  return TailState::more;
}

Result<TailState> FileTail::poll(std::uint64_t most_bytes, const Line& line,
                                 const Restarted& restarted) {
  if (fd_ < 0) {
    const bool replaced = !first_;
    auto opened = open();
    if (!opened || *opened == TailState::missing) return opened;
    if (replaced) restarted();
  }
  const auto state = read_on(most_bytes, line, restarted);
  if (!state || *state == TailState::more) return state;
  struct stat named{};
  const bool there = ::stat(path_.c_str(), &named) == 0;
  if (there && named.st_dev == device_ && named.st_ino == inode_) return TailState::caught_up;
  // The writer may have appended between the last read and the change of the name.
  const auto rest = read_on(most_bytes, line, restarted);
  if (!rest || *rest == TailState::more) return rest;
  if (!there) return TailState::missing;  // the old file stays open: its writer may still append
  ::close(std::exchange(fd_, -1));
  ++counts_.rotations;
  const auto opened = open();
  if (!opened || *opened == TailState::missing) return opened;
  restarted();
  return read_on(most_bytes, line, restarted);
}

}  // namespace stepscope
