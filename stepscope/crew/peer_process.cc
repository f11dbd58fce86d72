// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/peer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace stepscope {

PeerProcess::PeerProcess(pid_t pid) : pid_(pid) {
  if (pid != 0) descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}
PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), descriptor_(std::exchange(other.descriptor_, -1)) {}
PeerProcess& PeerProcess::operator=(PeerProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
PeerProcess::~PeerProcess() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PeerProcess::dead() const {
  if (pid_ == 0) return false;
  if (descriptor_ < 0) return ::kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd end{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, 0) == 1;
}

bool PeerProcess::stopped() const {
  if (pid_ == 0) return false;
  const std::string path = "/proc/" + std::to_string(pid_) + "/stat";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 512> text{};
  const ssize_t got = ::read(file, text.data(), text.size());
  ::close(file);
  const std::string_view all(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name_end = all.rfind(')');  // "pid (name) S …"
  if (name_end == std::string_view::npos || name_end + 2 >= all.size()) return false;
  return all[name_end + 2] == 'T' || all[name_end + 2] == 't';
}

}  // namespace stepscope
