// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/event_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace stepscope::nccl {
namespace {

// A pool with memory of its own, which begins as zeros and is touched only on use.
struct TestPool {
  struct Free {
    void operator()(unsigned char* bytes) const {
      ::operator delete[](bytes, std::align_val_t{64});
    }
  };
  std::unique_ptr<unsigned char, Free> memory{
      new (std::align_val_t{64}) unsigned char[EventPool::storage_bytes]()};
  EventPool pool{memory.get()};
};

std::uint64_t begin(EventPool& pool, std::uint32_t thread = 0) {
  Event* event = pool.take(thread);
  if (event == nullptr) return 0;
  event->start = static_cast<std::int64_t>(thread);
  pool.publish(*event);
  return event->id;
}

TEST(EventPool, AHandleLivesFromPublishToStopAndNeverAgain) {
  TestPool t;
  Event* event = t.pool.take(0);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(t.pool.find(event->id), nullptr);
  t.pool.publish(*event);
  const std::uint64_t handle = event->id;
  EXPECT_NE(handle, 0U);
  EXPECT_EQ(t.pool.find(handle), event);
  EXPECT_TRUE(t.pool.stop(handle, 42));
  EXPECT_FALSE(t.pool.stop(handle, 43));
  EXPECT_EQ(t.pool.find(handle), nullptr);
  std::vector<std::uint64_t> ended;
  t.pool.drain([&](Event& e) {
    EXPECT_EQ(e.stop, 42);
    ended.push_back(e.id);
  });
  EXPECT_EQ(ended, std::vector<std::uint64_t>{handle});
  const std::uint64_t again = begin(t.pool);  // the same slot
  EXPECT_NE(again, handle);
  EXPECT_FALSE(t.pool.stop(handle, 44));
  EXPECT_TRUE(t.pool.stop(again, 45));
}

TEST(EventPool, NoNumberIsAHandleByChance) {
  TestPool t;
  (void)begin(t.pool);
  for (const std::uint64_t handle :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 20U, std::uint64_t{0xfffff},
        ~std::uint64_t{0}, std::uint64_t{0x7fff12345678}}) {
    if (t.pool.find(handle) != nullptr) continue;  // the one that begin() took
    EXPECT_FALSE(t.pool.stop(handle, 1)) << handle;
  }
  EXPECT_EQ(t.pool.find(0), nullptr);
  EXPECT_EQ(t.pool.find(~std::uint64_t{0}), nullptr);
}

TEST(EventPool, EventsOfOneThreadComeInTheOrderOfTheirStops) {
  TestPool t;
  std::vector<std::uint64_t> handles;
  for (int i = 0; i < 10; ++i) handles.push_back(begin(t.pool, 3));
  const std::vector<std::uint64_t> order = {handles[4], handles[0], handles[9], handles[1]};
  for (const std::uint64_t handle : order) EXPECT_TRUE(t.pool.stop(handle, 1));
  std::vector<std::uint64_t> seen;
  EXPECT_EQ(t.pool.drain([&](Event& e) { seen.push_back(e.id); }), 4U);
  EXPECT_EQ(seen, order);
  std::set<std::uint64_t> open;
  EXPECT_EQ(t.pool.drain_open([&](Event& e) { open.insert(e.id); }), 6U);
  EXPECT_TRUE(open.contains(handles[2]));
  EXPECT_EQ(t.pool.find(handles[2]), nullptr);
}

TEST(EventPool, WhenItIsFullNothingIsTakenUntilSomethingIsDrained) {
  TestPool t;
  t.pool.limit(EventPool::shard_count * 2);
  std::vector<std::uint64_t> handles;
  while (const std::uint64_t handle = begin(t.pool)) handles.push_back(handle);
  EXPECT_EQ(handles.size(), 8U);  // of this thread's shard and the three next to it
  EXPECT_NE(begin(t.pool, 8), 0U);
  EXPECT_TRUE(t.pool.stop(handles[0], 1));
  EXPECT_EQ(begin(t.pool), 0U);
  t.pool.drain([](Event&) {});
  EXPECT_NE(begin(t.pool), 0U);
  EXPECT_EQ(begin(t.pool), 0U);
}

// Each event carries its thread. Each arrives exactly once.
TEST(EventPool, ThreadsThatFightForSlotsLoseNone) {
  TestPool t;
  t.pool.limit(256);
  constexpr std::uint32_t threads = 4;
  constexpr int each = 5000;
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> workers;
  for (std::uint32_t w = 0; w < threads; ++w)
    workers.emplace_back([&, w] {
      for (int i = 0; i < each; ++i) {
        const std::uint64_t handle = begin(t.pool, w % 2);  // two threads a shard
        if (handle == 0) {
          std::this_thread::yield();
          continue;
        }
        ++taken;
        if (!t.pool.stop(handle, 1)) ADD_FAILURE() << "a live handle";
      }
    });
  std::uint64_t drained = 0;
  std::thread writer([&] {
    while (!done) {
      drained += t.pool.drain([](Event&) {});
      std::this_thread::yield();
    }
  });
  for (std::thread& worker : workers) worker.join();
  done = true;
  writer.join();
  std::set<std::uint64_t> ids;
  drained += t.pool.drain([&](Event& e) { EXPECT_TRUE(ids.insert(e.id).second); });
  EXPECT_EQ(drained, taken.load());
  EXPECT_GT(taken.load(), 0U);
}

}  // namespace
}  // namespace stepscope::nccl
