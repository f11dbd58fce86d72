// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes of one host. They are started here and joined through shared memory,
// which each inherits as a descriptor. The memory has no name, so nothing is left behind however
// the processes end.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/groups/thread_group.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"

namespace stepscope {

struct SpawnOptions {
  Bytes bucket = default_bucket;           // memory that each rank stages in
  Ns grace = std::chrono::seconds(5);      // from a failure or signal to SIGTERM, and on to SIGKILL
  std::vector<std::string> environment{};  // NAME=VALUE, besides this process's own
  const StopFlag* stop = nullptr;          // once set, the ranks get SIGTERM; may be null
};

struct RankExit {
  pid_t pid = 0;
  int status = 0;  // exit status; 128 + signal if a signal ended it
  int signal = 0;  // that signal
};
struct SpawnReport {
  std::vector<RankExit> ranks{};
  std::optional<int> first_failed{};  // the rank that failed first: status not 0
  int interrupted_by = 0;             // SIGINT, SIGTERM or SIGHUP if one came or `stop` was set
};

// Starts `ranks` copies of a program (argv[0] is looked for in PATH) and returns when all have
// ended. The environment gives each copy its place: STEPSCOPE_RANK, STEPSCOPE_RANKS and
// STEPSCOPE_SHM_FD. When one rank fails, the others have `grace` to report what they waited for.
// Then they get SIGTERM, and after another `grace` SIGKILL. SIGINT, SIGTERM and SIGHUP are passed
// on to them; a second signal kills them. They die with the calling thread, however it ends. No
// other thread may take those signals. Error: no shared memory, or the program cannot be started.
[[nodiscard]] Result<SpawnReport> spawn_ranks(std::span<const std::string> argv, int ranks,
                                              const SpawnOptions& options = {});

// Whether spawn_ranks has started this process.
[[nodiscard]] bool is_spawned_rank();
// Joins the group as the rank that spawn_ranks started this process as. Returns when all ranks have
// joined. May be called once per process. Error: spawn_ranks has not started this process, or a
// rank ended or did not join by the deadline. The first rank that finds the latter has the code
// `failed`, and the others `other_rank`: one speaks for the group.
[[nodiscard]] Result<std::unique_ptr<Communicator>> join_shm_group(
    Ns deadline = std::chrono::seconds(60));

}  // namespace stepscope
