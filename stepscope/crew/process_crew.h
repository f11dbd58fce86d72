// SPDX-License-Identifier: Apache-2.0
// The processes that mpirun, mpiexec or srun has started, as a crew (base/crew.h). Threads of one
// process copy nothing to each other. So the first process of each host computes with the cores of
// all of that host's; the others wait until it has ended.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Called in each process that can no longer exchange, with the reason. It must not return.
using CrewFailed = std::function<void(const Error&)>;

struct LaunchedCrew {
  // The crew of the first processes of all hosts; it may have one member. Null: a launcher has
  // started no other process, or this one has lent its cores. Lives until this process has nothing
  // more to do.
  std::unique_ptr<Crew> crew;
  bool lent = false;       // the first process of this host has had this one's cores and has ended
  unsigned processes = 1;  // of this host, whose cores this process has
  unsigned cores = 1;      // that it may use
};

// `work` is what this process was asked to do. With STEPSCOPE_PROCESSES=apart in the environment
// every process computes, as if each were on a host of its own. Errors: there is no MPI, the
// launcher has not joined its processes, or their work differs.
[[nodiscard]] Result<LaunchedCrew> launched_crew(std::string_view work, CrewFailed failed);

// This process's number by its launcher; 0 without one.
[[nodiscard]] int launched_number();

// Lets this process end although others may not be able to: its launcher then ends them.
void leave_crew() noexcept;

}  // namespace stepscope
