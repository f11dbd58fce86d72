// SPDX-License-Identifier: Apache-2.0
// The processes that mpirun, mpiexec or srun has started, as a crew (base/crew.h).
#pragma once

#include <functional>
#include <memory>

#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Called in each process that can no longer exchange, with the reason. It must not return.
using CrewFailed = std::function<void(const Error&)>;

// Null: a launcher has started no other process. Errors: there is no MPI, or the launcher has not
// joined its processes.
[[nodiscard]] Result<std::unique_ptr<Crew>> launched_crew(CrewFailed failed);

// The threads for this process, so that those of this host have a core each; at least 1. After
// launched_crew().
[[nodiscard]] unsigned threads_of_crew();

// This process's number by its launcher; 0 without one.
[[nodiscard]] int launched_number();

// Lets this process end although others may not be able to: its launcher then ends them.
void leave_crew() noexcept;

}  // namespace stepscope
