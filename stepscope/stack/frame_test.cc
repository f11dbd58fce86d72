// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/frame.h"

#include <gtest/gtest.h>

#include "stepscope/stack/frame_pattern.h"

namespace stepscope {
namespace {

TEST(Frame, ReadsEverySpelling) {
  struct Case {
    std::string_view text, function, file;
    int line;
    FrameKind kind;
  };
  using enum FrameKind;
  for (const Case& c : std::initializer_list<Case>{
           {"fetch (zero/stage3.py:12)", "fetch", "zero/stage3.py", 12, python},
           {"fetch (stage3.py)", "fetch", "stage3.py", 0, python},
           {"main (libfoo.so)", "main", "libfoo.so", 0, native},
           {"f(int, char) (x.cpp:7)", "f(int, char)", "x.cpp", 7, native},
           {"f(int, char)", "f(int, char)", "", 0, native},
           {"A::operator()() const", "A::operator()() const", "", 0, native},
           {"read_[k]", "read", "", 0, kernel},
           {"inlined_[i]", "inlined", "", 0, native},
           {"do_idle ([kernel.kallsyms])", "do_idle", "[kernel.kallsyms]", 0, kernel},
           {"[unknown] in libc.so.6", "[unknown]", "libc.so.6", 0, unknown},
           {"[unknown] ([unknown])", "[unknown]", "[unknown]", 0, unknown},
           {"0x7f12ab (libc.so)", "0x7f12ab", "libc.so", 0, unknown},
           {"run (python) [x.py:3]", "run", "x.py", 3, python},
           {"run [py]", "run", "", 0, python},
           {"dir/x.py:run:7", "run", "dir/x.py", 7, python},
           {"A.b.<locals>.c", "A.b.<locals>.c", "", 0, python},
           {"", "", "", 0, unknown},
       }) {
    const Frame f = frame_of(c.text);
    EXPECT_EQ(f.function, c.function) << c.text;
    EXPECT_EQ(f.file, c.file) << c.text;
    EXPECT_EQ(f.line, c.line) << c.text;
    EXPECT_EQ(f.kind, c.kind) << c.text;
    EXPECT_FALSE(f.instruction) << c.text;
  }
  const Frame f = frame_of("A.b [0x36a] [36a]");
  EXPECT_EQ(f.function, "A.b");
  EXPECT_EQ(f.instruction, 0x36aU);
  EXPECT_EQ(f.kind, FrameKind::python);
  EXPECT_EQ(frame_of("A.b [0x36a]").instruction, 0x36aU);
  EXPECT_FALSE(frame_of("A.b [0x36a] [36b]").instruction);
  EXPECT_EQ(place_of_frame(frame_of("fetch (stage3.py:12)")), "fetch (stage3.py)");
}

bool fits(std::string_view pattern, std::string_view text) {
  const auto p = parse_frame_pattern(pattern);
  if (!p) return false;
  const Frame f = frame_of(text);
  const bool alone = matches(*p, f, f.line);
  // The index gives the same matches.
  FramePatterns all;
  const std::uint32_t other = all.add(*parse_frame_pattern("zzz"));
  const std::uint32_t number = all.add(*p);
  std::vector<std::uint32_t> found;
  all.match(f, f.line, found);
  EXPECT_EQ(found, alone ? std::vector<std::uint32_t>{number} : std::vector<std::uint32_t>{});
  EXPECT_NE(other, number);
  return alone;
}

TEST(FramePattern, MatchesWholeWords) {
  EXPECT_TRUE(fits("fetch_sub_module", "Coordinator.fetch_sub_module (a.py:3)"));
  EXPECT_TRUE(fits("Coordinator.fetch_sub_module", "Coordinator.fetch_sub_module [0x1]"));
  EXPECT_FALSE(fits("fetch_sub_module", "prefetch_sub_module"));
  EXPECT_FALSE(fits("fetch_sub_module", "fetch_sub_modules"));
  EXPECT_TRUE(fits("__reduce_and", "A._reduce_and"));
  EXPECT_TRUE(fits("a::b", "x::a::b(int)"));
  EXPECT_TRUE(fits("_multi_tensor_*", "_multi_tensor_adamw (o.py:1)"));
  EXPECT_TRUE(fits("*Backward0::apply", "torch::MmBackward0::apply"));
  EXPECT_TRUE(fits("forward", "A.forward and forwards"));
}

TEST(FramePattern, MatchesPlacesLinesAndInstructions) {
  EXPECT_TRUE(fits("step @ torch/optim", "step (torch/optim/adamw.py:12)"));
  EXPECT_FALSE(fits("step @ torch/optim", "step (other.py:12)"));
  EXPECT_TRUE(fits("@ torch/_dynamo", "anything (torch/_dynamo/x.py:1)"));
  EXPECT_TRUE(fits("f :10-12", "f (a.py:11)"));
  EXPECT_FALSE(fits("f :10-12", "f (a.py:13)"));
  EXPECT_FALSE(fits("f :10", "f"));
  EXPECT_TRUE(fits("f [0x366-0x36a]", "f [0x36a] [36a]"));
  EXPECT_FALSE(fits("f [0x366-0x36a]", "f [0x36b]"));
  EXPECT_FALSE(fits("f [0x366]", "f (a.py:3)"));
}

TEST(FramePattern, RefusesWhatIsNone) {
  for (const std::string_view bad : {"", "*", " @ ", "f [0x]", "f :0", "f :9-3", "f [0x5-0x1]"})
    EXPECT_FALSE(parse_frame_pattern(bad)) << bad;
  EXPECT_TRUE(parse_frame_pattern("f $")->innermost);
}

}  // namespace
}  // namespace stepscope
