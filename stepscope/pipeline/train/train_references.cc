// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/train/train_references.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/fit/time_collectives.h"
#include "stepscope/stats/alpha_beta.h"
#include "stepscope/zero/drive/device_store.h"
#include "stepscope/zero/drive/offload_file.h"
#include "stepscope/zero/drive/shard_stores.h"

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
  const AlphaBetaAnswer answer = fit_alpha_beta(times, {.most_pieces = 1, .replicates = 0});
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

// Pinned buffers, two copies in flight.
Result<zero::OffloadBandwidth> measure_device(int rank, const zero::EngineConfig& config) {
  auto device =
      zero::open_offload_device(config.offload.device_number, rank, config.open_device, 2);
  if (!device) return device.error();
  auto store = zero::DeviceStore::create(**device, measured_bytes);
  if (!store) return store.error();
  std::vector<zero::OffloadBuffer> buffers;
  std::vector<zero::PinnedMemory> pinned;
  for (int i = 0; i < 2; ++i) {
    buffers.emplace_back(static_cast<std::size_t>(measured_block.value));
    auto one = zero::PinnedMemory::pin(**device, buffers.back().bytes());
    if (!one) return one.error();
    pinned.push_back(*std::move(one));
  }
  return zero::measure_store(*store, buffers);
}

// Means over `rates` and ranks. Where one rank cannot measure, none has the reference.
struct Measured {
  std::vector<Result<zero::OffloadBandwidth>> rates;
  TransferDirection write{};
  TransferDirection read{};
  std::string_view what;  // "the drive"
};
Result<Done> share_rates(Communicator& comm, const Measured& measured, TrainReferences& found) {
  if (measured.rates.empty()) return Done{};
  std::array<double, 3> sums{};
  for (const auto& rate : measured.rates) {
    if (!rate) {
      sums[0] = 1;
      found.warnings.push_back("no efficiency of transfers: " + std::string(measured.what) +
                               " could not be measured: " + rate.error().message());
      continue;
    }
    sums[1] += rate->read.value;
    sums[2] += rate->write.value;
  }
  const auto told = wait_for(comm, all_reduce(comm, sums, "transfer rates"));
  if (!told) return told.error();
  if (sums[0] > 0) return Done{};
  const double n = static_cast<double>(measured.rates.size()) * comm.size();
  const auto set = [&](TransferDirection direction, double sum) {
    found.rates.transfers[slot(direction)] = LinkReference{.rate = ByteRate{sum / n}};
  };
  set(measured.read, sums[1]);
  set(measured.write, sums[2]);
  return Done{};
}

Result<Done> measure_transfers(Communicator& comm, const zero::EngineConfig& config,
                               TrainReferences& found) {
  Measured drives{.rates = {},
                  .write = TransferDirection::host_to_nvme,
                  .read = TransferDirection::nvme_to_host,
                  .what = "the drive"};
  const zero::OffloadPlaces& places = config.offload;
  std::set<std::string> folders = {places.optimizer, places.gradients, places.parameters};
  folders.erase("");
  for (const std::string& folder : folders)
    drives.rates.push_back(zero::measure_offload(folder, measured_bytes, measured_block));
  if (auto done = share_rates(comm, drives, found); !done) return done;
  Measured device{.rates = {},
                  .write = TransferDirection::host_to_device,
                  .read = TransferDirection::device_to_host,
                  .what = "the device"};
  if (places.device.any()) device.rates.push_back(measure_device(comm.rank(), config));
  return share_rates(comm, device, found);
}

}  // namespace

Result<TrainReferences> measure_references(Communicator& comm, const zero::EngineConfig& config) {
  TrainReferences found;
  if (comm.size() > 1)
    if (auto done = measure_collectives(comm, config.bucket_bytes, found.rates); !done)
      return done.error();
  if (auto done = measure_transfers(comm, config, found); !done) return done.error();
  return found;
}

}  // namespace stepscope
