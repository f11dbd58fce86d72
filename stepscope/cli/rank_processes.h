// SPDX-License-Identifier: Apache-2.0
// A command that runs as several ranks: copies of this very command on this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

// A rank's exit code where it could not go on because another one died or hangs: worth a restart.
inline constexpr int exit_lost_peer = 75;

// In a process that run_rank_processes() has started: joins the others and runs `rank`.
[[nodiscard]] int run_as_rank(const std::function<int(std::unique_ptr<Communicator>)>& rank);

struct RankCommand {
  int ranks = 1;
  int restarts = 0;                // at most so often, when a rank has died or hangs
  std::vector<std::string> again;  // arguments that a restarted command has besides its own
};

// Starts this command once for each rank and returns its exit code: that of the first rank to fail.
// A rank that a signal ended is named here; what else failed, the ranks have said.
[[nodiscard]] int run_rank_processes(const RankCommand& command);

}  // namespace stepscope
