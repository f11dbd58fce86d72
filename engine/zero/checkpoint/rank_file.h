// SPDX-License-Identifier: Apache-2.0
// One rank's part of a checkpoint: extents of master, m and v in f32, with a checksum for each
// block of 64 KiB. Little-endian:
//   header   "SSCKPT01", u32 version 1, rank, world size, number of extents,
//            u64 step, identity of the model, start of the data (a multiple of 4096), its bytes;
//            of each extent u64 unit, first element, elements, bytes before it in the data;
//            u32 CRC-32C of all before it; zeros up to the data
//   data     of each extent master, then m, then v
//   trailer  u32 CRC-32C of each block of the data, u32 CRC-32C of these, "SSCKEND1"
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/zero/drive/disk_file.h"
#include "engine/zero/engine/state.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct RankFileHeader {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint64_t step = 0;
  std::uint64_t model = 0;  // identity of the model

  bool operator==(const RankFileHeader&) const = default;
};

// Writes the file, flushes it to the device and renames it: `path` appears complete or not at all.
// Returns the file's summary for the manifest.
struct RankFileSummary {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // of the checksums of header and blocks; covers every byte

  bool operator==(const RankFileSummary&) const = default;
};
[[nodiscard]] Result<RankFileSummary> write_rank_file(const std::string& path,
                                                      const RankFileHeader& header,
                                                      std::span<const StateExtent> extents);

enum class StatePart : std::uint8_t { master, m, v };

class RankFile {
 public:
  struct Extent {
    std::uint64_t unit = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t offset = 0;  // of master in the data
  };
  // Reads header and checksums. Errors (with file and byte): not such a file, truncated, too long,
  // damaged header or checksums.
  [[nodiscard]] static Result<RankFile> open(const std::string& path);

  [[nodiscard]] const RankFileHeader& header() const { return header_; }
  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  [[nodiscard]] RankFileSummary summary() const;
  // Reads elements [first, first + into.size()) of one extent, counted from its start. Every block
  // that holds any of them is compared with its checksum. A damaged block is an error at its first
  // byte.
  [[nodiscard]] Result<Done> read(const Extent& extent, StatePart part, std::uint64_t first,
                                  std::span<float> into) const;
  // Compares every block with its checksum.
  [[nodiscard]] Result<Done> verify() const;

 private:
  explicit RankFile(DiskFile file) : file_(std::move(file)) {}
  [[nodiscard]] Result<Done> read_header(std::uint64_t bytes);
  [[nodiscard]] Result<Done> read_checksums(std::uint64_t bytes);
  [[nodiscard]] Result<Done> read_block(std::uint64_t block, std::span<std::byte> into) const;
  [[nodiscard]] std::uint64_t block_size(std::uint64_t block) const;

  DiskFile file_;
  RankFileHeader header_;
  std::uint64_t data_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint32_t header_checksum_ = 0;
  std::vector<Extent> extents_;
  std::vector<std::uint32_t> checksums_;
};

}  // namespace stepscope::zero
