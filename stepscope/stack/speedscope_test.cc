// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using test::Folded;
using test::folded_text;

constexpr std::string_view speedscope_frames =
    R"("shared":{"frames":[{"name":"a"},{"name":"b","file":"x.py","line":7,"col":null},)"
    R"({"name":"c","file":"y.py"}]})";

std::string file(const std::string& profiles) {
  return R"({"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[)" +
         profiles + "]," + std::string(speedscope_frames) + "}";
}

TEST(Speedscope, ReadsSampledProfilesAsThreads) {
  const auto p = test::profile_of(
      file(R"({"type":"sampled","name":"one","unit":"seconds","startValue":0.5,"endValue":3,)"
           R"("samples":[[0,1],[0,1,2],[0,1]],"weights":[0.01,0.02,0.01]},)"
           R"({"weights":[1,2],"samples":[[2],[]],"unit":"milliseconds",)"
           R"("name":"two","type":"sampled"})"),
      {.keep_samples = true});
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(p->unit, WeightUnit::nanoseconds);
  EXPECT_EQ(test::folded(*p), (Folded{{"one;a;b (x.py:7)", 2e7},
                                      {"one;a;b (x.py:7);c (y.py)", 2e7},
                                      {"two;c (y.py)", 1e6},
                                      {"two", 2e6}}));
  ASSERT_EQ(p->samples.size(), 5U);
  EXPECT_EQ(p->samples[3].start, Ns{510000000});
  EXPECT_EQ(p->samples[3].duration, Ns{20000000});
}

TEST(Speedscope, ReadsEventedProfiles) {
  EXPECT_EQ(
      folded_text(file(
          R"({"type":"evented","name":"e","unit":"none","startValue":0,"endValue":14,"events":[)"
          R"({"type":"O","at":0,"frame":0},{"type":"O","at":0,"frame":1},)"
          R"({"at":2,"type":"O","frame":2},)"
          R"({"type":"C","at":5,"frame":2},{"type":"C","at":14,"frame":1},)"
          R"({"type":"C","at":14,"frame":0}]})")),
      (Folded{{"e;a;b (x.py:7)", 11}, {"e;a;b (x.py:7);c (y.py)", 3}}));
}

TEST(Speedscope, MendsEventsThatAreNotNested) {
  const auto p =
      test::profile_of(file(R"({"type":"evented","name":"e","unit":"none","endValue":20,"events":[)"
                            R"({"type":"O","at":0,"frame":0},{"type":"O","at":1,"frame":1},)"
                            R"({"type":"C","at":3,"frame":0},)"
                            R"({"type":"C","at":4,"frame":1},{"type":"O","at":2,"frame":2},)"
                            R"({"type":"O","at":9},{"type":"O","at":10,"frame":0}]})"));
  ASSERT_TRUE(p) << p.error().message();
  // c is open from 4 (not 2: time does not go back) to 10, then a in it to the end.
  EXPECT_EQ(test::folded(*p),
            (Folded{{"e;a", 1}, {"e;a;b (x.py:7)", 2}, {"e;c (y.py)", 6}, {"e;c (y.py);a", 10}}));
  EXPECT_EQ(p->inputs[0].notes,
            (std::map<std::string, std::uint64_t>{{"events_out_of_order", 1},
                                                  {"events_without_type_time_or_frame", 1},
                                                  {"frames_closed_that_were_not_open", 1},
                                                  {"frames_not_closed", 3}}));
}

TEST(Speedscope, KeepsWhatCameBeforeTheCut) {
  const std::string whole = file(
      R"({"type":"sampled","name":"one","unit":"none","samples":[[0],[0,1]],"weights":[1,2]})");
  const auto cut = test::profile_of(whole.substr(0, whole.find("{\"name\":\"b\"") + 3));
  ASSERT_TRUE(cut) << cut.error().message();
  EXPECT_TRUE(cut->inputs[0].truncated);
  EXPECT_EQ(test::folded(*cut), (Folded{{"one;a", 1}, {"one;a;frame 1", 2}}));
  EXPECT_EQ(cut->inputs[0].notes.count("frames_without_a_name"), 1U);
  // Every truncation is reported, and none crashes.
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const auto p = test::profile_of(std::string_view(whole).substr(0, n), {.format = "speedscope"});
    if (p) {
      EXPECT_EQ(test::broken_tree(p->tree), "");
    } else {
      EXPECT_FALSE(p.error().message().empty());
    }
  }
}

TEST(Speedscope, LeavesOtherUnitsAndBadNumbersOut) {
  const auto p = test::profile_of(
      file(R"({"type":"sampled","name":"x","unit":"none",)"
           R"("samples":[[0,9],[-1,0.5],[1],[2]],"weights":[1,2,-3]},)"
           R"({"type":"sampled","name":"y","unit":"bytes","samples":[[0]],"weights":[1]})"));
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(test::folded(*p), (Folded{{"x;a;frame 9", 1}, {"x", 2}}));
  EXPECT_EQ(p->inputs[0].notes,
            (std::map<std::string, std::uint64_t>{{"frames_that_are_no_number", 2},
                                                  {"frames_without_a_name", 1},
                                                  {"profiles_of_another_unit_left_out", 1},
                                                  {"samples_without_a_weight", 1},
                                                  {"weights_below_zero", 1}}));
}

TEST(Speedscope, WeightsThatNoProfilerMeasuresAreLeftOut) {
  const auto p = test::profile_of(file(
      R"({"type":"sampled","name":"x","unit":"seconds",)"
      R"("samples":[[0],[0],[1],[1]],"weights":[1e308,1e308,2,-0.0]},)"
      R"({"type":"sampled","name":"z","unit":"seconds","samples":[[0],[1]],"weights":[9e17,3]},)"
      R"({"type":"evented","name":"y","unit":"seconds","events":)"
      R"([{"type":"O","frame":0,"at":-1e308},{"type":"C","frame":0,"at":1e308},)"
      R"({"type":"O","frame":1,"at":1e308},{"type":"C","frame":1,"at":1e308}]})"));
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(test::folded(*p), (Folded{{"x;b (x.py:7)", 2e9}, {"z;b (x.py:7)", 3e9}}));
  EXPECT_EQ(p->inputs[0].notes.at("weights_too_large"), 4U);
}

}  // namespace
}  // namespace stepscope
