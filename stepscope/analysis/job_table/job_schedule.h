// SPDX-License-Identifier: Apache-2.0
// Dependencies among the operations of one pipeline (all stages of one DP rank) in one step, by the
// model of StragglerAnalysis (arXiv 2505.05713, section 3):
//   - the compute operations of a stage run one after the other, by start;
//   - so do those of each of four streams: forward send, forward receive, backward send, backward
//     receive; a fifth stream has the parameters' all-gathers and the gradients' reduce-scatters;
//   - a receive precedes its compute operation and follows the one before; a send follows its own;
//   - the first backward send and receive follow the second compute before the first backward;
//   - an all-gather precedes the first forward of its model chunk; if gradients are reduced during
//     the backward (there are separate-grads-all-reduces), a reduce-scatter follows the last
//     backward of its chunk;
//   - after the last compute of a stage: garbage collection, layernorm gradients, embedding
//     gradients (first and last stage), reduce-scatters unless overlapped, clipping, optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepscope/analysis/graph/replay_graph.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// One operation of the pipeline. Its times in this step determine the order.
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
  std::vector<GraphEdge> waits;  // `to` starts after all its `from` have ended; indices into `ops`
  // By operation: the transfer it takes part in. Members end when the last has come and their own
  // transfer is done. no_node for operations that transfer alone.
  std::vector<std::uint32_t> transfer;
  std::vector<bool> over_dp;  // by operation: its transfer includes the other DP ranks
  std::uint32_t transfers = 0;
  // Inconsistencies with their counts: sends without receives, or fewer operations of a kind than
  // the computes they serve.
  std::map<std::string, std::uint64_t> notes;
};

[[nodiscard]] JobSchedule schedule_job(const std::vector<ScheduledOp>& ops);

}  // namespace stepscope
