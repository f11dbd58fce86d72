// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/device_store.h"

#include <algorithm>
#include <utility>

#include "stepscope/telemetry/fast_clock.h"
#include "stepscope/zero/drive/cuda_device.h"
#include "stepscope/zero/drive/device_staging.h"
#include "stepscope/zero/drive/device_test_copies.h"
#include "stepscope/zero/drive/disk_file.h"
#include "stepscope/zero/drive/disk_test_files.h"
#include "stepscope/zero/drive/shard_stream.h"

namespace stepscope::zero {
namespace {

void fill_bytes(std::span<std::byte> bytes, std::uint32_t seed) {
  for (std::byte& b : bytes)
    b = static_cast<std::byte>((seed = seed * 1664525U + 1013904223U) >> 24U);
}

TEST(DeviceStore, ReadsWhatItWroteInAnyOrderOfWaits) {
  TestDeviceCounts counts;
  {
    TestDevice device(counts, {.delay = Ns{200'000}}, 4);
    auto store = DeviceStore::create(device, Bytes{1 << 20});
    ASSERT_TRUE(store);
    std::vector<OffloadBuffer> out;
    std::vector<PinnedMemory> pinned;
    std::vector<OffloadTicket> tickets;
    counts.held = true;
    for (std::size_t i = 0; i < 4; ++i) {
      out.emplace_back(65536 * (i + 1));
      fill_bytes(out[i].bytes(), static_cast<std::uint32_t>(i));
      pinned.push_back(*PinnedMemory::pin(device, out[i].bytes()));
      tickets.push_back(*store->write(i * (256 << 10U), out[i].bytes()));
    }
    EXPECT_FALSE(store->test(tickets[3]));
    counts.held = false;
    for (const std::size_t i : {2U, 0U, 3U, 1U}) {
      const auto times = store->wait(tickets[i]);
      ASSERT_TRUE(times);
      EXPECT_GE(times->end - times->begin, Ns{200'000});
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      OffloadBuffer in(out[i].size());
      const auto pin = PinnedMemory::pin(device, in.bytes());
      const auto ticket = store->read(i * (256 << 10U), in.bytes());
      ASSERT_TRUE(ticket && store->wait(*ticket));
      EXPECT_TRUE(std::ranges::equal(in.bytes(), out[i].bytes())) << i;
    }
    OffloadBuffer in(4096);
    fill_bytes(in.bytes(), 1);
    const auto pin = PinnedMemory::pin(device, in.bytes());
    const auto ticket = store->read(65536, in.bytes());
    ASSERT_TRUE(ticket && store->wait(*ticket));
    EXPECT_TRUE(std::ranges::all_of(in.bytes(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_EQ(store->description(), "test device");
    EXPECT_EQ(store->size(), Bytes{1 << 20});
  }
  EXPECT_EQ(counts.clashes, 0);
  EXPECT_EQ(counts.unpinned, 0);
  EXPECT_EQ(counts.allocated, 0);
  EXPECT_EQ(counts.pinned, 0);
}

// The test device itself: it sees a buffer that is used before its copy has ended.
TEST(DeviceStore, ABufferThatIsUsedTooEarlyIsSeen) {
  TestDeviceCounts counts;
  TestDevice device(counts, {.delay = Ns{1'000'000}}, 4);
  auto store = DeviceStore::create(device, Bytes{1 << 20});
  ASSERT_TRUE(store);
  OffloadBuffer buffer(8192);
  const auto first = store->write(0, buffer.bytes());
  const auto second = store->read(8192, buffer.bytes());  // the write still needs the buffer
  ASSERT_TRUE(first && second && store->wait(*first) && store->wait(*second));
  EXPECT_EQ(counts.clashes, 1);
  EXPECT_EQ(counts.unpinned, 2);
}

TEST(DeviceStore, TooLittleMemoryIsAnError) {
  TestDeviceCounts counts;
  TestDevice device(counts, {.most_bytes = 8192}, 1);
  EXPECT_TRUE(DeviceStore::create(device, Bytes{8192}));
  const auto store = DeviceStore::create(device, Bytes{8193});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message().find("cannot take 12288 bytes"), std::string::npos);
}

// A pass reads, updates and writes each piece. The copies take longer than the update, so both
// directions are under way at once, and no buffer is used before its copy has ended.
TEST(DeviceStore, APassOverlapsBothDirections) {
  TestDeviceCounts counts;
  const ShardColumns columns = offloaded_columns({.optimizer = true}, ElementType::bf16);
  const std::vector<std::int64_t> elements = {30'000, 0, 5000};
  constexpr Bytes buffer{1 << 16};
  OffloadBuffer memory(
      static_cast<std::size_t>(ShardStream::buffers_for(columns, elements, buffer).value));
  {
    auto stores = ShardStores::create({.device = {.optimizer = true}, .device_number = 0}, columns,
                                      elements, ShardStream::outstanding, 0,
                                      test_devices(counts, {.delay = Ns{300'000}}));
    ASSERT_TRUE(stores);
    ASSERT_TRUE(stores->use_memory(memory.bytes()));
    ShardStream stream(*stores, elements, buffer, memory.bytes());
    for (int pass = 0; pass < 3; ++pass) {
      ASSERT_TRUE(stream.begin(columns.stored, columns.stored));
      for (;;) {
        const auto piece = stream.take();
        ASSERT_TRUE(piece);
        if (!*piece) break;
        for (const ShardColumn c : {ShardColumn::master, ShardColumn::m, ShardColumn::v}) {
          std::int64_t i = (*piece)->first;
          for (float& x : (*piece)->values<float>(c))
            x = 0.5F * x + static_cast<float>(at(c)) + static_cast<float>(i++);
        }
        ASSERT_TRUE(stream.put_back());
      }
    }
    for (std::size_t u = 0; u < elements.size(); ++u) {
      for (const ShardColumn c : {ShardColumn::master, ShardColumn::m, ShardColumn::v}) {
        std::vector<float> got(static_cast<std::size_t>(elements[u]));
        ASSERT_TRUE(stream.read(c, u, 0, std::as_writable_bytes(std::span(got))));
        for (std::size_t i = 0; i < got.size(); ++i) {
          float x = 0;
          for (int pass = 0; pass < 3; ++pass)
            x = 0.5F * x + static_cast<float>(at(c)) + static_cast<float>(i);
          ASSERT_EQ(got[i], x) << shard_column_names[at(c)] << " " << u << " " << i;
        }
      }
    }
  }
  EXPECT_EQ(counts.most_at_once, 2U);
  EXPECT_EQ(counts.clashes, 0);
  EXPECT_EQ(counts.unpinned, 0);
  EXPECT_EQ(counts.allocated, 0);
  EXPECT_EQ(counts.pinned, 0);
}

class DeviceStagingTest : public DiskTest {};

// Sizes below, at and above a buffer's, to a file and back to another place of the device.
TEST_F(DeviceStagingTest, EveryByteArrivesOnDiskAndInTheDevice) {
  TestDeviceCounts counts;
  constexpr auto one = static_cast<std::int64_t>(DeviceStaging::buffer_bytes);
  for (const std::int64_t size : {std::int64_t{12}, one, one + 4, 3 * one + 4096}) {
    TestDevice device(counts, {.delay = Ns{100'000}}, 4);
    DeviceStaging staging(device);
    auto from = DeviceBlock::allocate(device, Bytes{size});
    auto to = DeviceBlock::allocate(device, Bytes{size});
    ASSERT_TRUE(from && to);
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    fill_bytes(bytes, static_cast<std::uint32_t>(size));
    const auto whole = [&](DeviceAddress address) {  // the test device's addresses are the host's
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      return std::span(reinterpret_cast<std::byte*>(address), bytes.size());
    };
    std::ranges::copy(bytes, whole(from->address()).begin());
    auto file = DiskFile::create(path("values"));
    ASSERT_TRUE(file);
    std::uint64_t end = 0;
    const Ns before = host_now();
    ASSERT_TRUE(staging.to_disk(ShardColumn::m, from->address(), Bytes{size},
                                [&](std::span<const std::byte> part) {
                                  const std::uint64_t at = std::exchange(end, end + part.size());
                                  return file->write(at, part);
                                }));
    ASSERT_TRUE(staging.from_disk(
        ShardColumn::v, to->address(), Bytes{size},
        [&](std::uint64_t at, std::span<std::byte> part) { return file->read(at, part); }));
    const Ns after = host_now();
    EXPECT_TRUE(std::ranges::equal(whole(to->address()), bytes)) << size;
    std::int64_t saved = 0;
    std::int64_t loaded = 0;
    Ns last = before;
    for (const ShardMove& move : staging.take_moves()) {
      const bool to_disk = move.direction == TransferDirection::device_to_nvme;
      EXPECT_EQ(move.column, to_disk ? ShardColumn::m : ShardColumn::v);
      (to_disk ? saved : loaded) += move.bytes.value;
      EXPECT_GE(move.begin, before);
      EXPECT_GE(move.end - move.begin, Ns{100'000});
      EXPECT_GE(move.end, last);
      EXPECT_LE(move.end, after);
      last = move.end;
    }
    EXPECT_EQ(saved, size);
    EXPECT_EQ(loaded, size);
    EXPECT_TRUE(staging.take_moves().empty());
    ASSERT_TRUE(staging.copy(from->address(), to->address(), Bytes{size}));
  }
  EXPECT_EQ(counts.clashes, 0);
  EXPECT_EQ(counts.unpinned, 0);
  EXPECT_EQ(counts.allocated, 0);
  EXPECT_EQ(counts.pinned, 0);
}

TEST_F(DeviceStagingTest, AFullDiskIsAnErrorAndEndsTheCopies) {
  TestDeviceCounts counts;
  {
    TestDevice device(counts, {.delay = Ns{100'000}}, 2);
    DeviceStaging staging(device);
    constexpr Bytes size{3 * static_cast<std::int64_t>(DeviceStaging::buffer_bytes)};
    auto block = DeviceBlock::allocate(device, size);
    ASSERT_TRUE(block);
    const Error full{.what = "full"};
    for (int i = 0; i < 3; ++i) {  // no copy stays behind, or the device would have none left
      const auto saved =
          staging.to_disk(ShardColumn::m, block->address(), size,
                          [&](std::span<const std::byte>) -> Result<Done> { return full; });
      ASSERT_FALSE(saved);
      EXPECT_EQ(saved.error().what, "full");
      int parts = 0;
      const auto loaded =
          staging.from_disk(ShardColumn::m, block->address(), size,
                            [&](std::uint64_t, std::span<std::byte>) -> Result<Done> {
                              if (++parts == 3) return full;
                              return Done{};
                            });
      ASSERT_FALSE(loaded);
    }
  }
  EXPECT_EQ(counts.clashes, 0);
}

// In builds with CUDA, tests/cuda opens devices.
TEST(CudaDevice, IsRefusedByNameWhereTheBuildHasNone) {
  if (cuda_in_build()) GTEST_SKIP() << "this build has CUDA";
  for (const Error& error :
       {cuda_in_build().error(), cuda_devices().error(), open_cuda_device(0, 1).error(),
        open_offload_device(std::nullopt, 1, open_cuda_device, 1).error()}) {
    EXPECT_EQ(error.code, ErrorCode::refused);
    EXPECT_NE(error.message().find("--offload-device is not in this build"), std::string::npos);
    EXPECT_NE(error.message().find("-DSTEPSCOPE_CUDA=ON"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepscope::zero
