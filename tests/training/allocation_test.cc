// SPDX-License-Identifier: Apache-2.0
// A training step allocates no memory. malloc and related functions are replaced by counting ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "engine/zero/engine/engine_test_run.h"

// glibc's own functions, under the names that are replaced here.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

struct Taken {
  bool counting = false;
  long count = 0;
  std::size_t largest = 0;  // bytes
};
thread_local Taken taken;

void note(std::size_t bytes) {
  if (!taken.counting) return;
  ++taken.count;
  taken.largest = taken.largest < bytes ? bytes : taken.largest;
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  note(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  note(bytes);
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  note(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace stepscope {
namespace {

TEST(Allocation, TheCountersCount) {
  taken = {.counting = true};
  std::vector<int> values(1000);
  EXPECT_EQ(values[999], 0);
  taken.counting = false;
  EXPECT_EQ(taken.count, 1);
  EXPECT_EQ(taken.largest, 4000U);
}

// The first steps allocate buffers of the matrix library and of the windows of statistics. Later
// steps allocate nothing.
TEST(Allocation, AStepTakesNoMemory) {
  const std::string drive = testing::TempDir();
  const zero::OffloadPlaces all{.optimizer = drive, .gradients = drive, .parameters = drive};
  for (const int stage : {0, 1, 2, 3, 4}) {  // 4: stage 3 with all of it in files
    for (const auto kind : {nn::Recompute::none, nn::Recompute::full}) {
      zero::TestRun run{.ranks = 2, .steps = 0};
      if (stage == 4) run.engine.offload = all;
      run.engine.stage = std::min(stage, 3);
      run.engine.micro_batches = 2;
      run.engine.recompute = {.kind = kind};
      std::vector<Taken> counts(2);
      run.at_end = [&](zero::TestRank& rank) {
        const std::vector<std::int32_t> inputs(8, 3);
        const std::vector<std::int32_t> targets(8, 5);
        const nn::MicroBatch micro{.batch = 1, .tokens = 8, .inputs = inputs, .targets = targets};
        const std::vector<nn::MicroBatch> micro_batches(2, micro);
        for (int step = 0; step < 6; ++step) {
          if (step == 3) taken = {.counting = true};
          const bool trained = rank.engine.step(micro_batches).has_value();
          if (!trained) ADD_FAILURE();
        }
        taken.counting = false;
        counts[static_cast<std::size_t>(rank.rank)] = taken;
      };
      zero::expect_no_errors(zero::train_threads(run));
      for (const Taken& count : counts) {
        EXPECT_EQ(count.count, 0) << "stage " << stage << ": " << count.largest << " bytes at most";
      }
    }
  }
}

}  // namespace
}  // namespace stepscope
