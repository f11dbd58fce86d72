// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/findings/findings.h"

namespace stepscope {

std::vector<Finding> find_findings(const FindingContext& context) {
  FindingList list(context);
  if (context.job.ranks.empty()) return {};
  find_faults(list);
  find_communication(list);
  find_prefetch(list);
  find_algorithms(list);
  find_shapes(list);
  find_host(list);
  find_compute(list);
  find_memory_and_capture(list);
  find_lock_and_retries(list);
  find_clocks(list);
  return list.take();
}

}  // namespace stepscope
