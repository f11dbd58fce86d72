// SPDX-License-Identifier: Apache-2.0
// Commands that run in parallel with this program, one for each requested event of a job.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/live/job_state.h"

namespace stepscope {

class EventCommands {
 public:
  static constexpr std::size_t most_running = 8;

  // Pairs of an event's name (slowdown, silence, stuck, restarted, any) and a command for /bin/sh.
  // Error: a name that does not exist.
  [[nodiscard]] static Result<EventCommands> make(
      std::vector<std::pair<std::string, std::string>> commands);
  ~EventCommands() = default;

  // Starts the commands of these events. Errors: a command cannot be started, or most_running of
  // them have not ended.
  [[nodiscard]] std::vector<Error> run(std::span<const LiveEvent> events);

 private:
  std::vector<std::pair<std::string, std::string>> commands_;
  std::vector<pid_t> running_;
};

}  // namespace stepscope
