// SPDX-License-Identifier: Apache-2.0
// The operations on a device's memory that offload needs. cuda_device.h implements them. Copies run
// beside the host's work on queues of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/drive/offload_store.h"

namespace stepscope::zero {

using DeviceAddress = std::uint64_t;  // of a byte of the device's memory

// Copies of one queue run in order. Those of different queues are not ordered. At any time only one
// thread uses a queue.
enum class DeviceQueue : std::uint8_t { to_device, to_host, checkpoint };
inline constexpr std::size_t device_queue_count = 3;

struct DeviceTicket {
  DeviceQueue queue = DeviceQueue::to_device;
  std::uint32_t copy = 0;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  Device(Device&&) = delete;
  Device& operator=(Device&&) = delete;
  virtual ~Device() = default;  // waits for unfinished copies

  // "CUDA device 0 (NVIDIA H100 80GB HBM3)".
  [[nodiscard]] virtual const std::string& name() const = 0;
  // Zeroed memory at a multiple of offload_alignment. Errors: there is not enough.
  [[nodiscard]] virtual Result<DeviceAddress> allocate(Bytes bytes) = 0;
  // Waits for unfinished copies, like unpin().
  virtual void release(DeviceAddress address) noexcept = 0;
  // Keeps host memory in place (page-locked), so that copies from and to it overlap with other
  // work. Whole pages. Unpin it before it is freed.
  [[nodiscard]] virtual Result<Done> pin(std::span<std::byte> memory) = 0;
  virtual void unpin(std::span<std::byte> memory) noexcept = 0;

  // Begin a copy. The host's memory belongs to it until wait(). At most the number of copies that
  // the device was opened for may be unfinished in a queue.
  [[nodiscard]] virtual Result<DeviceTicket> copy_to_device(DeviceQueue queue, DeviceAddress to,
                                                            std::span<const std::byte> from) = 0;
  [[nodiscard]] virtual Result<DeviceTicket> copy_to_host(DeviceQueue queue, DeviceAddress from,
                                                          std::span<std::byte> to) = 0;
  [[nodiscard]] virtual Result<DeviceTicket> copy_within(DeviceQueue queue, DeviceAddress from,
                                                         DeviceAddress to, Bytes bytes) = 0;
  // True when the copy is complete or has failed; wait() tells which. Does not block.
  [[nodiscard]] virtual bool test(DeviceTicket ticket) = 0;
  // Call it once for each ticket. Returns when the device began and ended the copy.
  [[nodiscard]] virtual Result<OffloadInstants> wait(DeviceTicket ticket) = 0;
};

// Opens device `number`. At most `copies` copies may be unfinished in each queue.
using OpenDevice = std::function<Result<std::unique_ptr<Device>>(int number, int copies)>;

// Memory of a device, released at the end. Empty: none. The device must outlive it.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  [[nodiscard]] static Result<DeviceBlock> allocate(Device& device, Bytes bytes);
  DeviceBlock(DeviceBlock&& other) noexcept { *this = std::move(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  ~DeviceBlock() {
    if (device_ != nullptr) device_->release(address_);
  }
  [[nodiscard]] DeviceAddress address() const { return address_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  DeviceAddress address_ = 0;
  Bytes bytes_{};
};

// Pinned memory of the host, unpinned at the end. Device and memory must outlive it.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  [[nodiscard]] static Result<PinnedMemory> pin(Device& device, std::span<std::byte> memory);
  PinnedMemory(PinnedMemory&& other) noexcept { *this = std::move(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() {
    if (device_ != nullptr) device_->unpin(memory_);
  }

 private:
  Device* device_ = nullptr;
  std::span<std::byte> memory_{};
};

}  // namespace stepscope::zero
