// SPDX-License-Identifier: Apache-2.0
// The speed of a job without stragglers, and the stragglers: the what-if analysis of
// StragglerAnalysis (arXiv 2505.05713, equations 1 to 5) on a table of operations.
//   T        mean step replayed as recorded, without launch delays
//   T_ideal  mean step if each operation lasts as long as its kind's ideal (job_replay.h)
//   S = T / T_ideal, waste = 1 - 1 / S
//   S of a group: the mean step if only its operations last as recorded, over T_ideal
//   score of a worker: the smaller of the S of its DP rank and of its stage
//   rem = (T - T_rem) / (T - T_ideal), where T_rem has the set's operations ideal and all others as
//   recorded; add = (T_add - T_ideal) / (T - T_ideal), the reverse
//   M_W: rem of the 3 % of workers (at least one) with the highest scores; M_S: of the last stage
// The ideal also averages over stages. Fixing the set alone can leave the rest faster or slower
// than that average, so rem can be above 1 or below 0.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/job_table/job_balance.h"
#include "stepscope/analysis/job_table/job_bubble.h"
#include "stepscope/analysis/job_table/job_layout.h"
#include "stepscope/analysis/job_table/job_replay.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Mean steps in seconds. Shares are absent if T and T_ideal differ by less than a millionth.
struct Explained {
  Seconds removed{};  // T_rem
  Seconds added{};    // T_add
  std::optional<double> rem{};
  std::optional<double> add{};

  // rem as a share: within 0 to 1.
  [[nodiscard]] std::optional<double> share() const;
};

struct OperationStep {
  std::int64_t step = 0;
  Ns measured{};
  Ns replayed{};
  Ns ideal{};
  double slowdown = 1;       // replayed / ideal
  double host_slowdown = 1;  // measured / ideal
};

// A group of operations: a kind, a DP rank or a stage.
struct GroupSlowdown {
  std::string name{};           // "forward-compute", "0"
  double slowdown = 1;          // S of the group
  std::vector<double> steps{};  // S of the group in each step
};

struct JobWorker {
  std::int32_t rank = 0;
  std::int32_t dp_rank = 0;
  std::int32_t stage = 0;
  double score = 1;
  Seconds removed{};            // mean step with only this worker ideal
  std::optional<double> rem{};  // exact, by replay
};

// The job's step without some communication: these transfers take no time. The all-reduce of
// layernorm gradients belongs to none of them. It is replayed like compute, as in the reference.
struct CommFree {
  std::string name;  // "pipeline", "data", "all"
  Seconds step{};
  double speedup = 1;  // T / step
};

struct StragglerJob {
  JobMeta meta;
  std::vector<std::int32_t> dp_ranks;
  int stages = 0;
  std::uint64_t operations = 0;  // replayed rows
  std::uint64_t nodes = 0;       // of the graph, over all steps
  std::vector<OperationStep> steps;
  Seconds measured{};  // means over steps
  Seconds replayed{};  // T
  Seconds ideal{};     // T_ideal
  double s = 1;
  double waste = 0;
  double s_host = 1;                // measured / ideal: includes the launch delays
  double launch_slowdown = 1;       // measured / replayed
  double replay_error = 0;          // |step replayed with launch delays / measured - 1|
  std::vector<std::int32_t> worst;  // ranks of M_W, worst first
  Explained m_w;
  Explained m_s;
  std::vector<GroupSlowdown> by_operation;  // slowest first, also in the next two lists
  std::vector<GroupSlowdown> by_dp_rank;
  std::vector<GroupSlowdown> by_stage;
  std::vector<JobWorker> workers;  // by exact rem, largest first
  std::vector<CommFree> comm_free;
  std::optional<StageBalance> balance;  // absent for one stage
  std::optional<JobBubble>
      bubble;  // absent for one stage, and if forwards and backwards differ in number
  // Correlation of forward and backward times of one microbatch, within each worker and model
  // chunk: near 1 if sequence lengths differ. Absent if there is nothing to compare.
  std::optional<double> fwd_bwd_correlation;
  std::optional<double> fwd_variation;         // coefficient of variation of the same forward times
  std::map<std::string, std::uint64_t> notes;  // from the replay
  std::vector<std::string> left_out;           // from the layout
};

[[nodiscard]] Result<StragglerJob> analyze_straggler_job(const JobOperations& table,
                                                         const JobMeta& meta);

}  // namespace stepscope
