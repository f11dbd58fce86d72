// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/shard_stores.h"

#include <algorithm>
#include <utility>

#include "stepscope/zero/drive/offload_file.h"

namespace stepscope::zero {
namespace {

constexpr std::array<std::string_view, 3> store_names = {"parameters", "gradients",
                                                         "optimizer states"};

std::size_t store_of(ShardColumn column) { return std::min(at(column), std::size_t{2}); }

struct StoreLayout {
  ByColumn<std::vector<std::uint64_t>> offsets;
  std::array<std::uint64_t, 3> sizes{};
};

StoreLayout lay_out(const ShardColumns& columns, std::span<const std::int64_t> counts) {
  StoreLayout layout;
  for (const ShardColumn column : shard_columns) {
    if (!columns.has(column)) continue;
    std::uint64_t& end = layout.sizes[store_of(column)];
    for (const std::int64_t count : counts) {
      layout.offsets[at(column)].push_back(end);
      end += offload_aligned(static_cast<std::uint64_t>(count * columns.bytes(column)));
    }
  }
  return layout;
}

// Tells the observer while the thread is at a device. Null: it is not, or nobody is told.
class AtDevice {
 public:
  explicit AtDevice(ShardObserver* observer) : observer_(observer) {
    if (observer_ != nullptr) observer_->device_begin();
  }
  AtDevice(const AtDevice&) = delete;
  AtDevice& operator=(const AtDevice&) = delete;
  ~AtDevice() {
    if (observer_ != nullptr) observer_->device_end();
  }

 private:
  ShardObserver* observer_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_offload_device(std::optional<int> number, int rank,
                                                    const OpenDevice& open, int copies) {
  if (number) return open(*number, copies);
  const auto count = cuda_devices();
  if (!count) return count.error();
  return open(rank % *count, copies);
}

OffloadParts OffloadPlaces::parts() const {
  const OffloadParts in_files = files();
  return {.optimizer = in_files.optimizer || device.optimizer,
          .gradients = in_files.gradients || device.gradients,
          .parameters = in_files.parameters || device.parameters};
}

bool ShardColumns::any() const { return std::ranges::find(stored, true) != stored.end(); }

std::int64_t ShardColumns::bytes(ShardColumn column) const {
  const bool typed = column == ShardColumn::parameters || column == ShardColumn::gradients;
  return static_cast<std::int64_t>(typed ? element_bytes(type) : sizeof(float));
}

ShardColumns offloaded_columns(const OffloadParts& parts, ElementType type) {
  return {.stored = {parts.parameters, parts.gradients, parts.optimizer && type != ElementType::f32,
                     parts.optimizer, parts.optimizer},
          .type = type};
}

Bytes ShardStores::bytes_for(const ShardColumns& columns, std::span<const std::int64_t> counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t size : lay_out(columns, counts).sizes) sum += size;
  return {static_cast<std::int64_t>(sum)};
}

Result<ShardStores> ShardStores::create(const OffloadPlaces& places, const ShardColumns& columns,
                                        std::span<const std::int64_t> counts, int outstanding,
                                        int rank, const OpenDevice& open_device, bool io_uring) {
  ShardStores made;
  made.columns_ = columns;
  StoreLayout layout = lay_out(columns, counts);
  made.offsets_ = std::move(layout.offsets);
  const std::array<const std::string*, store_count> dirs = {&places.parameters, &places.gradients,
                                                            &places.optimizer};
  const std::array<bool, store_count> in_device = {
      places.device.parameters, places.device.gradients, places.device.optimizer};
  if (places.device.any()) {
    auto device = open_offload_device(places.device_number, rank, open_device,
                                      outstanding * static_cast<int>(shard_column_count));
    if (!device) return device.error();
    made.device_ = *std::move(device);
  }
  for (std::size_t s = 0; s < store_count; ++s) {
    const auto columns_of_store = static_cast<int>(std::ranges::count_if(
        shard_columns, [&](ShardColumn c) { return columns.has(c) && store_of(c) == s; }));
    if (columns_of_store == 0) continue;
    const Bytes bytes{static_cast<std::int64_t>(layout.sizes[s])};
    if (in_device[s] && !dirs[s]->empty())
      return Error{.what = std::string(store_names[s]) + " have two places: a device, and files",
                   .file = *dirs[s],
                   .hint = "give one"};
    if (in_device[s]) {
      auto store = DeviceStore::create(*made.device_, bytes);
      if (!store) return store.error();
      auto owned = std::make_unique<DeviceStore>(*std::move(store));
      made.device_stores_[s] = owned.get();
      made.stores_[s] = std::move(owned);
    } else {
      auto file = OffloadFile::create({.dir = *dirs[s],
                                       .bytes = bytes,
                                       .outstanding = outstanding * columns_of_store,
                                       .io_uring = io_uring});
      if (!file) return file.error();
      made.stores_[s] = std::make_unique<OffloadFile>(*std::move(file));
    }
  }
  return made;
}

Result<Done> ShardStores::use_memory(std::span<std::byte> memory) {
  if (!device_) return Done{};
  auto pinned = PinnedMemory::pin(*device_, memory);
  if (!pinned) return pinned.error();
  pinned_ = *std::move(pinned);
  return Done{};
}

OffloadStore& ShardStores::store(ShardColumn column) {
  check(columns_.has(column), "the column is in a store");
  return *stores_[store_of(column)];
}

bool ShardStores::in_device(ShardColumn column) const {
  return columns_.has(column) && device_stores_[store_of(column)] != nullptr;
}

std::uint64_t ShardStores::place(ShardColumn column, std::size_t unit, std::int64_t first) const {
  return offsets_[at(column)][unit] + static_cast<std::uint64_t>(first * columns_.bytes(column));
}

std::optional<DeviceAddress> ShardStores::device_address(ShardColumn column, std::size_t unit,
                                                         std::int64_t first) const {
  if (!in_device(column)) return std::nullopt;
  return device_stores_[store_of(column)]->address() + place(column, unit, first);
}

Result<ShardTicket> ShardStores::read(ShardColumn column, std::size_t unit, std::int64_t first,
                                      std::span<std::byte> into) {
  const AtDevice at_device(in_device(column) ? observer_ : nullptr);
  const auto ticket = store(column).read(place(column, unit, first), into);
  if (!ticket) return ticket.error();
  return ShardTicket{
      .ticket = *ticket, .column = column, .bytes = {static_cast<std::int64_t>(into.size())}};
}

Result<ShardTicket> ShardStores::write(ShardColumn column, std::size_t unit, std::int64_t first,
                                       std::span<const std::byte> bytes) {
  const AtDevice at_device(in_device(column) ? observer_ : nullptr);
  const auto ticket = store(column).write(place(column, unit, first), bytes);
  if (!ticket) return ticket.error();
  return ShardTicket{.ticket = *ticket,
                     .column = column,
                     .write = true,
                     .bytes = {static_cast<std::int64_t>(bytes.size())}};
}

bool ShardStores::test(const ShardTicket& ticket) {
  return store(ticket.column).test(ticket.ticket);
}

Result<Done> ShardStores::wait(const ShardTicket& ticket) {
  using enum TransferDirection;
  const bool device = in_device(ticket.column);
  const auto times = [&] {
    const AtDevice at_device(device ? observer_ : nullptr);
    return store(ticket.column).wait(ticket.ticket);
  }();
  if (!times) return times.error();
  if (observer_ != nullptr) {
    const TransferDirection direction = device ? (ticket.write ? host_to_device : device_to_host)
                                               : (ticket.write ? host_to_nvme : nvme_to_host);
    observer_->moved({.column = ticket.column,
                      .direction = direction,
                      .bytes = ticket.bytes,
                      .begin = times->begin,
                      .end = times->end});
  }
  return Done{};
}

void ShardStores::poll() noexcept {
  for (auto& store : stores_)
    if (store) store->poll();
}

std::vector<std::string> ShardStores::descriptions() const {
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < store_count; ++s) {
    if (!stores_[s]) continue;
    lines.push_back(std::string(store_names[s]) +
                    (device_stores_[s] != nullptr ? " in device memory: " : " in a file: ") +
                    std::to_string(stores_[s]->size().value) + " bytes, " +
                    stores_[s]->description());
  }
  return lines;
}

}  // namespace stepscope::zero
