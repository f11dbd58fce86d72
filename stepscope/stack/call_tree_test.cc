// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/call_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

TEST(CallTree, MergesStacksAndPutsTheLargestFirst) {
  TreeBuilder b;
  const StringId x{1};
  const StringId y{2};
  const std::uint32_t a = b.child(TreeBuilder::root, x);
  EXPECT_EQ(b.child(TreeBuilder::root, x), a);
  const std::uint32_t small = b.child(a, x);
  const std::uint32_t large = b.child(a, y);
  b.add(small, 1);
  b.add(large, 3);
  b.add(a, 5);
  std::vector<std::uint32_t> place;
  const CallTree t = b.seal(&place);
  EXPECT_EQ(test::broken_tree(t), "");
  EXPECT_EQ(t.total, (std::vector<double>{9, 9, 3, 1}));
  EXPECT_EQ(t.frame[2], y);
  EXPECT_EQ(place, (std::vector<std::uint32_t>{0, 1, 3, 2}));
  EXPECT_EQ(t.end, (std::vector<std::uint32_t>{4, 4, 3, 4}));
}

TEST(CallTree, HoldsItsLimitAndCountsWhatItCutsShort) {
  TreeBuilder b(3);
  const std::uint32_t one = b.child(TreeBuilder::root, StringId{1});
  const std::uint32_t two = b.child(one, StringId{2});
  EXPECT_EQ(b.child(two, StringId{3}), two);
  EXPECT_EQ(b.child(one, StringId{2}), two);
  EXPECT_EQ(b.left_off(), 1U);
  EXPECT_EQ(b.size(), 3U);
}

// Compares random stacks with a map of whole stacks.
TEST(CallTree, IsTheSumOfItsStacks) {
  std::mt19937 engine(7);
  const auto below = [&engine](unsigned n) { return static_cast<unsigned>(engine() % n); };
  for (int round = 0; round < 20; ++round) {
    TreeBuilder b;
    std::map<std::string, double> wanted;
    for (int i = 0; i < 300; ++i) {
      std::uint32_t node = TreeBuilder::root;
      std::string text;
      const unsigned depth = below(7);
      for (unsigned d = 0; d < depth; ++d) {
        const std::uint32_t frame = 1 + below(4);
        node = b.child(node, StringId{frame});
        text += static_cast<char>('a' + frame);
      }
      b.add(node, 1);
      wanted[text] += 1;
    }
    const CallTree t = b.seal();
    ASSERT_EQ(test::broken_tree(t), "");
    std::map<std::string, double> found;
    std::vector<std::string> text(t.size());
    for (std::uint32_t n = 0; n < t.size(); ++n) {
      if (n > 0) text[n] = text[t.parent[n]] + static_cast<char>('a' + index(t.frame[n]));
      if (t.self[n] != 0) found[text[n]] = t.self[n];
    }
    EXPECT_EQ(found, wanted);
  }
}

}  // namespace
}  // namespace stepscope
