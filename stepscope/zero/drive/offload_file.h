// SPDX-License-Identifier: Apache-2.0
// A file that holds what does not fit in memory: read and written asynchronously through io_uring,
// past the page cache (O_DIRECT). Where the build or the system has no io_uring, each operation is
// done at once by pread or pwrite; where the file system refuses O_DIRECT, the page cache is used;
// description() says which, and where the file system itself is in memory. The file never has a
// name (O_TMPFILE), or where the file system has no such files loses it at once: no death leaves it
// behind, and no file that is there is touched.
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

// Offsets, sizes and addresses of all operations are multiples of this.
inline constexpr std::size_t offload_alignment = 4096;
[[nodiscard]] constexpr std::uint64_t offload_aligned(std::uint64_t bytes) {
  return (bytes + offload_alignment - 1) / offload_alignment * offload_alignment;
}

// Aligned memory for operations, rounded up; zeros.
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

struct OffloadOptions {
  std::string dir{};    // on the device to be used
  Bytes bytes{};        // of the file; the space is taken at once
  int outstanding = 8;  // operations between their submission and their wait(), at most
  bool io_uring = true;
  bool direct = true;
};

struct OffloadTicket {
  std::uint64_t sequence = 0;
};

// CLOCK_MONOTONIC. The end is seen by poll(), test() and wait(): it is not earlier than the
// device's.
struct OffloadInstants {
  Ns submitted{};
  Ns finished{};
};

class OffloadFile {
 public:
  // Errors: no such directory, no right to write there, no space for `bytes`.
  [[nodiscard]] static Result<OffloadFile> create(const OffloadOptions& options);
  OffloadFile(OffloadFile&&) noexcept;
  OffloadFile& operator=(OffloadFile&&) noexcept;
  ~OffloadFile();  // waits for what is under way

  // Begins to move all of the span; its memory stays the caller's and must stay until wait(). Two
  // operations on the same bytes are not ordered: wait for the first.
  [[nodiscard]] Result<OffloadTicket> read(std::uint64_t offset, std::span<std::byte> into);
  [[nodiscard]] Result<OffloadTicket> write(std::uint64_t offset, std::span<const std::byte> bytes);
  // True when it is complete, or has failed: wait() says which. Does not block.
  [[nodiscard]] bool test(OffloadTicket ticket);
  // Once for each ticket, in any order. Errors name the file and the offset.
  [[nodiscard]] Result<OffloadInstants> wait(OffloadTicket ticket);
  // Sees what has finished, without blocking.
  void poll() noexcept;

  [[nodiscard]] Bytes size() const;
  // "io_uring, O_DIRECT", or what is used instead and why.
  [[nodiscard]] const std::string& description() const;

 private:
  struct State;
  explicit OffloadFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What a device moves, in and out, with two operations of `block` bytes under way.
struct OffloadBandwidth {
  ByteRate write{};
  ByteRate read{};
  std::string description{};  // of the file it was measured with
};
// Writes a file of so many bytes in `dir`, flushes it to the device, and reads it back.
[[nodiscard]] Result<OffloadBandwidth> measure_offload(const std::string& dir, Bytes file,
                                                       Bytes block);

}  // namespace stepscope::zero
