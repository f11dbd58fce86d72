// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/plain_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stepscope/base/quantity.h"

namespace stepscope {
namespace {

enum class Colour : std::uint8_t { red, blue };

struct Inner {
  std::string text{};
  std::optional<Ns> time{};
  std::optional<double> share{};
  bool operator==(const Inner&) const = default;
};

struct Outer {
  int number = 0;
  bool flag = false;
  Colour colour = Colour::red;
  double real = 0;
  Bytes bytes{};
  std::vector<Inner> list{};
  std::vector<bool> bits{};
  std::vector<std::vector<Ns>> times{};
  std::map<std::string, Inner> named{};
  std::optional<std::vector<std::string>> texts{};
  std::array<std::pair<int, std::string>, 2> pairs{};
  std::optional<std::optional<Inner>> nested{};
};

Outer example() {
  Outer outer{.number = -7, .flag = true, .colour = Colour::blue, .bytes = Bytes{1LL << 40}};
  outer.real = std::numeric_limits<double>::denorm_min();
  outer.list = {{.text = "one", .time = Ns{5}}, {.share = -0.0}};
  outer.bits = {true, false, true};
  outer.times = {{}, {Ns{1}, Ns{2}}};
  outer.named = {{"", {}}, {std::string("a\0b", 3), {.text = "x"}}};
  outer.texts = {"", "text"};
  outer.pairs = {{{1, "p"}, {2, "q"}}};
  outer.nested = std::optional<Inner>();
  return outer;
}

TEST(PlainBytes, GiveBackEveryMember) {
  const Outer given = example();
  std::string bytes;
  append_plain(bytes, given);
  std::string_view rest = bytes;
  Outer taken;
  taken.list.resize(9);
  taken.named["old"] = {};
  ASSERT_TRUE(take_plain(rest, taken));
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(taken.number, given.number);
  EXPECT_EQ(taken.flag, given.flag);
  EXPECT_EQ(taken.colour, given.colour);
  EXPECT_EQ(taken.real, given.real);
  EXPECT_EQ(taken.bytes, given.bytes);
  EXPECT_EQ(taken.list, given.list);
  EXPECT_TRUE(std::signbit(*taken.list[1].share));
  EXPECT_EQ(taken.bits, given.bits);
  EXPECT_EQ(taken.times, given.times);
  EXPECT_EQ(taken.named, given.named);
  EXPECT_EQ(taken.texts, given.texts);
  EXPECT_EQ(taken.pairs, given.pairs);
  ASSERT_TRUE(taken.nested.has_value());
  EXPECT_FALSE(taken.nested->has_value());
}

TEST(PlainBytes, RefuseEveryCut) {
  std::string bytes;
  append_plain(bytes, example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view rest(bytes.data(), size);
    Outer taken;
    EXPECT_FALSE(take_plain(rest, taken)) << size;
  }
}

}  // namespace
}  // namespace stepscope
