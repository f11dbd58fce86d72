// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/rank_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/zero/checkpoint/crc32c.h"

namespace stepscope::zero {
namespace {

constexpr std::string_view magic = "SSCKPT01";
constexpr std::string_view end_magic = "SSCKEND1";
constexpr std::uint32_t format_version = 1;
constexpr std::uint64_t fixed_header = 56;
constexpr std::uint64_t extent_bytes = 32;
constexpr std::uint64_t block_bytes = 64 * 1024;
constexpr std::uint64_t data_alignment = 4096;

std::uint64_t blocks_of(std::uint64_t bytes) { return (bytes + block_bytes - 1) / block_bytes; }
std::uint64_t header_bytes(std::uint64_t extents) {
  return fixed_header + extents * extent_bytes + 4;
}
std::uint64_t data_start(std::uint64_t extents) {
  return (header_bytes(extents) + data_alignment - 1) / data_alignment * data_alignment;
}
std::uint64_t trailer_bytes(std::uint64_t data_bytes) {
  return blocks_of(data_bytes) * 4 + 4 + end_magic.size();
}

class ByteWriter {
 public:
  template <class T>
  void put(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// The caller has checked the bounds.
template <class T>
T get(std::span<const std::byte> bytes, std::uint64_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Bytes of master, m and v.
std::uint64_t extent_data(const StateExtent& extent) {
  return static_cast<std::uint64_t>(extent.count()) * 3 * sizeof(float);
}

std::vector<std::byte> header_of(const RankFileHeader& header, std::span<const StateExtent> extents,
                                 std::uint64_t data_bytes) {
  ByteWriter out;
  out.put_text(magic);
  out.put(format_version);
  out.put(header.rank);
  out.put(header.world_size);
  out.put(static_cast<std::uint32_t>(extents.size()));
  out.put(header.step);
  out.put(header.model);
  out.put(data_start(extents.size()));
  out.put(data_bytes);
  std::uint64_t offset = 0;
  for (const StateExtent& e : extents) {
    out.put(static_cast<std::uint64_t>(e.unit));
    out.put(static_cast<std::uint64_t>(e.first));
    out.put(static_cast<std::uint64_t>(e.count()));
    out.put(offset);
    offset += extent_data(e);
  }
  out.put(crc32c(out.bytes()));
  return std::move(out.bytes());
}

std::uint32_t whole_checksum(std::uint32_t header, std::uint32_t blocks) {
  const std::array<std::uint32_t, 2> both = {header, blocks};
  return crc32c(std::as_bytes(std::span(both)));
}

// Writes a stream of spans from `offset` on and computes the checksum of each block.
class BlockWriter {
 public:
  BlockWriter(const DiskFile& file, std::uint64_t offset) : file_(file), offset_(offset) {}

  Result<Done> write(std::span<const std::byte> bytes) {
    constexpr std::size_t at_once = 16 * block_bytes;  // checksummed while in the cache
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), at_once));
      add(part);
      if (auto written = file_.write(offset_, part); !written) return written.error();
      offset_ += part.size();
      bytes = bytes.subspan(part.size());
    }
    return Done{};
  }
  // The trailer.
  Result<std::uint32_t> finish() {
    if (in_block_ > 0) checksums_.push_back(running_);
    const std::uint32_t checksum = crc32c(std::as_bytes(std::span(checksums_)));
    ByteWriter out;
    for (const std::uint32_t c : checksums_) out.put(c);
    out.put(checksum);
    out.put_text(end_magic);
    if (auto written = file_.write(offset_, out.bytes()); !written) return written.error();
    offset_ += out.bytes().size();
    return checksum;
  }
  [[nodiscard]] std::uint64_t end() const { return offset_; }

 private:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min<std::size_t>(bytes.size(), block_bytes - in_block_));
      running_ = crc32c(part, running_);
      in_block_ += part.size();
      bytes = bytes.subspan(part.size());
      if (in_block_ < block_bytes) continue;
      checksums_.push_back(std::exchange(running_, 0));
      in_block_ = 0;
    }
  }

  const DiskFile& file_;
  std::uint64_t offset_;
  std::uint64_t in_block_ = 0;
  std::uint32_t running_ = 0;
  std::vector<std::uint32_t> checksums_;
};

Result<RankFileSummary> write_all(const DiskFile& file, const RankFileHeader& header,
                                  std::span<const StateExtent> extents) {
  std::uint64_t data_bytes = 0;
  for (const StateExtent& e : extents) {
    check(e.first >= 0 && e.m.size() == e.master.size() && e.v.size() == e.master.size(),
          "master, m and v of an extent are equally long");
    data_bytes += extent_data(e);
  }
  std::vector<std::byte> head = header_of(header, extents, data_bytes);
  const auto header_checksum = get<std::uint32_t>(head, head.size() - 4);
  head.resize(data_start(extents.size()));
  if (auto written = file.write(0, head); !written) return written.error();
  BlockWriter out(file, head.size());
  for (const StateExtent& e : extents) {
    for (const std::span<const float> part : {e.master, e.m, e.v})
      if (auto written = out.write(std::as_bytes(part)); !written) return written.error();
  }
  const auto checksum = out.finish();
  if (!checksum) return checksum.error();
  return RankFileSummary{.bytes = out.end(),
                         .checksum = whole_checksum(header_checksum, *checksum)};
}

Error damaged(const std::string& path, std::uint64_t byte, std::string what) {
  return {.what = std::move(what),
          .file = path,
          .byte = byte,
          .hint = "use an older checkpoint, or copy this one again"};
}

}  // namespace

Result<RankFileSummary> write_rank_file(const std::string& path, const RankFileHeader& header,
                                        std::span<const StateExtent> extents) {
  RankFileSummary summary;
  const auto written = write_in_place(path, [&](const DiskFile& file) -> Result<Done> {
    const auto all = write_all(file, header, extents);
    if (!all) return all.error();
    summary = *all;
    return Done{};
  });
  if (!written) return written.error();
  return summary;
}

Result<RankFile> RankFile::open(const std::string& path) {
  auto opened = DiskFile::open(path);
  if (!opened) return opened.error();
  const auto bytes = opened->size();
  if (!bytes) return bytes.error();
  RankFile file(*std::move(opened));
  if (auto read = file.read_header(*bytes); !read) return read.error();
  if (auto read = file.read_checksums(*bytes); !read) return read.error();
  return file;
}

Result<Done> RankFile::read_header(std::uint64_t bytes) {
  const std::string& path = file_.path();
  if (bytes < header_bytes(0)) return damaged(path, bytes, "the file ends within its header");
  std::vector<std::byte> head(fixed_header);
  if (auto read = file_.read(0, head); !read) return read.error();
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0) {
    return damaged(path, 0, "is not a rank's file of a checkpoint");
  }
  if (const auto version = get<std::uint32_t>(head, 8); version != format_version) {
    return damaged(path, 8, "version " + std::to_string(version) + " is not known");
  }
  const std::uint64_t extents = get<std::uint32_t>(head, 20);
  if (header_bytes(extents) > bytes) {
    return damaged(path, bytes, "the file ends within its header");
  }
  head.resize(header_bytes(extents));
  if (auto read = file_.read(0, head); !read) return read.error();
  header_checksum_ = get<std::uint32_t>(head, head.size() - 4);
  if (crc32c(std::span(head).first(head.size() - 4)) != header_checksum_) {
    return damaged(path, 0, "the header does not fit its checksum");
  }
  header_ = {.rank = get<std::uint32_t>(head, 12),
             .world_size = get<std::uint32_t>(head, 16),
             .step = get<std::uint64_t>(head, 24),
             .model = get<std::uint64_t>(head, 32)};
  data_ = get<std::uint64_t>(head, 40);
  data_bytes_ = get<std::uint64_t>(head, 48);
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < extents; ++i) {
    const std::uint64_t at = fixed_header + i * extent_bytes;
    const Extent e{.unit = get<std::uint64_t>(head, at),
                   .first = get<std::uint64_t>(head, at + 8),
                   .count = get<std::uint64_t>(head, at + 16),
                   .offset = get<std::uint64_t>(head, at + 24)};
    // Counts that exceed the file are refused before any multiplication or allocation.
    if (e.count > bytes || e.first > (1ULL << 62U) || e.offset != offset) {
      return damaged(path, at, "extent " + std::to_string(i) + " does not fit the file");
    }
    offset += e.count * 12;
    extents_.push_back(e);
  }
  if (data_ != data_start(extents) || data_bytes_ != offset) {
    return damaged(path, 40, "the sizes in the header contradict each other");
  }
  return Done{};
}

Result<Done> RankFile::read_checksums(std::uint64_t bytes) {
  const std::string& path = file_.path();
  const std::uint64_t expected = data_ + data_bytes_ + trailer_bytes(data_bytes_);
  if (bytes != expected) {
    const std::string what =
        bytes < expected ? "the file ends here; " : "there is more after its end; ";
    return damaged(path, std::min(bytes, expected),
                   what + std::to_string(expected) + " bytes are expected, " +
                       std::to_string(bytes) + " are there");
  }
  std::vector<std::byte> trailer(trailer_bytes(data_bytes_));
  const std::uint64_t at = data_ + data_bytes_;
  if (auto read = file_.read(at, trailer); !read) return read.error();
  const std::uint64_t table = blocks_of(data_bytes_) * 4;
  const bool ends =
      std::memcmp(trailer.data() + table + 4, end_magic.data(), end_magic.size()) == 0;
  if (!ends || crc32c(std::span(trailer).first(table)) != get<std::uint32_t>(trailer, table)) {
    return damaged(path, at, "the table of checksums is damaged");
  }
  checksums_.resize(blocks_of(data_bytes_));
  if (table > 0) std::memcpy(checksums_.data(), trailer.data(), table);
  return Done{};
}

RankFileSummary RankFile::summary() const {
  return {
      .bytes = data_ + data_bytes_ + trailer_bytes(data_bytes_),
      .checksum = whole_checksum(header_checksum_, crc32c(std::as_bytes(std::span(checksums_))))};
}

std::uint64_t RankFile::block_size(std::uint64_t block) const {
  return std::min(block_bytes, data_bytes_ - block * block_bytes);
}

Result<Done> RankFile::read_block(std::uint64_t block, std::span<std::byte> into) const {
  const std::uint64_t at = data_ + block * block_bytes;
  if (auto read = file_.read(at, into); !read) return read.error();
  if (crc32c(into) == checksums_[block]) return Done{};
  return damaged(
      file_.path(), at,
      "the " + std::to_string(into.size()) + " bytes from here on do not fit their checksum");
}

Result<Done> RankFile::read(const Extent& extent, StatePart part, std::uint64_t first,
                            std::span<float> into) const {
  check(first + into.size() <= extent.count, "the elements are in the extent");
  std::span<std::byte> out = std::as_writable_bytes(into);
  std::uint64_t at =
      extent.offset + static_cast<std::uint64_t>(part) * extent.count * 4 + first * 4;
  std::array<std::byte, block_bytes> edge{};
  while (!out.empty()) {
    const std::uint64_t block = at / block_bytes;
    const std::uint64_t size = block_size(block);
    const std::uint64_t skip = at - block * block_bytes;
    const std::size_t n = std::min<std::size_t>(out.size(), size - skip);
    const auto whole = n == size ? out.first(n) : std::span(edge).first(size);
    if (auto read = read_block(block, whole); !read) return read.error();
    if (n != size) std::memcpy(out.data(), edge.data() + skip, n);
    out = out.subspan(n);
    at += n;
  }
  return Done{};
}

Result<Done> RankFile::verify() const {
  std::array<std::byte, block_bytes> buffer{};
  for (std::uint64_t block = 0; block < checksums_.size(); ++block) {
    if (auto read = read_block(block, std::span(buffer).first(block_size(block))); !read)
      return read.error();
  }
  return Done{};
}

}  // namespace stepscope::zero
