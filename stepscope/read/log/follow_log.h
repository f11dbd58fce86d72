// SPDX-License-Identifier: Apache-2.0
// Reads the log of a training job while it grows (the lines of read_job_log.h), in bounded memory:
// steps are given once, and what has been given is forgotten.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/event/job_log.h"
#include "stepscope/read/log/line_pattern.h"

namespace stepscope {

class LogFollower {
 public:
  // With a pattern its lines come first, as in read_job_log().
  explicit LogFollower(std::optional<LinePattern> pattern = {});
  ~LogFollower();
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

  // A whole line without its end.
  void take(std::string_view line);
  // The steps that were reported since the last call, by the most trusted tool in the log. A step
  // that several ranks report is given with the time that was read first in this call or is the
  // longest.
  [[nodiscard]] std::vector<LogStep> take_steps();
  // The tool whose steps were given last; null before.
  [[nodiscard]] const LogTool* tool() const { return tool_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  const LogTool* tool_ = nullptr;
  std::size_t next_record_ = 0;  // the first record whose steps have not been given
  std::int64_t last_iteration_ = -1;
  std::int32_t last_epoch_ = -1;
};

}  // namespace stepscope
