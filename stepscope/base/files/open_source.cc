// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/open_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "stepscope/base/files/remote_file.h"
#include "stepscope/base/files/remote_name.h"

namespace stepscope {
namespace {

Error system_error(const std::string& path, const std::string& doing, int code) {
  Error error{.what = doing + ": " + std::generic_category().message(code), .file = path};
  if (code == EACCES) error.hint = "check the file's permissions";
  if (code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG) error.hint = "check the path";
  return error;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// The bytes on disk. It is an error when a regular file becomes shorter than it was at opening.
class PlainSource final : public ByteSource {
 public:
  PlainSource(std::string path, Descriptor fd, std::uint64_t expected)
      : path_(std::move(path)), fd_(std::move(fd)), expected_(expected) {}

  Result<std::size_t> read(std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      const ssize_t n = ::read(fd_.get(), into.data() + got, into.size() - got);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_error(path_, "cannot read", errno);
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    position_ += got;
    if (got < into.size() && position_ < expected_)
      return Error{.what = "the file shrank from " + std::to_string(expected_) + " to " +
                           std::to_string(position_) + " bytes while it was read",
                   .file = path_,
                   .byte = position_,
                   .hint = "read it when its writer has finished"};
    return got;
  }
  [[nodiscard]] std::uint64_t position() const override { return position_; }

 private:
  std::string path_;
  Descriptor fd_;
  std::uint64_t expected_;
  std::uint64_t position_ = 0;
};

}  // namespace

Result<std::uint64_t> file_size(const std::string& path) {
  if (path.empty()) return Error{.what = "\"\" is an empty name", .hint = "name a file"};
  if (is_url(path)) {
    const auto file = remote_file(path);
    if (!file) return file.error();
    return (*file)->size;
  }
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return system_error(path, "cannot open", errno);
  if (S_ISDIR(info.st_mode))
    return Error{.what = "is a directory", .file = path, .hint = "give a file"};
  if (!S_ISREG(info.st_mode))
    return Error{.what = "is no regular file", .file = path, .hint = "write it to a file first"};
  return static_cast<std::uint64_t>(info.st_size);
}

bool may_be_file(const std::string& path) {
  std::error_code none;
  if (is_s3(path)) return !path.ends_with('/') && remote_file(path).has_value();
  return is_url(path) || std::filesystem::is_regular_file(path, none);
}

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
  if (is_url(path)) {
    const auto file = remote_file(path);
    if (!file) return file.error();
    return inflated(remote_source(*file), std::string_view((*file)->head).substr(0, 4),
                    shown_name(path));
  }
  const auto size = file_size(path);
  if (!size) return size.error();
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return system_error(path, "cannot open", errno);
  char magic[4] = {};
  const ssize_t got = ::pread(fd.get(), magic, sizeof magic, 0);
  return inflated(std::make_unique<PlainSource>(path, std::move(fd), *size),
                  {magic, got > 0 ? static_cast<std::size_t>(got) : 0}, path);
}

Result<std::string> read_text(const std::string& path, std::size_t most) {
  const auto source = open_source(path);
  if (!source) return source.error();
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const auto got = (*source)->read(part);
    if (!got) return got.error();
    text.append(part.data(), *got);
    if (text.size() > most)
      return Error{.what = "has more than " + std::to_string(most >> 20U) + " MiB",
                   .file = path,
                   .byte = most,
                   .hint = "check the path"};
    if (*got < part.size()) break;
  }
  if (const std::string damage = (*source)->damage(); !damage.empty())
    return Error{.what = damage, .file = path, .hint = "copy the file again"};
  return text;
}

}  // namespace stepscope
