// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/read_profile.h"

#include <gtest/gtest.h>

#include "stepscope/stack/profile_builder.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

std::string why_not(std::string_view text, const ProfileOptions& options = {}) {
  const auto p = test::profile_of(text, options);
  return p ? "read as " + p->inputs[0].format : p.error().message();
}

TEST(ReadProfile, NamesWhatItCannotRead) {
  const auto says = [](std::string_view text, std::string_view words) {
    const std::string why = why_not(text);
    EXPECT_NE(why.find(words), std::string::npos) << why;
    EXPECT_TRUE(why.starts_with("input: ")) << why;
  };
  says("", "the file is empty; record");
  says("hello, world\n", "is no profile that is known; give collapsed");
  says(R"({"traceEvents": [{"ph": "B"}]})",
       "a Chrome trace, not a profile of stacks; stepscope analyze");
  says(R"([{"ph": "B", "ts": 0}])", "a Chrome trace");
  says(R"({"version":1.2,"mode":"cpu","gc_samples":79})", "stackprof");
  says(R"({"x": 1})", "is JSON, and not speedscope's; ");
  says("PERFILE2xx", "perf.data");
  says(std::string_view("\x7f"
                        "ELF\0\0\0\1\2",
                        9),
       "is binary");
  says("# only\n# comments 3\n", "is no profile");
  says("words\nmore words\nand more\na;b 3\n", "is no profile");
  says("<?xml version=\"1.0\"?>\n<svg>\n<text>f (3 samples)</text>\nvar width = 3\n</svg>\n",
       "is a picture of a flame graph; give the profile");
  EXPECT_EQ(why_not("a b\n", {.format = "collapsed"}).find("input: no stacks in this collapsed"),
            0U);
}

TEST(ReadProfile, RecognisesEachFormat) {
  EXPECT_EQ(why_not("a;b 1\n"), "read as collapsed");
  EXPECT_EQ(why_not("p 1 2.5: cycles: \n\t 12 f (/a)\n"), "read as perf_script");
  EXPECT_EQ(why_not("'total' (3)\n'f' (2)\n"), "read as counted_tree");
  EXPECT_EQ(why_not("Thread 1 (active): \"M\"\n    f (a.py:1)\n"), "read as thread_dump");
  EXPECT_EQ(why_not(R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)"
                    R"("profiles":[{"samples":[[0]],"weights":[1]}]})"),
            "read as speedscope");
}

TEST(ReadProfile, TellsWhatIsKnownOfTime) {
  struct Case {
    std::string text;
    SampleTimes times;
    bool unix_clock;
  };
  const std::string schema =
      R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":")";
  const std::string stacks =
      R"(","profiles":[{"type":"sampled","unit":"seconds","samples":[[0]],"weights":[1]}]})";
  for (const Case& c : std::initializer_list<Case>{
           {"a;b 1\n", SampleTimes::none, false},
           {"p 1 198792.5: 1 cycles: \n\t 12 f (/a)\n", SampleTimes::known, false},
           {"p 1 1795350850.666443: 1 cycles: \n\t 12 f (/a)\n", SampleTimes::known, true},
           {schema + "speedscope@1.20" + stacks, SampleTimes::known, false},
           {schema + "py-spy@0.4.1" + stacks, SampleTimes::gapless, false}}) {
    const auto p = test::profile_of(c.text, {.keep_samples = true});
    ASSERT_TRUE(p) << p.error().message();
    EXPECT_EQ(p->inputs[0].times, c.times) << c.text;
    EXPECT_EQ(p->inputs[0].unix_clock, c.unix_clock) << c.text;
    const auto without = test::profile_of(c.text);
    EXPECT_EQ(without->inputs[0].times, SampleTimes::none);
  }
}

TEST(MergedProfiles, KeepThreadsApart) {
  std::vector<Profile> two;
  for (const char* text : {"MainThread;f 1\n", "MainThread;f 2\nMainThread;g 4\n"}) {
    auto p = test::profile_of(text);
    ASSERT_TRUE(p);
    two.push_back(std::move(*p));
  }
  const auto both = merged(std::move(two));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->tree.total[0], 7);
  ASSERT_EQ(both->threads.size(), 2U);
  EXPECT_EQ(both->threads[0].input, 1U);
  EXPECT_EQ(both->tree.total[both->threads[0].node], 6);
  EXPECT_EQ(both->tree.total[both->threads[1].node], 1);
}

TEST(MergedProfiles, OfOneUnitOnly) {
  std::vector<Profile> two;
  for (const char* text :
       {"f 1\n", R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)"
                 R"("profiles":[{"unit":"seconds","samples":[[0]],"weights":[1]}]})"}) {
    auto p = test::profile_of(text);
    ASSERT_TRUE(p);
    two.push_back(std::move(*p));
  }
  const auto both = merged(std::move(two));
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().message().find("counts nanoseconds"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
