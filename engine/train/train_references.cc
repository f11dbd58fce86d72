// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_references.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include "engine/measure/time_collectives.h"
#include "engine/zero/drive/offload_file.h"
#include "engine/zero/drive/shard_stores.h"
#include "stepscope/stats/alpha_beta.h"

namespace stepscope {
namespace {

// start + bus bytes / rate; absent if times do not grow with size.
std::optional<LinkReference> link_of(std::span<const CollectiveTiming> timings, CollectiveKind kind,
                                     int ranks) {
  const double factor = busbw_factor(kind, ranks).value_or(0);
  std::vector<SizedTime> times;
  for (const CollectiveTiming& t : timings)
    if (t.kind == kind)
      times.push_back({factor * static_cast<double>(t.bytes.value), t.time.count()});
  const AlphaBetaAnswer answer = fit_alpha_beta(times, 1);
  if (!answer.fit || !(answer.fit->pieces.front().slope > 0)) return std::nullopt;
  const AlphaBetaPiece& line = answer.fit->pieces.front();
  return LinkReference{.start = Seconds{line.start}, .rate = ByteRate{1 / line.slope}};
}

Result<Done> measure_collectives(Communicator& comm, Bytes largest, ReferenceRates& rates) {
  const auto timings = time_collectives(comm, {.from = Bytes{1024},
                                               .to = std::max(largest, Bytes{256 << 10}),
                                               .sizes_per_octave = 0.5,
                                               .time_a_size = Ns{2'000'000},
                                               .most = 20});
  if (!timings) return timings.error();
  for (const CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce})
    if (const auto link = link_of(*timings, kind, comm.size()))
      rates.collectives.push_back({.group = std::string(comm.name()), .kind = kind, .link = *link});
  return Done{};
}

constexpr Bytes measured_bytes{64 << 20};
constexpr Bytes measured_block{4 << 20};

// Means over drives and ranks. If one rank cannot measure, no rank has the reference.
Result<Done> measure_transfers(Communicator& comm, const zero::OffloadPlaces& places,
                               TrainReferences& found) {
  std::set<std::string> folders = {places.optimizer, places.gradients, places.parameters};
  folders.erase("");
  if (folders.empty()) return Done{};
  std::array<double, 3> sums{};
  for (const std::string& folder : folders) {
    const auto rate = zero::measure_offload(folder, measured_bytes, measured_block);
    if (!rate) {
      sums[0] = 1;
      found.warnings.push_back(msg::drive_not_measured(rate.error().message()));
      continue;
    }
    sums[1] += rate->read.value;
    sums[2] += rate->write.value;
  }
  const auto told = wait_for(comm, all_reduce(comm, sums, "transfer rates"));
  if (!told) return told.error();
  if (sums[0] > 0) return Done{};
  const double n = static_cast<double>(folders.size()) * comm.size();
  const auto set = [&](TransferDirection direction, double sum) {
    found.rates.transfers[slot(direction)] = LinkReference{.rate = ByteRate{sum / n}};
  };
  set(TransferDirection::nvme_to_host, sums[1]);
  set(TransferDirection::host_to_nvme, sums[2]);
  return Done{};
}

}  // namespace

Result<TrainReferences> measure_references(Communicator& comm, const zero::EngineConfig& config) {
  TrainReferences found;
  if (comm.size() > 1)
    if (auto done = measure_collectives(comm, config.bucket_bytes, found.rates); !done)
      return done.error();
  if (auto done = measure_transfers(comm, config.offload, found); !done) return done.error();
  return found;
}

}  // namespace stepscope
