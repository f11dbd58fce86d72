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
#include <span>
#include <string>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/drive/offload_store.h"

namespace stepscope::zero {

struct OffloadOptions {
  std::string dir{};    // directory on the device to use
  Bytes bytes{};        // of the file; space is reserved at once
  int outstanding = 8;  // most operations between submission and wait()
  bool io_uring = true;
  bool direct = true;
};

class OffloadFile final : public OffloadStore {
 public:
  // Errors: no such directory, no permission to write there, no space for `bytes`.
  [[nodiscard]] static Result<OffloadFile> create(const OffloadOptions& options);
  OffloadFile(OffloadFile&&) noexcept;
  OffloadFile& operator=(OffloadFile&&) noexcept;
  OffloadFile(const OffloadFile&) = delete;
  OffloadFile& operator=(const OffloadFile&) = delete;
  ~OffloadFile() override;

  [[nodiscard]] Result<OffloadTicket> read(std::uint64_t offset,
                                           std::span<std::byte> into) override;
  [[nodiscard]] Result<OffloadTicket> write(std::uint64_t offset,
                                            std::span<const std::byte> bytes) override;
  [[nodiscard]] bool test(OffloadTicket ticket) override;
  [[nodiscard]] Result<OffloadInstants> wait(OffloadTicket ticket) override;
  void poll() noexcept override;
  [[nodiscard]] Bytes size() const override;
  // "io_uring, O_DIRECT", or the substitutes and the reason.
  [[nodiscard]] const std::string& description() const override;

 private:
  struct State;
  explicit OffloadFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes a file of `bytes` bytes in `dir` and reads it back, with two blocks in flight.
[[nodiscard]] Result<OffloadBandwidth> measure_offload(const std::string& dir, Bytes file,
                                                       Bytes block);

}  // namespace stepscope::zero
