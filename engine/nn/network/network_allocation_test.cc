// SPDX-License-Identifier: Apache-2.0
// Counts a step's allocations by replacing this program's operator new. ThreadSanitizer's operator
// new cannot be replaced, so nothing is counted under it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STEPSCOPE_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef STEPSCOPE_COUNTS_ALLOCATIONS
#define STEPSCOPE_COUNTS_ALLOCATIONS 1
#endif
#if STEPSCOPE_COUNTS_ALLOCATIONS

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "engine/nn/kernels/matmul.h"
#include "engine/nn/network/network_test_model.h"
#include "stepscope/base/isa.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> largest{0};
std::atomic<int> count{0};

void* allocate(std::size_t size, std::size_t alignment) {
  if (counting) {
    ++count;
    if (size > largest) largest = size;
  }
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Out of line: otherwise g++ warns that this frees another allocator's memory.
[[gnu::noinline]] void release(void* memory) { std::free(memory); }

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 16); }
void* operator new[](std::size_t size) { return allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace stepscope::nn {
namespace {

// oneDNN makes a table of its arguments at each product (matmul.h); it is below 4 KB.
template <class T>
void check_step(const NetworkConfig& config) {
  TestModel<T> model(config, 2, 8, {Recompute::full});
  const std::vector<std::int32_t> tokens = some_tokens(16, config.vocab, 1);
  const MicroBatch micro{2, 8, tokens, tokens, 1};
  const double loss = model.run(model.passes, micro, false);
  counting = true;
  const double again = model.run(model.passes, micro, false);
  counting = false;
  EXPECT_EQ(loss, again);
  EXPECT_LT(largest.exchange(0), 4096U);
}

TEST(NetworkAllocation, IsNoneInAStepAfterTheFirst) {
  NetworkConfig gpt2 = tiny_gpt2();
  gpt2.dropout = 0.1F;
  for (const Isa level : available_isas()) {
    use_isa(level);
    count = 0;
    check_step<float>(gpt2);
    check_step<float>(tiny_llama());
    EXPECT_EQ(count, 0);
    count = 0;
    check_step<Bf16>(gpt2);
    check_step<Bf16>(tiny_llama());
    if (matmul_implementation<Bf16>({16, 16, 16, 16, 16, 16}).starts_with("sgemm")) {
      EXPECT_EQ(count, 0);
    }
  }
  use_isa(available_isas().back());
  counting = true;
  const std::vector<char> seen(5000);
  counting = false;
  EXPECT_EQ(seen.size(), largest.exchange(0));  // the counter works
}

}  // namespace
}  // namespace stepscope::nn

#endif  // STEPSCOPE_COUNTS_ALLOCATIONS
