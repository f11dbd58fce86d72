// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/device_store.h"

#include <utility>

namespace stepscope::zero {
namespace {

// A device's ticket as one number: the queue below the copy.
OffloadTicket as_number(DeviceTicket ticket) {
  return {std::uint64_t{ticket.copy} * device_queue_count +
          static_cast<std::uint64_t>(ticket.queue)};
}
DeviceTicket as_ticket(OffloadTicket number) {
  return {.queue = static_cast<DeviceQueue>(number.sequence % device_queue_count),
          .copy = static_cast<std::uint32_t>(number.sequence / device_queue_count)};
}

bool at_block(std::uint64_t value) { return value % offload_alignment == 0; }

}  // namespace

Result<DeviceBlock> DeviceBlock::allocate(Device& device, Bytes bytes) {
  DeviceBlock block;
  if (bytes.value == 0) return block;
  const auto address = device.allocate(bytes);
  if (!address) return address.error();
  block.device_ = &device;
  block.address_ = *address;
  block.bytes_ = bytes;
  return block;
}

Result<PinnedMemory> PinnedMemory::pin(Device& device, std::span<std::byte> memory) {
  PinnedMemory pinned;
  if (memory.empty()) return pinned;
  if (auto done = device.pin(memory); !done) return done.error();
  pinned.device_ = &device;
  pinned.memory_ = memory;
  return pinned;
}

Result<DeviceStore> DeviceStore::create(Device& device, Bytes bytes) {
  const auto whole = offload_aligned(static_cast<std::uint64_t>(bytes.value));
  auto block = DeviceBlock::allocate(device, {static_cast<std::int64_t>(whole)});
  if (!block) return block.error();
  return DeviceStore(device, *std::move(block));
}

void DeviceStore::check_place(std::uint64_t offset, std::span<const std::byte> memory) const {
  check(at_block(offset) && at_block(memory.size()) &&
            at_block(reinterpret_cast<std::uintptr_t>(memory.data())),
        "operations on the device's memory are aligned");
  check(offset + memory.size() <= static_cast<std::uint64_t>(size().value),
        "within the store's memory");
}

Result<OffloadTicket> DeviceStore::read(std::uint64_t offset, std::span<std::byte> into) {
  check_place(offset, into);
  const auto ticket = device_->copy_to_host(DeviceQueue::to_host, address() + offset, into);
  if (!ticket) return ticket.error();
  return as_number(*ticket);
}

Result<OffloadTicket> DeviceStore::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  check_place(offset, bytes);
  const auto ticket = device_->copy_to_device(DeviceQueue::to_device, address() + offset, bytes);
  if (!ticket) return ticket.error();
  return as_number(*ticket);
}

bool DeviceStore::test(OffloadTicket ticket) { return device_->test(as_ticket(ticket)); }

Result<OffloadInstants> DeviceStore::wait(OffloadTicket ticket) {
  return device_->wait(as_ticket(ticket));
}

}  // namespace stepscope::zero
