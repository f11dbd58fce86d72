// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/counted_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "stepscope/stack/misread_names.h"
#include "stepscope/stack/stack_summary.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using test::Folded;

std::string row(std::string_view line) {
  const auto r = parse_counted_row(line);
  if (!r) return "none";
  return r->name + (r->count ? std::string(" = ").append(std::to_string(*r->count)) : " cut") +
         (r->repaired ? " repaired" : "");
}

TEST(CountedTree, ReadsRowsAndMendsThem) {
  EXPECT_EQ(row("'total' (23578)"), "total = 23578");
  EXPECT_EQ(row("(6) '[unknown] in libc.so.6' (1246)"), "[unknown] in libc.so.6 = 1246");
  EXPECT_EQ(row("(2) 'BackwardCFunction.apply [0x5d] [5d]' (1245)"),
            "BackwardCFunction.apply [0x5d] = 1245");
  // Errors of an optical reader: underscores, 0 for O, 1 for l, quotes, the edge of a picture.
  EXPECT_EQ(row(" \u2018total' (12)"), "total = 12 repaired");
  EXPECT_EQ(row("'python3.11\"' (20461)"), "python3.11 = 20461 repaired");
  EXPECT_EQ(row("(5) 'CheckpointFunction.backward [Oxlac] [lac]' (563)"),
            "CheckpointFunction.backward [0x1ac] = 563 repaired");
  EXPECT_EQ(row("(2) 'Module. call impl.<locals>.inner [0x14c] [14c]' (56l)"),
            "Module._call_impl.<locals>.inner [0x14c] = 561 repaired");
  EXPECT_EQ(row("1(6) 'A.fetch sub module [0x36a] [36a]' (545)"),
            "A.fetch_sub_module [0x36a] = 545 repaired");
  EXPECT_EQ(row("(5) '[unknown] in libstdc++.50.6.0.30\"' (1232)"),
            "[unknown] in libstdc++.so.6.0.30 = 1232 repaired");
  EXPECT_EQ(row("'ns::f(int, long)' (3)"), "ns::f(int, long) = 3");
  EXPECT_EQ(row("I(5) 'Stage3.reduce leaf"), "Stage3.reduce_leaf cut repaired");
  EXPECT_EQ(row("' [unknown] in"), "[unknown] in cut");
  for (const std::string_view prose :
       {"", "kick off fetch (prefetch)", "https://x#L12", "(3) words (4)", "'words (4)"})
    EXPECT_EQ(row(prose), "none") << prose;
}

TEST(CountedTree, OffersNamesThatDifferByALetterFromAClassOfTransformers) {
  EXPECT_EQ(likely_class("Llamad4TextDecoderLayer"), "Llama4TextDecoderLayer");
  EXPECT_EQ(likely_class("L1amaAttention"), "");  // a digit may be a version
  EXPECT_EQ(likely_class("Llama3DecoderLayer"), "");
  EXPECT_EQ(likely_class("Qwen3DecoderLayer"), "");
  EXPECT_EQ(likely_class("MistralDecoderLaye"), "MistralDecoderLayer");
  EXPECT_EQ(likely_class("OlmoeAttention"), "");
  EXPECT_EQ(likely_class("PhimoeDecoderLayer"), "");
  EXPECT_EQ(likely_class("OPTAttention"), "");
  const auto p = test::profile_of(
      "'total' (9)\n1(2) 'Llamad4TextDecoderLayer.forward [0x66] [66]' (5)\n'Mine.run' (3)\n");
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(misread_names(*p),
            (std::vector<MisreadName>{{"Llamad4TextDecoderLayer", "Llama4TextDecoderLayer"}}));
  const auto exact = test::profile_of("'total' (9)\n'Llamad4TextDecoderLayer.forward' (5)\n");
  ASSERT_TRUE(exact);
  EXPECT_TRUE(misread_names(*exact).empty()) << "nothing in the file was misread";
}

TEST(CountedTree, MakesAChainAndUnitesExcerptsOfOneProfile) {
  const auto p = test::profile_of(
      "'total' (100)\n'python3.11' (80)\n'pt_autograd 1' (30)\n(2) 'A.b [0x5d] [5d]' (20)\nsome "
      "prose\n"
      "' [unknown] in\n'total' (100)\n'python3.11' (80)\n'pt_autograd 0' (40)\n(2) 'A.c [0x1] [1]' "
      "(25)\n"
      "'no count\n'deep' (5)\n");
  ASSERT_TRUE(p) << p.error().message();
  EXPECT_EQ(test::folded(*p),
            (Folded{{"not in the excerpt;[not in the excerpt]", 20},
                    {"python3.11;[not in the excerpt]", 10},
                    {"python3.11|pt_autograd_1;[not in the excerpt]", 10},
                    {"python3.11|pt_autograd_1;A.b [0x5d];[callees cut off]", 20},
                    {"python3.11|pt_autograd_0;[not in the excerpt]", 15},
                    {"python3.11|pt_autograd_0;A.c [0x1];[not in the excerpt]", 20},
                    {"python3.11|pt_autograd_0;A.c [0x1];no_count;deep", 5}}));
  EXPECT_EQ(p->tree.total[0], 100);
  EXPECT_EQ(p->inputs[0].notes, (std::map<std::string, std::uint64_t>{
                                    {"lines_of_prose", 1},
                                    {"rows_cut_off", 1},
                                    {"rows_repaired", 3},
                                    {"rows_without_a_count_that_take_the_next_row's", 1}}));
}

// What a row takes itself is not known where the rows of its callees are cut off.
TEST(CountedTree, ARowAboveOneThatIsCutOffHasNoWeightOfItsOwn) {
  const auto p = test::profile_of(
      "'total' (9)\n'main' (9)\n'A.open' (5)\n' [unknown] in\n'total' (9)\n'main' (9)\n"
      "'A.closed' (4)\n");
  ASSERT_TRUE(p) << p.error().message();
  const auto rules = make_phase_rules();
  const NodePhases phases = phases_of(*p, *rules);
  std::map<std::string, double, std::less<>> self;
  for (const FunctionWeight& f : summarize(*p, *rules, phases).functions)
    self.emplace(p->strings[f.frame], f.self);
  EXPECT_EQ(self, (std::map<std::string, double, std::less<>>{
                      {"main", 0}, {"A.open", 0}, {"A.closed", 4}}));
  const auto cut = std::ranges::find_if(
      p->tree.frame, [&](StringId frame) { return p->strings[frame] == cut_frame; });
  ASSERT_NE(cut, p->tree.frame.end());
  const auto node = static_cast<std::size_t>(cut - p->tree.frame.begin());
  EXPECT_EQ(rules->phases[phases.self[node]].name, "native") << "the phase of its row";
}

TEST(CountedTree, TakesOtherTotalsAsOtherProfiles) {
  EXPECT_EQ(test::folded_text("'total' (10)\n'f' (10)\n'total' (20)\n'f' (15)\n'g' (16)\n"),
            (Folded{{"all threads;f", 25}, {"all threads;g", 16}}));
}

}  // namespace
}  // namespace stepscope
