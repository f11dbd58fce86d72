// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/key_index.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

struct Itself {
  std::size_t operator()(std::uint64_t key) const { return key; }
};
struct Same {
  std::size_t operator()(std::uint64_t) const { return 7; }
};

template <class Hash>
void expect_numbers_in_order_of_arrival(std::uint64_t factor) {
  KeyIndex<std::uint64_t, Hash> keys;
  constexpr std::uint32_t count = 500;
  for (std::uint32_t i = 0; i < count; ++i)
    EXPECT_EQ(keys.insert(i * factor), std::pair(i, true)) << i;
  for (std::uint32_t i = 0; i < count; ++i)
    EXPECT_EQ(keys.insert(i * factor), std::pair(i, false)) << i;
  EXPECT_EQ(keys.size(), count);
}

TEST(KeyIndex, NumbersKeysInTheOrderOfTheirFirstArrival) {
  expect_numbers_in_order_of_arrival<Itself>(1);
}

TEST(KeyIndex, TellsKeysApartThatDifferInTheirHighBitsOnly) {
  expect_numbers_in_order_of_arrival<Itself>(1ULL << 40);
}

TEST(KeyIndex, TellsKeysOfOneHashApart) { expect_numbers_in_order_of_arrival<Same>(1); }

}  // namespace
}  // namespace stepscope
