// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

TEST(StringPool, EqualTextsShareOneIdAndTheEmptyStringIsZero) {
  StringPool pool;
  const StringId a = pool.intern("aten::mm");
  EXPECT_EQ(pool.intern(std::string("aten::") + "mm"), a);
  EXPECT_NE(pool.intern("aten::bmm"), a);
  EXPECT_EQ(pool.intern(""), empty_string);
  EXPECT_EQ(pool[a], "aten::mm");
  EXPECT_EQ(pool.find("aten::mm"), a);
  EXPECT_EQ(pool.find("never"), empty_string);
}

TEST(StringPool, HoldsManyTextsOfAllLengthsThroughItsGrowth) {
  StringPool pool;
  std::vector<StringId> ids;
  for (std::size_t i = 0; i < 20000; ++i)
    ids.push_back(pool.intern(std::string(i % 70, 'x') + std::to_string(i)));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ASSERT_EQ(pool[ids[i]], std::string(i % 70, 'x') + std::to_string(i));
  EXPECT_EQ(pool.size(), 20001U);
  const std::string long_text(1 << 20, 'y');
  EXPECT_EQ(pool[pool.intern(long_text)], long_text);
}

TEST(StringPool, TextsThatDifferInOneByteAnywhereAreDistinct) {
  StringPool pool;
  for (std::size_t n = 1; n < 40; ++n)
    for (std::size_t at = 0; at < n; ++at) {
      std::string text(n, 'a');
      text[at] = 'b';
      const std::size_t before = pool.size();
      pool.intern(text);
      EXPECT_EQ(pool.size(), before + 1) << text;
    }
}

// Texts of every length that is read in another way. Results depend on the values: another one here
// is another result there.
TEST(TextHash, IsTheSameOnEveryMachine) {
  EXPECT_EQ(text_hash(""), 0U);
  EXPECT_EQ(text_hash("a"), 0x23f09ef1e0f7ba31U);
  EXPECT_EQ(text_hash("copy"), 0xd73342325d8af9ffU);
  EXPECT_EQ(text_hash("aten::add_"), 0xe7889ff9941e1c59U);
  EXPECT_EQ(text_hash("ncclDevKernel_AllReduce"), 0xbbabfc44ca8af31aU);
}

TEST(StringPool, MergingMapsEveryIdOfTheOther) {
  StringPool a;
  StringPool b;
  const StringId shared = a.intern("shared");
  b.intern("only b");
  const StringId in_b = b.intern("shared");
  const auto map = a.merge(b);
  EXPECT_EQ(map[index(in_b)], shared);
  EXPECT_EQ(a[map[1]], "only b");
  EXPECT_EQ(map[0], empty_string);
}

}  // namespace
}  // namespace stepscope
