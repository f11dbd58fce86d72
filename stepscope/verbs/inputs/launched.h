// SPDX-License-Identifier: Apache-2.0
// A verb whose work mpirun shares among processes: all of them run it, the first one speaks.
#pragma once

#include <memory>

#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

// Whether this process is to show and write nothing: a launcher has started it as another than the
// first one. From the first such call on, its output goes nowhere. It then ends with exit_done
// whatever the answer is: launchers end the others, the speaking one too, where one exits with an
// error.
bool is_silent();

struct JoinedCrew {
  std::unique_ptr<Crew> crew;  // lives as long as the request; null: there are no others
  bool lent = false;           // this process has nothing to do: others have had its cores
};

// Joins the processes that a launcher has started and sets the request's crew and threads
// (crew/process_crew.h). `--threads` is of one process: the first of a host has those of all
// processes there. If a process of the crew fails, the others end with exit_failed, and the first
// one says why.
[[nodiscard]] Result<JoinedCrew> join_launched(TracesRequest& request);

}  // namespace stepscope
