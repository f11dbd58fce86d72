// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/time_core.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

// The model gets the right operations: its fit reaches the timings, and the counted arithmetic is
// that of the shapes.
TEST(TimeCore, CountsWhatItTimes) {
  const auto timings = time_core(ElementType::f32, {.time_an_operation = Ns{0}, .quick = true});
  ASSERT_FALSE(timings.empty());
  std::set<OperationClass> kinds;
  for (const OperationTiming& t : timings) {
    kinds.insert(t.operation.kind);
    EXPECT_GT(t.time.count(), 0);
    EXPECT_EQ(t.dtype, Dtype::fp32);
    if (t.operation.kind != OperationClass::matmul) continue;
    const MatmulShape& s = t.operation.forward.matmuls.front();
    EXPECT_DOUBLE_EQ(t.operation.forward.matrix.value,
                     2.0 * static_cast<double>(s.m) * static_cast<double>(s.n * s.k));
    EXPECT_DOUBLE_EQ(t.operation.forward.bytes(),
                     4.0 * static_cast<double>(s.m * s.k + s.n * s.k + s.m * s.n));
  }
  EXPECT_EQ(kinds, (std::set{OperationClass::matmul, OperationClass::attention,
                             OperationClass::norm, OperationClass::pointwise}));
}

TEST(TimeCore, AHalfFormatMovesHalfTheBytes) {
  const CoreSweep sweep{.time_an_operation = Ns{0}, .quick = true};
  const auto wide = time_core(ElementType::f32, sweep);
  const auto narrow = time_core(ElementType::bf16, sweep);
  ASSERT_EQ(wide.size(), narrow.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(narrow[i].dtype, Dtype::bf16);
    EXPECT_DOUBLE_EQ(narrow[i].operation.forward.matrix.value,
                     wide[i].operation.forward.matrix.value);
    if (wide[i].operation.kind == OperationClass::matmul) {
      EXPECT_DOUBLE_EQ(2 * narrow[i].operation.forward.bytes(), wide[i].operation.forward.bytes());
    }
  }
}

TEST(TimeCore, MemoryHasARate) { EXPECT_GT(time_memory(Ns{0}, Bytes{1 << 20}).value, 0); }

}  // namespace
}  // namespace stepscope
