// SPDX-License-Identifier: Apache-2.0
// A store in the memory of a device. Reads and writes are copies on two queues of the device, one
// for each direction, so both directions and the host's work overlap.
#pragma once

#include <string>

#include "stepscope/zero/drive/device.h"
#include "stepscope/zero/drive/offload_store.h"

namespace stepscope::zero {

class DeviceStore final : public OffloadStore {
 public:
  // `device` must outlive the store. Errors: not enough memory.
  [[nodiscard]] static Result<DeviceStore> create(Device& device, Bytes bytes);
  DeviceStore(DeviceStore&&) noexcept = default;
  DeviceStore& operator=(DeviceStore&&) noexcept = default;
  DeviceStore(const DeviceStore&) = delete;
  DeviceStore& operator=(const DeviceStore&) = delete;
  ~DeviceStore() override = default;

  [[nodiscard]] Result<OffloadTicket> read(std::uint64_t offset,
                                           std::span<std::byte> into) override;
  [[nodiscard]] Result<OffloadTicket> write(std::uint64_t offset,
                                            std::span<const std::byte> bytes) override;
  [[nodiscard]] bool test(OffloadTicket ticket) override;
  [[nodiscard]] Result<OffloadInstants> wait(OffloadTicket ticket) override;
  void poll() noexcept override {}  // the device records the ends
  [[nodiscard]] Bytes size() const override { return block_.bytes(); }
  [[nodiscard]] const std::string& description() const override { return device_->name(); }

  [[nodiscard]] DeviceAddress address() const { return block_.address(); }

 private:
  DeviceStore(Device& device, DeviceBlock block) : device_(&device), block_(std::move(block)) {}
  void check_place(std::uint64_t offset, std::span<const std::byte> memory) const;

  Device* device_;
  DeviceBlock block_;
};

}  // namespace stepscope::zero
