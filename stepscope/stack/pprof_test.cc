// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using test::Folded;

std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}
std::string number(unsigned field, std::uint64_t v) { return varint(field << 3) + varint(v); }
std::string bytes(unsigned field, const std::string& b) {
  return varint(field << 3 | 2) + varint(b.size()) + b;
}

// Strings: 1 cpu, 2 nanoseconds, 3 samples, 4 count, 5 main, 6 leaf, 7 m.py, 8 libx.so, 9 thread,
// 10 t1
std::string message(std::uint64_t default_type = 0) {
  std::string m = bytes(1, number(1, 3) + number(2, 4)) + bytes(1, number(1, 1) + number(2, 2));
  // Sample: locations innermost first, packed and not.
  m += bytes(2, bytes(1, varint(1) + varint(2)) + bytes(2, varint(3) + varint(300)));
  m += bytes(2, number(1, 3) + number(1, 2) + number(2, 1) + number(2, 100) +
                    bytes(3, number(1, 9) + number(2, 10)));
  m += bytes(3, number(1, 1) + number(5, 8));
  m += bytes(4, number(1, 1) + bytes(4, number(1, 2) + number(2, 12)));
  m += bytes(4, number(1, 2) + bytes(4, number(1, 1)));
  m += bytes(4, number(1, 3) + number(2, 1) + number(3, 0xABC));
  m += bytes(5, number(1, 1) + number(2, 5)) + bytes(5, number(1, 2) + number(2, 6) + number(4, 7));
  for (const char* s : {"", "cpu", "nanoseconds", "samples", "count", "main", "leaf", "m.py",
                        "/lib/libx.so", "thread", "t1"})
    m += bytes(6, s);
  return default_type == 0 ? m : m + number(14, default_type);
}

TEST(Pprof, ReadsTheLastSampleTypeOrTheDefault) {
  const auto p = test::profile_of(message());
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->inputs[0].format, "pprof");
  EXPECT_EQ(p->unit, WeightUnit::nanoseconds);
  EXPECT_EQ(test::folded(*p), (Folded{{"all threads;main;leaf (m.py:12)", 300},
                                      {"t1;main;[unknown] (libx.so)", 100}}));
  const auto samples = test::profile_of(message(3));
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->unit, WeightUnit::samples);
  EXPECT_EQ(samples->tree.total[0], 4);
}

TEST(Pprof, SaysWhereItIsCutOff) {
  const std::string whole = message();
  const auto cut = test::profile_of(std::string_view(whole).substr(0, whole.size() - 3));
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->inputs[0].truncated);
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const auto p = test::profile_of(std::string_view(whole).substr(0, n), {.format = "pprof"});
    if (p) {
      EXPECT_EQ(test::broken_tree(p->tree), "");
    }
  }
}

}  // namespace
}  // namespace stepscope
