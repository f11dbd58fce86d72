// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/job_operations.h"

#include <algorithm>

namespace stepscope {

std::optional<JobOp> job_op_of(std::string_view name) {
  const auto* const at = std::ranges::find(job_op_names, name);
  if (at == job_op_names.end()) return std::nullopt;
  return static_cast<JobOp>(at - job_op_names.begin());
}

}  // namespace stepscope
