// SPDX-License-Identifier: Apache-2.0
// A command run to its end in a process group of its own, which ends with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"

namespace stepscope {

struct ChildLimits {
  const StopFlag* stop = nullptr;      // once set, the whole group is ended: SIGTERM, after two
                                       // seconds SIGKILL
  std::optional<double> seconds = {};  // likewise after this time
};

// Standard output and error go to the file `log`, standard input is empty. The exit status, 128 +
// signal where one ended it. Errors: it could not be started, was interrupted
// (ErrorCode::interrupted) or took too long.
[[nodiscard]] Result<int> run_child(const std::vector<std::string>& words, const std::string& log,
                                    const ChildLimits& limits);

}  // namespace stepscope
