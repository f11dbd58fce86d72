// SPDX-License-Identifier: Apache-2.0
// A simulated job (written_job.h) whose files are followed while it writes them, as `stepscope
// live` does it once a step, and what was said of it.
#pragma once

#include <cstdint>
#include <string>

#include "written_job.h"

namespace stepscope {

struct FollowedJob {
  std::int64_t right = -1;  // steps from the fault's first until its rank was named; -1: never
  int wrong = 0;            // other ranks that were named, or this one before
  std::int64_t link = -1;   // steps until the slow communicator's transfers were reported; -1:
                            // never
  int wrong_links = 0;      // longer transfers that were reported of others, or before
  int changes = 0;          // of the step time that were reported
  double step_s = 0;        // at the end
  std::uint64_t lines = 0;
};

// `folder` is made, emptied before and removed after.
[[nodiscard]] FollowedJob follow_job(const WrittenJobSetting& setting, std::uint64_t seed,
                                     std::int64_t steps, const std::string& folder);

}  // namespace stepscope
