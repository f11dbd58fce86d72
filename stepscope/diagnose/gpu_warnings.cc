// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/gpu_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

constexpr std::size_t most_log_warnings = 4;

void log_problems(const GpuEvidence& gpus, std::vector<std::string>& out) {
  std::size_t silent = 0;
  for (const GpuLogResult& log : gpus.logs) {
    if (log.use.problem.empty()) continue;
    if (++silent > most_log_warnings) continue;
    out.push_back(fmt::format("{} tells of {}: {}", log.path,
                              log.ranks.empty() ? "no rank" : ranks_in_words(log.ranks) + " alone",
                              log.use.problem));
  }
  if (silent > most_log_warnings)
    out.push_back(
        fmt::format("{} logs of GPUs more do not tell of all their ranks; the JSON says "
                    "why (gpu_readings.logs)",
                    silent - most_log_warnings));
}

void unused_rows(const GpuEvidence& gpus, std::vector<std::string>& out) {
  for (const GpuLogResult& log : gpus.logs)
    for (const auto& [reason, count] : log.notes.counts) {
      const auto byte = log.notes.first_byte.find(reason);
      out.push_back(fmt::format("{} of {} not used ({}){}", counted(count, "row"), log.path, reason,
                                byte == log.notes.first_byte.end()
                                    ? ""
                                    : fmt::format(", the first at byte {}", byte->second)));
    }
}

// Ranks of which no log tells, though there are logs that tell of others; and ranks whose readings
// are too far apart.
void ranks_without(const JobResult& job, std::vector<std::string>& out) {
  std::vector<int> missing;
  std::vector<int> sparse;
  for (const RankResult& r : job.ranks) {
    const auto at = std::ranges::find(job.gpus->ranks, r.rank, &GpuOfRank::rank);
    if (at == job.gpus->ranks.end())
      missing.push_back(r.rank);
    else if (!at->whole.tells())
      sparse.push_back(r.rank);
  }
  if (!missing.empty() && missing.size() < job.ranks.size())
    out.push_back("no log tells of the GPU of " + ranks_in_words(missing));
  if (!sparse.empty())
    out.push_back(
        fmt::format("the readings of the GPU of {} stand for less than half of the time "
                    "of the steps and are not used",
                    ranks_in_words(sparse)));
}

}  // namespace

std::vector<std::string> gpu_log_warnings(const JobResult& job) {
  std::vector<std::string> out;
  if (!job.gpus) return out;
  log_problems(*job.gpus, out);
  unused_rows(*job.gpus, out);
  ranks_without(job, out);
  return out;
}

}  // namespace stepscope
