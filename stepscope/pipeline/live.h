// SPDX-License-Identifier: Apache-2.0
// Follows a running job: what its files tell is added to a JobState once an interval, and the
// caller sees the state after each. Ends when the caller or a signal asks for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/live/followed_files.h"
#include "stepscope/live/job_state.h"
#include "stepscope/pipeline/progress.h"

namespace stepscope {

struct LiveRequest {
  // Directories and files that the job writes to.
  std::vector<std::string> sources{};
  double interval_s = 1;  // between two readings
  LiveLimits limits{};
  FollowLimits follow{};
  bool once = false;  // reads what is there, and ends
  double for_s = 0;   // ends after this time; 0: does not
};

// The job as it is known now. Valid during the call that gives it.
struct LiveView {
  const JobState& job;
  const FollowTotals& files;
  std::vector<LiveEvent> events{};  // that are new
  double now = 0;                   // on the job state's clock
  double since = 0;                 // when following began
  bool catching_up = false;         // files have more than could be read in the interval
};

// `show` is called once an interval; false ends. Errors: a source does not exist; no source tells
// anything, with `once`; interrupted is no error but the end.
[[nodiscard]] Result<Done> live(const LiveRequest& request,
                                const std::function<bool(const LiveView&)>& show,
                                const Progress& progress = {});

}  // namespace stepscope
