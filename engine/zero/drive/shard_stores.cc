// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/shard_stores.h"

#include <algorithm>
#include <utility>

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

}  // namespace

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
                                        bool io_uring) {
  ShardStores made;
  made.columns_ = columns;
  StoreLayout layout = lay_out(columns, counts);
  made.offsets_ = std::move(layout.offsets);
  const std::array<const std::string*, store_count> dirs = {&places.parameters, &places.gradients,
                                                            &places.optimizer};
  for (std::size_t s = 0; s < store_count; ++s) {
    const auto columns_of_store = static_cast<int>(std::ranges::count_if(
        shard_columns, [&](ShardColumn c) { return columns.has(c) && store_of(c) == s; }));
    if (columns_of_store == 0) continue;
    const Bytes bytes{static_cast<std::int64_t>(layout.sizes[s])};
    auto file = OffloadFile::create({.dir = *dirs[s],
                                     .bytes = bytes,
                                     .outstanding = outstanding * columns_of_store,
                                     .io_uring = io_uring});
    if (!file) return file.error();
    made.stores_[s] = *std::move(file);
  }
  return made;
}

OffloadFile& ShardStores::store(ShardColumn column) {
  check(columns_.has(column), "the column is in a store");
  return *stores_[store_of(column)];
}

std::uint64_t ShardStores::place(ShardColumn column, std::size_t unit, std::int64_t first) const {
  return offsets_[at(column)][unit] + static_cast<std::uint64_t>(first * columns_.bytes(column));
}

Result<ShardTicket> ShardStores::read(ShardColumn column, std::size_t unit, std::int64_t first,
                                      std::span<std::byte> into) {
  const auto ticket = store(column).read(place(column, unit, first), into);
  if (!ticket) return ticket.error();
  return ShardTicket{
      .ticket = *ticket, .column = column, .bytes = {static_cast<std::int64_t>(into.size())}};
}

Result<ShardTicket> ShardStores::write(ShardColumn column, std::size_t unit, std::int64_t first,
                                       std::span<const std::byte> bytes) {
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
  const auto times = store(ticket.column).wait(ticket.ticket);
  if (!times) return times.error();
  if (observer_ != nullptr) {
    observer_->moved({.column = ticket.column,
                      .direction = ticket.write ? TransferDirection::host_to_nvme
                                                : TransferDirection::nvme_to_host,
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
                    " in a file: " + std::to_string(stores_[s]->size().value) + " bytes, " +
                    stores_[s]->description());
  }
  return lines;
}

}  // namespace stepscope::zero
