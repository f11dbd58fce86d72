// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/offload.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stepscope::zero {

Offload::Offload(const Plan& plan, ShardStores made, std::span<std::byte> memory)
    : stores(std::move(made)),
      stream(stores, held_elements(plan), plan.request.offload_buffer, memory) {
  const OffloadBuffers buffers = offload_buffers(plan);
  const auto take = [&](Bytes bytes) {
    const auto part = memory.first(static_cast<std::size_t>(bytes.value));
    memory = memory.subspan(part.size());
    return part;
  };
  take(buffers.stream);
  if (buffers.gradient_slots > 0) {
    gradients.emplace(
        stores, buffers.gradient_slots, buffers.gradient_slot,
        take(buffers.gradient_slot * static_cast<std::int64_t>(buffers.gradient_slots)));
  }
  if (buffers.parameter_slots > 0) {
    std::vector<std::int64_t> elements;
    for (const UnitPlace& place : plan.places) elements.push_back(place.layout.stride);
    parameters.emplace(stores, std::move(elements), buffers.parameter_slots, buffers.parameter_slot,
                       memory);
  }
}

Result<std::unique_ptr<Offload>> Offload::create(const Plan& plan, const OffloadPlaces& places,
                                                 std::span<std::byte> memory) {
  const ShardColumns columns = stored_columns(plan.request);
  if (!columns.any()) return std::unique_ptr<Offload>();
  const OffloadBuffers buffers = offload_buffers(plan);
  const std::size_t most = std::max(buffers.gradient_slots, buffers.parameter_slots);
  auto stores = ShardStores::create(places, columns, stored_elements(plan),
                                    ShardStream::outstanding + static_cast<int>(most));
  if (!stores) return stores.error();
  return std::make_unique<Offload>(plan, *std::move(stores), memory);
}

}  // namespace stepscope::zero
