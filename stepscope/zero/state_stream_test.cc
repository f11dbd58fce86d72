// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/state_stream.h"

#include <bit>
#include <cmath>

#include "stepscope/zero/disk_test_files.h"

namespace stepscope::zero {
namespace {

class StateStreamTest : public DiskTest {
 protected:
  // On a disk, for O_DIRECT.
  StateStreamTest() { dir_ = testing::TempDir() + "stepscope_" + name(); }
};

struct States {
  std::vector<float> master, m, v;
};

// An update whose result depends on every bit of what was there, on the step and on the element.
void update(std::span<float> master, std::span<float> m, std::span<float> v, std::int64_t first,
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

// Reads all back, and compares with what `expected` holds.
void expect_same(StateStream& stream, const std::vector<States>& expected, bool master) {
  for (std::size_t u = 0; u < expected.size(); ++u) {
    States got{expected[u].master, expected[u].m, expected[u].v};
    for (auto& part : {&got.master, &got.m, &got.v}) std::ranges::fill(*part, -1.F);
    if (master) {
      ASSERT_TRUE(stream.read(u, StatePart::master, 0, got.master));
      EXPECT_TRUE(same(got.master, expected[u].master)) << u;
    }
    ASSERT_TRUE(stream.read(u, StatePart::m, 0, got.m));
    ASSERT_TRUE(stream.read(u, StatePart::v, 0, got.v));
    EXPECT_TRUE(same(got.m, expected[u].m)) << u;
    EXPECT_TRUE(same(got.v, expected[u].v)) << u;
  }
}

TEST_F(StateStreamTest, HasTheBitsThatMemoryWouldHave) {
  const std::vector<std::int64_t> counts = {5000, 0, 1, 12345, 16, 1023};
  for (const std::int64_t buffer : {0, 4096, 50000, 1 << 20}) {
    for (const bool io_uring : {true, false}) {
      for (const bool master : {true, false}) {
        auto stream = StateStream::create(
            {.dir = dir_, .buffer = {buffer}, .master = master, .io_uring = io_uring}, counts);
        ASSERT_TRUE(stream) << stream.error().message();
        std::vector<States> expected;
        for (std::size_t u = 0; u < counts.size(); ++u) {
          const auto n = static_cast<std::size_t>(counts[u]);
          expected.push_back(
              {std::vector<float>(n, 0.5F), std::vector<float>(n), std::vector<float>(n)});
          if (master) {
            ASSERT_TRUE(stream->write(u, StatePart::master, 0, expected[u].master));
          }
        }
        for (std::int64_t step = 0; step < 4; ++step) {
          std::vector<std::int64_t> seen(counts.size());
          for (;;) {
            auto piece = stream->take();
            ASSERT_TRUE(piece) << piece.error().message();
            if (!*piece) break;
            EXPECT_EQ((*piece)->first, seen[(*piece)->unit]);
            seen[(*piece)->unit] += (*piece)->count;
            EXPECT_EQ((*piece)->last_of_unit, seen[(*piece)->unit] == counts[(*piece)->unit]);
            update((*piece)->master, (*piece)->m, (*piece)->v, (*piece)->first, step);
            ASSERT_TRUE(stream->put_back());
          }
          EXPECT_EQ(seen, counts);
          for (States& s : expected)
            update(master ? std::span(s.master) : std::span<float>(), s.m, s.v, 0, step);
        }
        expect_same(*stream, expected, master);
      }
    }
  }
}

TEST_F(StateStreamTest, ReadsAndWritesAnyPart) {
  auto stream =
      StateStream::create({.dir = dir_, .buffer = {4096}}, std::vector<std::int64_t>{10, 3000});
  ASSERT_TRUE(stream);
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.25F;
  ASSERT_TRUE(stream->write(1, StatePart::v, 777, values));
  std::vector<float> all(3000);
  ASSERT_TRUE(stream->read(1, StatePart::v, 0, all));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], i >= 777 && i < 1777 ? values[i - 777] : 0.F) << i;
  ASSERT_TRUE(stream->read(1, StatePart::m, 0, all));
  EXPECT_EQ(all, std::vector<float>(3000));
}

TEST_F(StateStreamTest, SaysWhatItTakes) {
  const auto stream =
      StateStream::create({.dir = dir_, .buffer = {12288}}, std::vector<std::int64_t>{1024, 1024});
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->buffer_bytes(), Bytes{3 * 12288});
  EXPECT_EQ(stream->step_bytes(), Bytes{2 * 12288});
  EXPECT_TRUE(StateStream::create({.dir = dir_}, {}));  // a rank that holds nothing
}

TEST_F(StateStreamTest, NoSpaceIsAnError) {
  const TinyDisk disk(path("disk"), 1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const auto stream =
      StateStream::create({.dir = path("disk")}, std::vector<std::int64_t>{1 << 20});
  ASSERT_FALSE(stream);
  EXPECT_NE(stream.error().message().find("free space"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::zero
