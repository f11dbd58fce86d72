// SPDX-License-Identifier: Apache-2.0
// Small trees with one fault each. The checks find it, and find nothing in a correct tree.
#include "tests/tree/layers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope::tree {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view table = R"(
| floor | folder | one line | may include |
|---|---|---|---|
| 1 | `base/` | ground | - |
| 2 | `event/` | columns | base |
| 2 (later) | `comm/` | transports | base |
| 3 | `report/` | page | base |
| 4 | `cli/` | faces | all below |
)";

std::vector<SourceFile> tree_of(const std::string& path, const std::string& text) {
  return {parse_source(path, text)};
}

TEST(Layers, TableRowsBecomeLayersAndTheHeadingDoesNot) {
  const auto layers = parse_layers(table);
  ASSERT_EQ(layers.size(), 5U);
  EXPECT_EQ(layers[0].folder, "base");
  EXPECT_TRUE(layers[0].may_include.empty());
  EXPECT_EQ(layers[1].may_include, Lines{"base"});
  EXPECT_FALSE(layers[1].later);
  EXPECT_TRUE(layers[2].later);
  EXPECT_EQ(layers[4].may_include, (Lines{"base", "event", "comm", "report"}));
  EXPECT_TRUE(table_faults(layers).empty());
}

TEST(Layers, AnArrowThatDoesNotLeadDownIsAFaultOfTheTable) {
  EXPECT_EQ(table_faults(parse_layers("| 1 | `a/` | x | b |\n| 1 | `b/` | x | - |\n")),
            Lines{"a may include b, which is not on a lower floor"});
  EXPECT_EQ(table_faults(parse_layers("| 2 | `a/` | x | c |\n")),
            Lines{"a may include c, which the table does not name"});
  EXPECT_EQ(table_faults(parse_layers("| 1 | `a/` | x | - |\n| 2 | `a/` | x | - |\n")).size(), 2U);
}

TEST(Layers, IncludesAlongTheArrowsAndWithinAFolderAreInOrder) {
  const auto files = tree_of("stepscope/event/trace.cc",
                             "#include \"stepscope/event/trace.h\"\n#include <vector>\n"
                             "#include \"stepscope/base/result.h\"\n");
  EXPECT_EQ(files[0].includes.size(), 2U);
  EXPECT_EQ(arrow_faults(parse_layers(table), files), Lines{});
}

TEST(Layers, AnIncludeWithoutAnArrowIsRefusedWithItsLine) {
  const auto files = tree_of("stepscope/report/page.cc",
                             "// page\n  #  include \"stepscope/event/trace.h\"  // no\n");
  EXPECT_EQ(arrow_faults(parse_layers(table), files),
            Lines{"stepscope/report/page.cc:2: report may not include event"});
}

TEST(Layers, AnIncludeThatIsNotWrittenFromTheRootIsRefused) {
  EXPECT_EQ(
      arrow_faults(parse_layers(table), tree_of("stepscope/event/a.cc", "#include \"trace.h\"\n")),
      Lines{"stepscope/event/a.cc:1: trace.h is not written from the root"});
}

TEST(Layers, AFolderThatTheTableLacksOrCallsLaterIsRefused) {
  const auto layers = parse_layers(table);
  EXPECT_EQ(arrow_faults(layers, tree_of("stepscope/util/a.h", "")).size(), 1U);
  EXPECT_EQ(arrow_faults(layers, tree_of("engine/comm/a.h", "")).size(), 1U);
  EXPECT_EQ(arrow_faults(layers, tree_of("stepscope/loose.h", "")).size(), 1U);
}

TEST(Layers, TheHeaderOfTheLibrarysUsersShowsThemVerbs) {
  const auto layers = parse_layers(table);
  EXPECT_EQ(arrow_faults(layers, tree_of("stepscope/stepscope.h",
                                         "#include \"stepscope/verbs/analyze/analyze.h\"\n")),
            Lines{});
  EXPECT_EQ(arrow_faults(layers,
                         tree_of("stepscope/stepscope.h", "#include \"stepscope/event/trace.h\"\n"))
                .size(),
            1U);
}

TEST(Layers, FoldersThatIncludeEachOtherAreFound) {
  auto files = tree_of("stepscope/base/a.h", "#include \"stepscope/event/b.h\"\n");
  EXPECT_EQ(two_way_pairs(files), Lines{});
  files.push_back(parse_source("stepscope/event/c.h", "#include \"stepscope/base/d.h\"\n"));
  EXPECT_EQ(two_way_pairs(files), Lines{"base and event include each other"});
}

TEST(Layers, AnIncludeCircleIsNamedFileByFile) {
  std::vector<SourceFile> files{
      parse_source("stepscope/event/a.h", "#include \"stepscope/event/b.h\"\n"),
      parse_source("stepscope/event/b.h", "#include \"stepscope/event/c.h\"\n"),
      parse_source("stepscope/event/c.h", ""),
      parse_source("stepscope/event/d.h", "#include \"stepscope/event/b.h\"\n")};
  EXPECT_EQ(include_circles(files), Lines{});
  files[2].includes.push_back({"stepscope/event/b.h", 1});
  EXPECT_EQ(include_circles(files),
            Lines{"stepscope/event/b.h -> stepscope/event/c.h -> stepscope/event/b.h"});
}

TEST(Rooms, AreReadFromTheirTableAndMayBeIncludedFromFurtherDownOnly) {
  const Lines rooms =
      parse_rooms("| room | question |\n|---|---|\n| `a/low` | x |\n| `a/high` | y |\n");
  ASSERT_EQ(rooms, (Lines{"a/low", "a/high"}));
  std::vector<SourceFile> files{
      parse_source("stepscope/a/high/h.cc", "#include \"stepscope/a/low/l.h\"\n"),
      parse_source("stepscope/a/low/l.h", "#include \"stepscope/b/any.h\"\n"),
      parse_source("stepscope/a/low/l_test.cc", "#include \"stepscope/a/high/h.h\"\n")};
  EXPECT_EQ(room_faults(rooms, files), Lines{});
  files.push_back(parse_source("stepscope/a/low/k.cc", "#include \"stepscope/a/high/h.h\"\n"));
  EXPECT_EQ(room_faults(rooms, files),
            Lines{"stepscope/a/low/k.cc:1: a/low may not include a/high"});
  files.back() = parse_source("stepscope/a/new/k.cc", "");
  EXPECT_EQ(room_faults(rooms, files), Lines{"a/new is not in the table"});
  files.pop_back();
  EXPECT_EQ(room_faults(Lines{"a/low", "a/high", "a/gone"}, files),
            Lines{"a/gone is in the table, not in the tree"});
}

TEST(Constants, OfASourceHideNoneOfAHeaderOfTheRoom) {
  std::vector<SourceFile> files{
      parse_source("stepscope/a/names.h", "inline constexpr std::array<int, 2> names = {1, 2};\n"),
      parse_source("stepscope/a/x.cc", "constexpr int most = 3;\nconstexpr int twice(int x) {\n"),
      parse_source("stepscope/b/y.cc", "constexpr std::array<int, 1> names{1};\n")};
  EXPECT_EQ(hidden_constants(files), Lines{});
  files.push_back(parse_source("stepscope/b/z.cc", "#include \"stepscope/a/names.h\"\n"));
  EXPECT_EQ(hidden_constants(files), Lines{"stepscope/b/y.cc hides names of stepscope/a/names.h"});
}

TEST(Rooms, LieAboveOrBelowTheFilesBesideThem) {
  const Lines rooms{"a/room"};
  std::vector<SourceFile> files{
      parse_source("stepscope/a/room/r.h", "#include \"stepscope/a/own.h\"\n"),
      parse_source("stepscope/a/own.h", "#include \"stepscope/a/other.h\"\n"),
      parse_source("stepscope/b/any.h", "#include \"stepscope/a/room/r.h\"\n")};
  EXPECT_EQ(room_faults(rooms, files), Lines{});
  files[1] = parse_source("stepscope/a/other.h", "#include \"stepscope/a/room/r.h\"\n");
  EXPECT_EQ(room_faults(rooms, files), Lines{"a/room and the files beside it include each other"});
  files[0] = parse_source("stepscope/a/room/r.h", "");
  EXPECT_EQ(room_faults(rooms, files), Lines{});
}

TEST(Rooms, HoldSoManyStemsAndNoMore) {
  std::vector<SourceFile> files{parse_source("stepscope/a/x.h", ""),
                                parse_source("stepscope/a/x.cc", ""),
                                parse_source("stepscope/a/x_test.cc", "")};
  EXPECT_EQ(crowded_folders(files, 1), Lines{});
  files.push_back(parse_source("stepscope/a/y.h", ""));
  EXPECT_EQ(crowded_folders(files, 1), Lines{"a: 2 stems"});
}

TEST(Layers, PairsOfHeaderAndSourceThatIncludeEachOtherAreFound) {
  std::vector<SourceFile> files{
      parse_source("stepscope/event/a.h", ""), parse_source("stepscope/event/b.h", ""),
      parse_source("stepscope/event/a.cc", "#include \"stepscope/event/b.h\"\n"),
      parse_source("stepscope/event/b_test.cc", "#include \"stepscope/event/a.h\"\n")};
  EXPECT_EQ(pair_circles(files), Lines{});
  files.push_back(parse_source("stepscope/event/b.cc", "#include \"stepscope/event/a.h\"\n"));
  EXPECT_EQ(include_circles(files), Lines{});
  EXPECT_EQ(pair_circles(files),
            Lines{"stepscope/event/a -> stepscope/event/b -> stepscope/event/a"});
}

TEST(Layers, AHeaderNameUsedTwiceIsAFault) {
  std::vector<SourceFile> files{parse_source("stepscope/a/x.h", ""),
                                parse_source("stepscope/b/x.cc", "")};
  EXPECT_EQ(header_names_used_twice(files), Lines{});
  files.push_back(parse_source("stepscope/b/x.h", ""));
  EXPECT_EQ(header_names_used_twice(files), Lines{"stepscope/a/x.h and stepscope/b/x.h"});
}

TEST(Layers, AModuleThatLinksAgainstTheTableIsRefused) {
  const auto layers = parse_layers(table);
  EXPECT_EQ(link_faults(layers, "stepscope_module(event  USES base LIBS fmt::fmt)\n"), Lines{});
  EXPECT_EQ(link_faults(layers, "stepscope_module(report USES base event)\n"),
            Lines{"report may not link event"});
  EXPECT_EQ(link_faults(layers, "stepscope_module(util)\n").size(), 1U);
}

TEST(SourceTree, ColumnsCountCharactersAndNotBytes) {
  EXPECT_EQ(columns("a → b"), 5U);
  EXPECT_EQ(columns(""), 0U);
}

}  // namespace
}  // namespace stepscope::tree
