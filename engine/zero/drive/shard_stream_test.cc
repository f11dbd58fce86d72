// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/shard_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "engine/zero/drive/disk_test_files.h"

namespace stepscope::zero {
namespace {

constexpr std::array<ShardColumn, 3> states = {ShardColumn::master, ShardColumn::m, ShardColumn::v};

struct Offloaded {
  OffloadBuffer memory;
  std::unique_ptr<ShardStores> files;
  std::unique_ptr<ShardStream> stream;
};

class ShardStreamTest : public DiskTest {
 protected:
  // On a disk, for O_DIRECT.
  ShardStreamTest() { dir_ = testing::TempDir() + "stepscope_" + name(); }

  [[nodiscard]] Offloaded open(const ShardColumns& columns, const std::vector<std::int64_t>& counts,
                               Bytes buffer, bool io_uring = true) const {
    Offloaded made;
    auto files = ShardStores::create({.optimizer = dir_, .gradients = dir_, .parameters = dir_},
                                     columns, counts, ShardStream::outstanding, io_uring);
    EXPECT_TRUE(files) << files.error().message();
    made.memory = OffloadBuffer(
        static_cast<std::size_t>(ShardStream::buffers_for(columns, counts, buffer).value));
    made.files = std::make_unique<ShardStores>(*std::move(files));
    made.stream = std::make_unique<ShardStream>(*made.files, counts, buffer, made.memory.bytes());
    return made;
  }
};

ShardColumns optimizer_columns(ElementType type) {
  return offloaded_columns({.optimizer = true}, type);
}

using Values = std::vector<std::vector<float>>;  // by unit

// An update whose result depends on every bit of the earlier value, on the step and on the element.
void update(std::span<float> m, std::span<float> v, std::span<float> master, std::int64_t first,
            std::int64_t step) {
  for (std::size_t i = 0; i < m.size(); ++i) {
    const auto at = static_cast<float>(first + static_cast<std::int64_t>(i));
    const float g = std::sin(at * 0.37F + static_cast<float>(step));
    m[i] = 0.9F * m[i] + 0.1F * g;
    v[i] = 0.95F * v[i] + 0.05F * g * g;
    if (!master.empty()) master[i] = master[i] * 0.999F - 0.01F * m[i] / (std::sqrt(v[i]) + 1e-8F);
  }
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, {}, std::bit_cast<std::uint32_t, float>,
                            std::bit_cast<std::uint32_t, float>);
}

TEST_F(ShardStreamTest, HasTheBitsThatMemoryWouldHave) {
  const std::vector<std::int64_t> counts = {5000, 0, 1, 12345, 16, 1023};
  for (const std::int64_t buffer : {0, 50'000, 1 << 20}) {
    for (const bool io_uring : {true, false}) {
      for (const ElementType type : {ElementType::bf16, ElementType::f32}) {
        const ShardColumns columns = optimizer_columns(type);
        const bool master = columns.has(ShardColumn::master);
        const Offloaded made = open(columns, counts, {buffer}, io_uring);
        ShardStream& stream = *made.stream;
        ByColumn<Values> expected;
        for (std::size_t u = 0; u < counts.size(); ++u) {
          const auto n = static_cast<std::size_t>(counts[u]);
          for (const ShardColumn c : states)
            expected[at(c)].emplace_back(n, c == ShardColumn::master ? 0.5F : 0.F);
          if (!master) continue;
          ASSERT_TRUE(stream.write(ShardColumn::master, u, 0,
                                   std::as_bytes(std::span(expected[at(ShardColumn::master)][u]))));
        }
        for (std::int64_t step = 0; step < 4; ++step) {
          ASSERT_TRUE(stream.begin(columns.stored, columns.stored));
          std::vector<std::int64_t> seen(counts.size());
          for (;;) {
            const auto piece = stream.take();
            ASSERT_TRUE(piece) << piece.error().message();
            if (!*piece) break;
            const ShardPiece& p = **piece;
            EXPECT_EQ(p.first, seen[p.unit]);
            seen[p.unit] += p.count;
            update(p.values<float>(ShardColumn::m), p.values<float>(ShardColumn::v),
                   p.values<float>(ShardColumn::master), p.first, step);
            ASSERT_TRUE(stream.put_back());
          }
          EXPECT_EQ(seen, counts);
          for (std::size_t u = 0; u < counts.size(); ++u)
            update(expected[at(ShardColumn::m)][u], expected[at(ShardColumn::v)][u],
                   master ? std::span(expected[at(ShardColumn::master)][u]) : std::span<float>(), 0,
                   step);
        }
        for (const ShardColumn c : states) {
          for (std::size_t u = 0; u < counts.size() && columns.has(c); ++u) {
            std::vector<float> got(expected[at(c)][u].size(), -1.F);
            ASSERT_TRUE(stream.read(c, u, 0, std::as_writable_bytes(std::span(got))));
            EXPECT_TRUE(same(got, expected[at(c)][u])) << u << " " << shard_column_names[at(c)];
          }
        }
      }
    }
  }
}

// Gradients are read and parameters written; nothing else moves.
TEST_F(ShardStreamTest, APassMovesTheColumnsThatItWasAskedFor) {
  struct Moves : ShardObserver {
    ByColumn<std::int64_t> read{};
    ByColumn<std::int64_t> written{};
    void moved(const ShardMove& move) noexcept override {
      EXPECT_GE(move.end, move.begin);
      const bool write = move.direction == TransferDirection::host_to_nvme;
      (write ? written : read)[at(move.column)] += move.bytes.value;
    }
  } moves;
  const std::vector<std::int64_t> counts = {3000, 70};
  const Offloaded made =
      open(offloaded_columns({.optimizer = true, .gradients = true, .parameters = true},
                             ElementType::bf16),
           counts, {1 << 20});
  made.files->observe(&moves);
  ByColumn<bool> reads{};
  ByColumn<bool> writes{};
  reads[at(ShardColumn::gradients)] = writes[at(ShardColumn::parameters)] = true;
  ASSERT_TRUE(made.stream->begin(reads, writes));
  ASSERT_TRUE(made.stream->begin(reads, writes));  // already begun
  for (;;) {
    const auto piece = made.stream->take();
    ASSERT_TRUE(piece);
    if (!*piece) break;
    EXPECT_EQ(std::ssize((*piece)->values<Bf16>(ShardColumn::gradients)), (*piece)->count);
    EXPECT_EQ(std::ssize((*piece)->values<Bf16>(ShardColumn::parameters)), (*piece)->count);
    EXPECT_TRUE((*piece)->values<float>(ShardColumn::m).empty());
    ASSERT_TRUE(made.stream->put_back());
  }
  ASSERT_TRUE(made.stream->settle());
  const ByColumn<std::int64_t> read = {0, 8192 + 4096, 0, 0, 0};
  const ByColumn<std::int64_t> written = {8192 + 4096, 0, 0, 0, 0};
  EXPECT_EQ(moves.read, read);
  EXPECT_EQ(moves.written, written);
}

TEST_F(ShardStreamTest, ReadsAndWritesAnyPartAlsoWhereAPassHasBegun) {
  const ShardColumns columns = optimizer_columns(ElementType::f32);
  const Offloaded made = open(columns, {10, 3000}, {4096});
  ASSERT_TRUE(made.stream->begin(columns.stored, columns.stored));
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.25F;
  ASSERT_TRUE(made.stream->write(ShardColumn::v, 1, 777, std::as_bytes(std::span(values))));
  std::vector<float> all(3000);
  ASSERT_TRUE(made.stream->read(ShardColumn::v, 1, 0, std::as_writable_bytes(std::span(all))));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], i >= 777 && i < 1777 ? values[i - 777] : 0.F) << i;
  ASSERT_TRUE(made.stream->read(ShardColumn::m, 1, 0, std::as_writable_bytes(std::span(all))));
  EXPECT_EQ(all, std::vector<float>(3000));
  // The next pass does not see the discarded pass.
  ASSERT_TRUE(made.stream->begin(columns.stored, columns.stored));
  (void)made.stream->take();
  ASSERT_TRUE(made.stream->put_back());
  const auto second = made.stream->take();
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->values<float>(ShardColumn::v)[777], 0.25F);
}

TEST_F(ShardStreamTest, SaysWhatItTakes) {
  const ShardColumns columns = optimizer_columns(ElementType::f32);
  const std::vector<std::int64_t> counts = {4096, 1};
  EXPECT_EQ(ShardStream::buffers_for(columns, counts, {16384}), Bytes{3 * 2 * 2048 * 4});
  EXPECT_EQ(ShardStream::buffers_for(columns, counts, {1 << 20}), Bytes{3 * 2 * 4096 * 4});
  EXPECT_EQ(ShardStores::bytes_for(columns, counts), Bytes{2 * (4096 * 4 + 4096)});
  EXPECT_EQ(ShardStream::buffers_for(columns, {}, {1 << 20}), Bytes{0});
  const Offloaded nothing = open(columns, {}, {1 << 20});  // a rank without a shard
  ASSERT_TRUE(nothing.stream->begin(columns.stored, columns.stored));
  EXPECT_FALSE(*nothing.stream->take());
}

TEST_F(ShardStreamTest, NoSpaceIsAnError) {
  const TinyDisk disk(path("disk"), 1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const auto files =
      ShardStores::create({.optimizer = path("disk")}, optimizer_columns(ElementType::f32),
                          std::vector<std::int64_t>{1 << 20}, ShardStream::outstanding);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message().find("free space"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::zero
