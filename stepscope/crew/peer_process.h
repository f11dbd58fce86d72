// SPDX-License-Identifier: Apache-2.0
// Whether another process still runs.
#pragma once

#include <sys/types.h>

#include <string>

namespace stepscope {

class PeerProcess {
 public:
  PeerProcess() = default;  // a thread of this process: always alive
  explicit PeerProcess(pid_t pid);
  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&& other) noexcept;
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess();

  [[nodiscard]] bool dead() const;
  [[nodiscard]] bool stopped() const;  // by SIGSTOP or a debugger
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int descriptor_ = -1;  // a pidfd: stays valid when its pid is used again
};

}  // namespace stepscope
