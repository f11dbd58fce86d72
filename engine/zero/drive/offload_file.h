// SPDX-License-Identifier: Apache-2.0
// A file for data that does not fit in memory. It is read and written asynchronously through
// io_uring and bypasses the page cache (O_DIRECT). Without io_uring in the build or the system,
// pread or pwrite does each operation at once. If the file system refuses O_DIRECT, the page cache
// is used. description() says which of these apply, and whether the file system itself is in
// memory. The file has no name (O_TMPFILE); on file systems without such files it loses its name at
// once. A crash therefore leaves no file behind, and no existing file is touched.
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

// Times on CLOCK_MONOTONIC. An operation begins when it is submitted and ends when poll(), test()
// or wait() sees its end.
struct OffloadInstants {
  Ns begin{};
  Ns end{};
};

struct OffloadOptions {
  std::string dir{};    // directory on the device to use
  Bytes bytes{};        // of the file; space is reserved at once
  int outstanding = 8;  // most operations between submission and wait()
  bool io_uring = true;
  bool direct = true;
};

class OffloadFile {
 public:
  // Errors: no such directory, no permission to write there, no space for `bytes`.
  [[nodiscard]] static Result<OffloadFile> create(const OffloadOptions& options);
  OffloadFile(OffloadFile&&) noexcept;
  OffloadFile& operator=(OffloadFile&&) noexcept;
  OffloadFile(const OffloadFile&) = delete;
  OffloadFile& operator=(const OffloadFile&) = delete;
  ~OffloadFile();  // waits for unfinished operations

  // Begins to move the whole span. The caller owns its memory and must keep it until wait(). Two
  // operations on the same bytes are not ordered: wait for the first.
  [[nodiscard]] Result<OffloadTicket> read(std::uint64_t offset, std::span<std::byte> into);
  [[nodiscard]] Result<OffloadTicket> write(std::uint64_t offset, std::span<const std::byte> bytes);
  // True when the operation is complete or has failed; wait() says which. Does not block.
  [[nodiscard]] bool test(OffloadTicket ticket);
  // Call it once for each ticket, in any order. Errors name the file and the offset.
  [[nodiscard]] Result<OffloadInstants> wait(OffloadTicket ticket);
  // Records finished operations without blocking.
  void poll() noexcept;
  [[nodiscard]] Bytes size() const;
  // "io_uring, O_DIRECT", or the substitutes and the reason.
  [[nodiscard]] const std::string& description() const;

 private:
  struct State;
  explicit OffloadFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Read and write rates of a file with two operations of `block` bytes in flight.
struct OffloadBandwidth {
  ByteRate write{};
  ByteRate read{};
  std::string description{};  // of the measured file
};
// Writes a file of `file` bytes in `dir` and reads it back.
[[nodiscard]] Result<OffloadBandwidth> measure_offload(const std::string& dir, Bytes file,
                                                       Bytes block);

}  // namespace stepscope::zero
