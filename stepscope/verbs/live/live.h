// SPDX-License-Identifier: Apache-2.0
// Follows a running job: what its files say is added to a JobState once an interval, and the caller
// sees the state after each. Ends when the caller or a signal asks for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/live/followed_files.h"
#include "stepscope/live/job_state.h"

namespace stepscope {

struct LiveRequest {
  // Directories and files that the job writes to.
  std::vector<std::string> sources{};
  double interval_s = 1;  // between two readings
  LiveLimits limits{};
  FollowLimits follow{};
  std::string log_pattern{};  // of the lines that report on a step (read/log/line_pattern.h)
  bool once = false;          // reads what is there, and ends
  double for_s = 0;           // ends after this time; 0: does not
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

// Reads a running job as often as it is asked to.
class LiveFollower {
 public:
  // `request.once` and `for_s` have no meaning here. Errors: a source does not exist.
  [[nodiscard]] static Result<LiveFollower> open(const LiveRequest& request);

  // Reads what has been written since the last call; `all`: until nothing is left, and concludes
  // from it what needs no more to come, else for about an interval. The view is valid until the
  // next call. Errors: no source says anything about a job, with `all`.
  [[nodiscard]] Result<LiveView> read(bool all, const Progress& progress);
  // Waits until an interval after the last reading began.
  void wait(const Progress& progress) const;
  [[nodiscard]] double since() const { return since_; }

 private:
  explicit LiveFollower(const LiveRequest& request);

  LiveRequest request_;
  std::unique_ptr<FollowedFiles> files_;
  std::unique_ptr<JobState> job_;
  std::unique_ptr<FollowTotals> totals_;
  double since_ = 0;
  double looked_ = 0;
  double due_ = 0;
};

// `show` is called once an interval; false ends. Errors: a source does not exist; no source says
// anything, with `once`; interrupted is no error but the end.
[[nodiscard]] Result<Done> live(const LiveRequest& request,
                                const std::function<bool(const LiveView&)>& show,
                                const Progress& progress = {});

}  // namespace stepscope
