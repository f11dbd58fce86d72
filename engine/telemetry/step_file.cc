// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/step_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

std::int64_t unix_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Error failure(const std::string& path, std::string what, int code) {
  return {.what = std::move(what) + ": " + std::generic_category().message(code),
          .file = path,
          .hint = code == ENOSPC || code == EDQUOT || code == EFBIG
                      ? "make room on the disk; training goes on, and steps are written again then"
                      : "check the directory's permissions"};
}

int open_to_append(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

}  // namespace

Result<StepFile> StepFile::open(const std::string& folder, StepWriter writer,
                                std::uint64_t most_bytes) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  const std::string path =
      (std::filesystem::path(folder) / ("steps-rank" + std::to_string(writer.rank) + ".jsonl"))
          .string();
  const int fd = open_to_append(path);
  if (fd < 0) return failure(path, "cannot be written", errno);
  struct stat at{};
  const auto bytes = ::fstat(fd, &at) == 0 ? static_cast<std::uint64_t>(at.st_size) : 0;
  return StepFile(path, fd, bytes, std::move(writer), most_bytes);
}

StepFile::StepFile(std::string path, int fd, std::uint64_t bytes, StepWriter writer,
                   std::uint64_t most_bytes)
    : path_(std::move(path)),
      fd_(fd),
      bytes_(bytes),
      most_bytes_(most_bytes),
      torn_(bytes > 0) {  // an empty line is nothing to a reader
  head_ =
      R"({"stepscope":"step","rank":)" + std::to_string(writer.rank) + R"(,"world":)" +
      std::to_string(writer.world) + R"(,"host":)" +
      nlohmann::json(writer.host).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
      R"(,"pid":)" + std::to_string(writer.pid) + R"(,"run":)" + std::to_string(unix_us());
}

StepFile::StepFile(StepFile&& other) noexcept { *this = std::move(other); }

StepFile& StepFile::operator=(StepFile&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_ = other.bytes_;
  most_bytes_ = other.most_bytes_;
  head_ = std::move(other.head_);
  line_ = std::move(other.line_);
  lost_ = other.lost_;
  torn_ = other.torn_;
  return *this;
}

StepFile::~StepFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Done> StepFile::begin_next() {
  if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0)
    return failure(path_, "cannot be renamed", errno);
  const int next = open_to_append(path_);
  if (next < 0) return failure(path_, "cannot be written", errno);
  ::close(std::exchange(fd_, next));
  bytes_ = 0;
  torn_ = false;
  return Done{};
}

Result<Done> StepFile::write(const StepRecord& step) {
  if (bytes_ >= most_bytes_)
    if (auto begun = begin_next(); !begun) {
      ++lost_;
      return begun;
    }
  line_.clear();
  if (torn_) line_ += '\n';
  const auto field = [&](std::string_view name, std::int64_t value) {
    line_ += name;
    line_ += std::to_string(value);
  };
  line_ += head_;
  field(R"(,"step":)", step.index);
  field(R"(,"end_us":)", unix_us());
  field(R"(,"wall_ns":)", (step.end - step.begin).count());
  field(R"(,"wait_ns":)", collective_wait_time(step.activity).count());
  if (lost_ > 0) field(R"(,"lost":)", static_cast<std::int64_t>(lost_));
  line_ += R"(,"phases_ns":{)";
  bool first = true;
  for (std::size_t i = 0; i < activity_count; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (step.activity[i] <= Ns{0} || activity == Activity::wait_fetch ||
        activity == Activity::wait_reduce || activity == Activity::wait_gather)
      continue;
    if (!std::exchange(first, false)) line_ += ',';
    line_ += '"';
    line_ += activity_names[i];
    field("\":", step.activity[i].count());
  }
  line_ += "}}\n";
  const ssize_t written = ::write(fd_, line_.data(), line_.size());
  const int code = errno;
  if (written > 0) bytes_ += static_cast<std::uint64_t>(written);
  if (written == static_cast<ssize_t>(line_.size())) {
    lost_ = 0;
    torn_ = false;
    return Done{};
  }
  torn_ |= written > 0;
  ++lost_;
  // A short write gives no reason; the disk is full.
  return failure(path_, "a step cannot be written", written < 0 ? code : ENOSPC);
}

}  // namespace stepscope
