// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/interval_sweep.h"

#include <gtest/gtest.h>

#include <random>

namespace stepscope {
namespace {

TEST(IntervalSweep, StretchesTileTheWindowWhateverIsOpen) {
  IntervalSweep<2> sweep;
  sweep.add(0, Ns{10}, Ns{20});
  sweep.add(0, Ns{20}, Ns{30});
  sweep.add(1, Ns{25}, Ns{25});  // empty
  Ns cursor{0};
  Ns covered{};
  sweep.run(Ns{0}, Ns{40}, [&](Ns start, Ns end, const auto& open) {
    EXPECT_EQ(start, cursor);
    EXPECT_LT(start, end);
    EXPECT_EQ(open[1], 0);
    cursor = end;
    if (open[0] > 0) covered += end - start;
  });
  EXPECT_EQ(cursor, Ns{40});
  EXPECT_EQ(covered, Ns{20});
}

TEST(IntervalSweep, IntervalsAreClippedToTheWindow) {
  IntervalSweep<1> sweep;
  sweep.add(0, Ns{-50}, Ns{15});
  sweep.add(0, Ns{18}, Ns{500});
  std::vector<std::int64_t> lengths;
  sweep.run(Ns{10}, Ns{20}, [&](Ns start, Ns end, const auto& open) {
    lengths.push_back((end - start).count() * (open[0] > 0 ? 1 : -1));
  });
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{5, -3, 2}));
}

TEST(IntervalSweep, AgreesWithACountOfEveryNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    IntervalSweep<3> sweep;
    std::array<std::array<int, 100>, 3> expected{};
    const std::size_t intervals = random() % 30;
    for (std::size_t i = 0; i < intervals; ++i) {
      const std::size_t layer = random() % 3;
      const std::size_t start = random() % 100;
      const std::size_t end = std::min<std::size_t>(start + random() % 40, 100);
      sweep.add(layer, Ns{start}, Ns{end});
      for (std::size_t t = start; t < end; ++t) ++expected[layer][t];
    }
    std::size_t at = 0;
    sweep.run(Ns{0}, Ns{100}, [&](Ns start, Ns end, const auto& open) {
      ASSERT_EQ(start.count(), static_cast<std::int64_t>(at));
      for (; at < static_cast<std::size_t>(end.count()); ++at) {
        for (std::size_t layer = 0; layer < 3; ++layer)
          ASSERT_EQ(open[layer], expected[layer][at]) << "at " << at;
      }
    });
    ASSERT_EQ(at, 100u);
  }
}

}  // namespace
}  // namespace stepscope
