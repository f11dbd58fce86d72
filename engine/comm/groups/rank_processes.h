// SPDX-License-Identifier: Apache-2.0
// A program that runs as several ranks: copies of this very program with its own command line, on
// this machine (shm_group.h).
#pragma once

#include <functional>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"

namespace stepscope {

// Exit statuses by which a rank's process shows how it ended to the process that has started it; 0:
// well.
inline constexpr int lost_peer_status = 75;     // another rank died or hangs: worth a restart
inline constexpr int interrupted_status = 130;  // it was asked to stop

struct RankLaunch {
  int ranks = 1;
  int restarts = 0;  // at most so often the ranks are started again, when one has died or hangs
  // Before a restart: its number from 1 on, and why. The error's code is `reported` where the ranks
  // have said it themselves. May be empty.
  std::function<void(int number, const Error& why)> restarting{};
  // Once set, the ranks get SIGTERM. May be null.
  const StopFlag* stop = nullptr;
};

// Starts this process's program once for each rank, with the same arguments, and returns when all
// have ended. See spawn_ranks() for signals. Errors: interrupted; the ranks cannot be started; a
// signal ended a rank; a rank ended with another status than 0 (code `reported`: it has said why).
[[nodiscard]] Result<Done> run_rank_processes(const RankLaunch& launch);

// In a process that run_rank_processes() has started: how often ranks had been started again before
// it; else 0.
[[nodiscard]] int rank_restarts();

}  // namespace stepscope
