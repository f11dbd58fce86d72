// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stepscope {
namespace {

// Damage and doubt of the files, one line for each reason.
void input_warnings(const AnalyzeReport& report, std::vector<std::string>& out) {
  std::map<std::string, std::uint64_t> notes;
  for (const InputRow& i : report.inputs)
    for (const auto& [reason, count] : i.notes) notes[reason] += count;
  for (const auto& [reason, count] : notes)
    out.push_back(fmt::format("{}: {} (counted while reading; see inputs[].notes of the JSON)",
                              reason, count));
}

void rank_warnings(const AnalyzeReport& report, std::vector<std::string>& out) {
  const JobResult& job = *report.job;
  const auto all = [&](auto test) { return std::ranges::all_of(job.ranks, test); };
  const bool gpu =
      std::ranges::any_of(job.ranks, [](const RankResult& r) { return r.device != "cpu"; });
  if (all([](const RankResult& r) { return !r.has_shapes; }))
    out.emplace_back(
        "no shapes: FLOPs, TFLOP/s and rooflines are unknown; record with record_shapes=True");
  if (all([](const RankResult& r) { return r.memory.devices.empty(); }))
    out.emplace_back("no memory events: record with profile_memory=True");
  if (gpu && all([](const RankResult& r) { return !r.has_launch_rows; }))
    out.emplace_back("no launch calls: idle time is unexplained; record ProfilerActivity.CPU too");
  if (gpu && all([](const RankResult& r) { return !r.has_sync_rows; }))
    out.emplace_back(
        "no sync rows: waits of one stream for another are not separated; record with "
        "_ExperimentalConfig(enable_cuda_sync_events=True)");
  if (all([](const RankResult& r) { return r.steps.size() == 1 && r.steps[0].name == "window"; }))
    out.emplace_back(
        "no steps: the whole window is one; call profiler.step(), or name your own with "
        "--step-annotation");
  if (!gpu && !job.ranks.empty()) out.emplace_back("no device work: accounted as a CPU run");
}

void job_warnings(const AnalyzeReport& report, std::vector<std::string>& out) {
  const JobResult& job = *report.job;
  if (job.ranks.size() > 1 && !job.collectives.matches.clocks_comparable)
    out.emplace_back(
        "clocks are not comparable or windows do not overlap: collectives are not matched across "
        "ranks, so no waits and no skew");
  if (report.world_size && static_cast<std::size_t>(*report.world_size) > job.ranks.size() &&
      !job.collectives.rows.empty())
    out.push_back(
        fmt::format("{} of {} ranks are here: collectives with the others cannot be split into "
                    "wait and transfer",
                    job.ranks.size(), *report.world_size));
  if (!job.missing.empty())
    out.push_back(fmt::format("{} steps are missing on some rank and stay out of the means",
                              job.missing.size()));
  if (!job.collectives.matches.mismatches.empty())
    out.push_back(fmt::format("{} collectives do not match across ranks; the first: {}",
                              job.collectives.matches.mismatches.size(),
                              job.collectives.matches.mismatches.front().what));
  const auto ordered = std::ranges::find(report.inputs, "order", &InputRow::rank_source);
  if (ordered != report.inputs.end())
    out.emplace_back(
        "ranks are numbered in the order of the files: neither the traces nor their names say "
        "them");
}

}  // namespace

std::vector<std::string> analyze_warnings(const AnalyzeReport& report,
                                          const std::optional<Error>& no_mfu) {
  std::vector<std::string> out;
  if (report.job->ranks.empty()) return out;
  input_warnings(report, out);
  job_warnings(report, out);
  rank_warnings(report, out);
  if (no_mfu) out.push_back("no MFU: " + no_mfu->message());
  if (report.mfu)
    for (const std::string& w : report.mfu->warnings) out.push_back(w);
  return out;
}

}  // namespace stepscope
