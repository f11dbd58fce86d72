// SPDX-License-Identifier: Apache-2.0
// What waits for what among the operations of one pipeline (all stages of one DP rank) in one step,
// by the dependency model of StragglerAnalysis (arXiv 2505.05713, section 3; diagnosis 1.1):
//   - the compute operations of a stage run one after the other, by start;
//   - so do those of each of four streams: forward send, forward receive, backward send, backward
//     receive; a fifth has the parameters' all-gathers and the gradients' reduce-scatters;
//   - a receive precedes its compute operation and follows the one before it; a send follows its;
//   - the first backward send and receive follow the second compute before the first backward;
//   - an all-gather precedes the first forward of its model chunk; where gradients are reduced
//   while
//     the backward runs (there are separate-grads-all-reduces), a reduce-scatter follows the last
//     backward of its chunk;
//   - after the last compute of a stage: garbage collection, layernorm gradients, embedding
//     gradients (first and last stage), reduce-scatters unless overlapped, clipping, optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/replay_graph.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// One operation of the pipeline, with the times of the step that the order is taken from.
struct ScheduledOp {
  JobOp op = JobOp::forward_compute;
  std::int32_t stage = 0;
  std::int32_t seq_id = 0;
  std::int32_t mc = -1;
  std::int32_t gmc = -1;
  Seconds start{};
  Seconds end{};
};

struct JobSchedule {
  std::vector<GraphEdge> waits;  // `to` starts when all its `from` have ended; numbers of `ops`
  // Of each operation the transfer that it takes part in: members end when the last has come and
  // its own transfer is done. no_node for what transfers with nobody.
  std::vector<std::uint32_t> transfer;
  std::vector<bool> over_dp;  // of each operation: its transfer has the other DP ranks' too
  std::uint32_t transfers = 0;
  // What did not fit together, and how often: sends without receives, operations of a kind that
  // are fewer than the computes they serve.
  std::map<std::string, std::uint64_t> notes;
};

[[nodiscard]] JobSchedule schedule_job(const std::vector<ScheduledOp>& ops);

}  // namespace stepscope
