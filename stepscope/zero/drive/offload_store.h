// SPDX-License-Identifier: Apache-2.0
// A store for data that does not stay in host memory, read and written asynchronously at offsets: a
// file (offload_file.h), or memory of a device (device_store.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// Offsets, sizes and addresses of all operations must be multiples of this.
inline constexpr std::size_t offload_alignment = 4096;
[[nodiscard]] constexpr std::uint64_t offload_aligned(std::uint64_t bytes) {
  return (bytes + offload_alignment - 1) / offload_alignment * offload_alignment;
}

// Zeroed, aligned memory for operations. The size is rounded up.
class OffloadBuffer {
 public:
  OffloadBuffer() = default;
  explicit OffloadBuffer(std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const {
      ::operator delete[](p, std::align_val_t{offload_alignment});
    }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
};

struct OffloadTicket {
  std::uint64_t sequence = 0;
};

// Times on CLOCK_MONOTONIC. A file's operation begins when it is submitted and ends when poll(),
// test() or wait() sees its end. A device's copy begins and ends when the device says.
struct OffloadInstants {
  Ns begin{};
  Ns end{};
};

class OffloadStore {
 public:
  OffloadStore() = default;
  OffloadStore(const OffloadStore&) = delete;
  OffloadStore& operator=(const OffloadStore&) = delete;
  virtual ~OffloadStore() = default;  // waits for unfinished operations

  // Begins to move the whole span. The caller owns its memory and must keep it until wait(). Two
  // operations on the same bytes are not ordered: wait for the first.
  [[nodiscard]] virtual Result<OffloadTicket> read(std::uint64_t offset,
                                                   std::span<std::byte> into) = 0;
  [[nodiscard]] virtual Result<OffloadTicket> write(std::uint64_t offset,
                                                    std::span<const std::byte> bytes) = 0;
  // True when the operation is complete or has failed; wait() tells which. Does not block.
  [[nodiscard]] virtual bool test(OffloadTicket ticket) = 0;
  // Call it once for each ticket, in any order. Errors name the store and the offset.
  [[nodiscard]] virtual Result<OffloadInstants> wait(OffloadTicket ticket) = 0;
  // Records finished operations without blocking.
  virtual void poll() noexcept = 0;

  [[nodiscard]] virtual Bytes size() const = 0;
  // How it moves bytes: "io_uring, O_DIRECT", or the name of the device.
  [[nodiscard]] virtual const std::string& description() const = 0;

 protected:
  OffloadStore(OffloadStore&&) noexcept = default;
  OffloadStore& operator=(OffloadStore&&) noexcept = default;
};

// Read and write rates of a store with two operations of `block` bytes in flight.
struct OffloadBandwidth {
  ByteRate write{};
  ByteRate read{};
  std::string description{};  // of the measured store
};
// Writes the whole store and reads it back. Each of the two buffers is one operation.
[[nodiscard]] Result<OffloadBandwidth> measure_store(OffloadStore& store,
                                                     std::span<OffloadBuffer> buffers);

}  // namespace stepscope::zero
