// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/capture_cut.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

void add(Trace& trace, Category category, std::int64_t start, std::int64_t dur = 1) {
  Slice slice;
  slice.start = Ns{start};
  slice.dur = Ns{dur};
  slice.category = category;
  append(trace, slice);
}

TEST(CaptureCut, ReachesAsFarAsTheKindThatWasNotFinished) {
  Trace trace;
  for (int i = 0; i < 5; ++i) add(trace, Category::cpu_op, 100 * i, 50);
  for (int i = 0; i < 3; ++i) {
    add(trace, Category::runtime, 100 * i);
    add(trace, Category::kernel, 100 * i + 10, 500);
  }
  EXPECT_EQ(find_cut(trace).complete_to, Ns{200});  // the latest call
  EXPECT_EQ(find_cut(trace).end, Ns{710});
}

TEST(CaptureCut, RowsOutOfOrderMakeItReachLessFar) {
  Trace trace;
  add(trace, Category::cpu_op, 0);
  for (const int start : {0, 100, 70, 200}) {
    add(trace, Category::kernel, start);
    add(trace, Category::runtime, start - 5);
  }
  EXPECT_EQ(find_cut(trace).complete_to, Ns{165});  // 195, and a call was 30 late
}

TEST(CaptureCut, WithoutAKindNothingIsKnown) {
  Trace trace;
  for (int i = 0; i < 5; ++i) add(trace, Category::cpu_op, 100 * i);
  EXPECT_EQ(find_cut(trace).complete_to, Ns::min());
}

TEST(CaptureCut, FinishedKindsLackNothing) {
  Trace trace;
  add(trace, Category::cpu_op, 0);
  add(trace, Category::runtime, 1);
  add(trace, Category::kernel, 2);
  add(trace, Category::gpu_annotation, 2);
  EXPECT_EQ(find_cut(trace).complete_to, Ns::max());
}

}  // namespace
}  // namespace stepscope
