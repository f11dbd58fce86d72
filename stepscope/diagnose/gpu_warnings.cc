// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/gpu_warnings.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::size_t most_log_warnings = 4;

void log_problems(const GpuEvidence& gpus, Messages& out) {
  std::size_t silent = 0;
  for (const GpuLogResult& log : gpus.logs) {
    if (log.use.problem.empty()) continue;
    if (++silent > most_log_warnings) continue;
    out.push_back(msg::log_tells_of(log.path, log.ranks, log.use.problem));
  }
  if (silent > most_log_warnings) out.push_back(msg::more_logs(silent - most_log_warnings));
}

void unused_rows(const GpuEvidence& gpus, Messages& out) {
  for (const GpuLogResult& log : gpus.logs)
    for (const auto& [reason, count] : log.notes.counts) {
      const auto byte = log.notes.first_byte.find(reason);
      out.push_back(
          msg::rows_not_used(count, log.path, reason,
                             byte == log.notes.first_byte.end() ? Value() : Value(byte->second)));
    }
}

// Ranks of which no log tells, though there are logs that tell of others; and ranks whose readings
// are too far apart.
void ranks_without(const JobResult& job, Messages& out) {
  std::vector<int> missing;
  std::vector<int> sparse;
  for (const RankResult& r : job.ranks) {
    const auto at = std::ranges::find(job.gpus->ranks, r.rank, &GpuOfRank::rank);
    if (at == job.gpus->ranks.end())
      missing.push_back(r.rank);
    else if (!at->whole.tells())
      sparse.push_back(r.rank);
  }
  if (!missing.empty() && missing.size() < job.ranks.size()) out.push_back(msg::no_log_of(missing));
  if (!sparse.empty()) out.push_back(msg::sparse_readings(sparse));
}

}  // namespace

Messages gpu_log_warnings(const JobResult& job) {
  Messages out;
  if (!job.gpus) return out;
  log_problems(*job.gpus, out);
  unused_rows(*job.gpus, out);
  ranks_without(job, out);
  return out;
}

}  // namespace stepscope
