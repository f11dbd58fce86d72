// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/stack_test_text.h"
#include "stepscope/stack/text_input.h"

namespace stepscope {
namespace {

using test::Folded;
using test::folded_text;

constexpr std::string_view simple = "a;b;c 1\na;b;c 1\na;b;d 4\na;b;c 3\na;b 5";
const Folded simple_folded = {
    {"all threads;a;b", 5}, {"all threads;a;b;c", 5}, {"all threads;a;b;d", 4}};

TEST(Collapsed, CountsStacks) {
  EXPECT_EQ(folded_text(simple), simple_folded);
  const auto p = test::profile_of(simple);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->tree.total[0], 14);
  EXPECT_EQ(p->inputs[0].format, "collapsed");
  EXPECT_EQ(p->inputs[0].stacks, 5U);
  EXPECT_EQ(p->inputs[0].bytes, simple.size());
  EXPECT_TRUE(p->inputs[0].notes.empty());
}

TEST(Collapsed, TakesCrLfMarksAndUtf16) {
  std::string crlf;
  std::string little = "\xFF\xFE";
  std::string big = "\xFE\xFF";
  for (const char c : simple) {
    if (c == '\n') crlf += '\r';
    crlf += c;
    little += {c, '\0'};
    big += {'\0', c};
  }
  EXPECT_EQ(folded_text(crlf), simple_folded);
  EXPECT_EQ(folded_text(std::string("\xEF\xBB\xBF").append(simple)), simple_folded);
  EXPECT_EQ(folded_text(little), simple_folded);
  EXPECT_EQ(folded_text(big), simple_folded);
  // U+1F600 as a surrogate pair, and half of a pair.
  const std::string pair = {'\xFF', '\xFE', '\x3D', '\xD8', '\0', '\xDE', ' ', '\0', '2', '\0'};
  EXPECT_EQ(folded_text(pair), (Folded{{"all threads;\xF0\x9F\x98\x80", 2}}));
  const std::string half = {'\xFF', '\xFE', '\x3D', '\xD8', 'x', '\0', ' ', '\0', '2', '\0'};
  EXPECT_EQ(folded_text(half), (Folded{{"all threads;\xEF\xBF\xBDx", 2}}));
}

TEST(Collapsed, SkipsAndCountsWhatIsNoStack) {
  const auto p = test::profile_of(
      "# comment\na;b;c 1\ninvalid line\n\n 7\na;;b 2\nx 1.5\ny 1e5\nz 1.2.3\na;b -4\nq\t3  \n");
  ASSERT_TRUE(p);
  EXPECT_EQ(test::folded(*p), (Folded{{"all threads;a;b;c", 1},
                                      {"all threads;a;b", 2},
                                      {"all threads;x", 1.5},
                                      {"all threads;q", 3}}));
  EXPECT_EQ(p->inputs[0].notes,
            (std::map<std::string, std::uint64_t>{
                {"comments", 1}, {"empty_frames", 1}, {"lines_without_a_count", 5}}));
}

TEST(Collapsed, TellsThreadsApartWhereTheyAreNamed) {
  EXPECT_EQ(folded_text("process 12:\"python train.py\";thread (0x7f): MainThread;f (a.py:3) 2\n"
                        "process 12:\"python train.py\";g (a.py) 1\n"
                        "P5;T0:6;x.py:run:7 9\n"
                        "MainThread;h 4\npt_autograd_0;k 5\npython3-12/34;m 6\nfree 1\n"),
            (Folded{{"process 12:\"python train.py\"|thread (0x7f): MainThread;f (a.py:3)", 2},
                    {"process 12:\"python train.py\";g (a.py)", 1},
                    {"P5|T0:6;x.py:run:7", 9},
                    {"MainThread;h", 4},
                    {"pt_autograd_0;k", 5},
                    {"python3-12/34;m", 6},
                    {"all threads;free", 1}}));
}

TEST(Collapsed, TakesAddressesWithoutASymbolAsOneFrameOfTheirLibrary) {
  const auto p = test::profile_of(
      "T;f;0x7f12ab (libc.so.6) 2\nT;f;0x7f12ac (libc.so.6) 3\nT;f;0x7f12ab (libm.so) 4\n"
      "T;f;0x55 (?);g 5\nT;f;0x56 6\nT;f;0xoops (libc.so.6) 7\n");
  ASSERT_TRUE(p);
  EXPECT_EQ(test::folded(*p), (Folded{{"all threads;T;f;[unknown] (libc.so.6)", 5},
                                      {"all threads;T;f;[unknown] (libm.so)", 4},
                                      {"all threads;T;f;[unknown];g", 5},
                                      {"all threads;T;f;[unknown]", 6},
                                      {"all threads;T;f;0xoops (libc.so.6)", 7}}));
  EXPECT_EQ(p->inputs[0].notes,
            (std::map<std::string, std::uint64_t>{{"addresses_without_a_symbol", 5}}));
}

// Compares the fast path (prefix of the line before, cache of rests) with a map of whole lines.
// Buffers are so small that lines straddle them.
TEST(Collapsed, IsTheSumOfItsLines) {
  std::mt19937 engine(3);
  const auto below = [&engine](unsigned n) { return static_cast<unsigned>(engine() % n); };
  for (int round = 0; round < 30; ++round) {
    std::string text;
    Folded wanted;
    for (int i = 0; i < 400; ++i) {
      std::string stack;
      const unsigned depth = 1 + below(6);
      for (unsigned d = 0; d < depth; ++d) {
        if (d > 0) stack += ';';
        stack += std::string(1 + below(3), static_cast<char>('a' + below(3)));
      }
      const unsigned count = below(5);
      text += stack + ' ' + std::to_string(count) + '\n';
      if (count > 0) wanted["all threads;" + stack] += count;
    }
    ASSERT_EQ(folded_text(text), wanted);
  }
}

TEST(LineReader, GivesTheSameLinesWhateverTheBuffer) {
  const std::string text = std::string("one\n\nthree\r\n").append(100, 'x').append("\nlast");
  const std::vector<std::string> wanted = {"one", "", "three", std::string(100, 'x'), "last"};
  for (std::size_t buffer = 16; buffer < 140; buffer += 3) {
    TextSource source(text);
    LineReader reader(source, buffer);
    std::vector<std::string> lines;
    for (std::string_view line; reader.next(line);) lines.emplace_back(line);
    EXPECT_EQ(lines, wanted) << buffer;
    EXPECT_EQ(reader.bytes(), text.size());
  }
}

TEST(LineReader, SkipsALineThatIsTooLong) {
  const std::string text =
      std::string("a\n").append(LineReader::longest_line + 5, 'x').append("\nb\n");
  TextSource source(text);
  LineReader reader(source);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.cut_lines(), 1U);
}

}  // namespace
}  // namespace stepscope
