// SPDX-License-Identifier: Apache-2.0
// What successive statuses of NCCL's RAS tell of a running job: ranks that do not answer, and
// communicators in which some ranks have called a collective that others have not, and nothing has
// changed for some time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepscope/live/live_event.h"
#include "stepscope/read/nccl/ras_status.h"

namespace stepscope {

class RasWatch {
 public:
  // Events that are new; `stuck_s` as in LiveLimits. An event is told once until its cause ends.
  [[nodiscard]] std::vector<LiveEvent> take(const RasStatus& status, double now, double stuck_s);

 private:
  struct Communicator {
    std::vector<std::array<std::uint64_t, collective_kind_count>> calls{};  // by answering rank
    double changed = 0;
    bool told_stuck = false;
    std::vector<std::int32_t> told_missing{};
    double seen = 0;
  };
  std::map<std::string, Communicator> communicators_;
};

}  // namespace stepscope
