// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/gpu_evidence.h"

#include <algorithm>

#include "stepscope/analysis/matching/host_clock.h"

namespace stepscope {
namespace {

// The GPU by which the rank is accounted for: that with most work.
int busiest_device(const RankResult& r) {
  const auto most = std::ranges::max_element(r.device.windows, {}, &GpuWindow::busy);
  return most == r.device.windows.end() ? -1 : most->device;
}

// The instant before the correction; exact to a nanosecond or two.
Ns uncorrected(Ns t, const ClockCorrection& correction) { return t + (t - correction(t)); }

}  // namespace

void add_gpu_evidence(JobResult& job, std::span<const RankInput> ranks,
                      std::span<const GpuLog> logs, std::optional<int> world_size,
                      std::optional<Ns> zone) {
  if (logs.empty()) return;
  std::vector<GpuOwner> owners;
  std::vector<ClockCorrection> corrections;
  std::vector<std::vector<TimeSpan>> steps;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankResult& r = job.ranks[i];
    const Metadata& metadata = ranks[i].trace->metadata;
    const ClockCorrection correction =
        i < job.clocks.by_view.size() ? job.clocks.by_view[i] : ClockCorrection{};
    corrections.push_back(correction);
    auto& spans = steps.emplace_back();
    for (const Step& s : r.steps) spans.push_back({s.start, s.end});
    owners.push_back({.rank = r.rank,
                      .host = host_of(metadata),
                      .device = busiest_device(r),
                      .devices = metadata.devices,
                      .absolute = metadata.clock == Clock::unix_epoch,
                      .window = {uncorrected(r.recording.start, correction),
                                 uncorrected(r.recording.end, correction)}});
  }
  GpuEvidence evidence;
  GpuMatches matches = match_gpus(logs, owners, world_size, zone);
  for (std::size_t l = 0; l < logs.size(); ++l) {
    evidence.logs.push_back({.path = logs[l].path,
                             .format = logs[l].format,
                             .gpus = logs[l].gpus.size(),
                             .readings = logs[l].readings.size(),
                             .notes = logs[l].notes,
                             .ranks = {},
                             .use = std::move(matches.logs[l])});
  }
  for (const RankGpu& match : matches.ranks) {
    const GpuLog& log = logs[match.log];
    GpuOfRank& row = evidence.ranks.emplace_back();
    row.rank = owners[match.owner].rank;
    row.log = match.log;
    row.rule = match.rule;
    row.gpu = log.gpus[match.gpu];
    evidence.logs[match.log].ranks.push_back(row.rank);
    row.steps =
        gpu_states(readings_of(log, match.gpu), evidence.logs[match.log].use.zone.value_or(Ns{0}),
                   corrections[match.owner], steps[match.owner]);
    for (const GpuState& s : row.steps) row.whole.add(s);
  }
  job.gpus = std::move(evidence);
}

}  // namespace stepscope
