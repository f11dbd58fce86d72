// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/json_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/text_source.h"

namespace stepscope {
namespace {

std::string complaint(std::string_view json) {
  const Result<JsonValue> root = parse_json(json, "f.json");
  return root ? "" : root.error().message();
}

// Reads `json` with `read` and returns the message of the first problem.
template <class Read>
std::string problem_of(std::string_view json, Read read, bool null_is_absent = false) {
  const Result<JsonValue> root = parse_json(json, "f.json");
  EXPECT_TRUE(root) << json;
  if (!root) return {};
  JsonProblems problems(json, "f.json");
  JsonFields fields(*root, "", problems, null_is_absent);
  read(fields);
  fields.finish("is not known");
  return problems.error() ? problems.error()->message() : "";
}

TEST(ParseJson, KeepsEveryKindOfValue) {
  const auto root = parse_json(
      R"({"a": [1, -2.5, "x", true, null], "b": {"c": 18446744073709551615}})", "f.json");
  ASSERT_TRUE(root);
  const auto& list = root->find("a")->items;
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].integer, 1);
  EXPECT_EQ(list[1].number, -2.5);
  EXPECT_EQ(list[2].text, "x");
  EXPECT_TRUE(list[3].boolean);
  EXPECT_EQ(list[4].kind, JsonValue::Kind::null);
  EXPECT_EQ(root->find("b")->find("c")->kind, JsonValue::Kind::number);
  EXPECT_EQ(root->find("d"), nullptr);
}

TEST(ParseJson, NamesTheLineAndColumnOfASyntaxError) {
  const std::string remedy = "; correct this place, or write the file again";
  EXPECT_EQ(complaint("{\n  \"a\": 1,\n  \"b\": oops\n}"),
            "f.json: line 3, column 8: not JSON" + remedy);
  EXPECT_EQ(complaint(""), "f.json: the file is empty; check the path, or write the file again");
  EXPECT_EQ(complaint("{\"a\": NaN}"), "f.json: line 1, column 7: not JSON" + remedy);
  EXPECT_EQ(complaint("{\"a\": 1e30017}"),
            "f.json: line 1, column 13: a number beyond any range" + remedy);
  EXPECT_NE(complaint("{} x").find("not JSON"), std::string::npos);
}

TEST(ParseJson, RefusesAKeyGivenTwiceAndDeepNesting) {
  EXPECT_NE(complaint("{\"a\": 1,\n \"a\": 2}").find("line 2"), std::string::npos);
  EXPECT_NE(complaint("{\"a\": 1, \"a\": 2}").find("\"a\" is given twice"), std::string::npos);
  EXPECT_NE(complaint(std::string(100000, '[')).find("nested deeper than 64"), std::string::npos);
}

TEST(JsonFields, GiveTheLineAndColumnOfTheField) {
  EXPECT_EQ(problem_of("{\n  \"a\": 1,\n  \"b\": 0\n}",
                       [](JsonFields& f) {
                         EXPECT_EQ(f.integer("a", {1, 9}), 1);
                         f.integer("b", {1, 9});
                       }),
            "f.json: line 3, column 3: field \"b\" must be a whole number from 1 to 9");
  EXPECT_EQ(problem_of("{\n  \"a\": 1,\n  \"odd\": 0\n}", [](JsonFields& f) { f.find("a"); }),
            "f.json: line 3, column 3: field \"odd\" is not known; change or remove it");
  EXPECT_EQ(problem_of("[1]", [](JsonFields&) {}),
            "f.json: line 1, column 1: the file must be an object: {...}");
}

TEST(JsonFields, ReadWhatIsThereAndWhatIsAssumed) {
  const std::string_view json =
      R"({"n": 4.0, "x": 0.5, "f": true, "t": "word", "l": [1, 2], "w": ["a"], "z": null})";
  EXPECT_EQ(problem_of(
                json,
                [](JsonFields& f) {
                  EXPECT_EQ(f.integer("n", {}), 4) << "some writers know floats only";
                  EXPECT_EQ(f.number("x", 0, 1, 0), 0.5);
                  EXPECT_EQ(f.number("y", 0, 1, 0.25), 0.25);
                  EXPECT_TRUE(f.flag("f", false));
                  EXPECT_TRUE(f.flag("g", true));
                  constexpr std::array<std::string_view, 2> names = {"letter", "word"};
                  EXPECT_EQ(f.choice("t", names), 1U);
                  EXPECT_EQ(f.choice("u", names, 1), 1U);
                  EXPECT_EQ(f.integers("l", {}), (std::vector<std::int64_t>{1, 2}));
                  EXPECT_EQ(f.texts("w"), (std::vector<std::string>{"a"}));
                  EXPECT_EQ(f.integer("z", {}, 7), 7) << "null counts as absent here";
                  EXPECT_EQ(f.text("s", "other"), "other");
                },
                true),
            "");
}

TEST(JsonFields, RefuseWhatIsOfAnotherType) {
  const auto says = [](std::string_view json, auto read, std::string_view what) {
    EXPECT_NE(problem_of(json, read).find(what), std::string::npos) << problem_of(json, read);
  };
  says("{}", [](JsonFields& f) { f.integer("a", {}); }, "field \"a\" is missing");
  says("{\"a\": 1.5}", [](JsonFields& f) { f.integer("a", {}); }, "a whole number of 0 or more");
  says("{\"a\": 1e300}", [](JsonFields& f) { f.integer("a", {}); }, "a whole number");
  says("{\"a\": null}", [](JsonFields& f) { f.integer("a", {}); }, "a whole number");
  says("{\"a\": \"1\"}", [](JsonFields& f) { f.number("a", 0, 1, 0); }, "a number from 0.0 to 1.0");
  says("{\"a\": 2}", [](JsonFields& f) { f.number("a", 0, 1, 0); }, "a number from 0.0 to 1.0");
  says("{\"a\": 1}", [](JsonFields& f) { f.flag("a", false); }, "true or false");
  says("{\"a\": 1}", [](JsonFields& f) { f.text("a"); }, "a text");
  says("{\"a\": [1.5]}", [](JsonFields& f) { f.integers("a", {}); }, "whole numbers");
  says("{\"a\": 3}", [](JsonFields& f) { f.integers("a", {}); }, "a list");
  says("{\"a\": [3]}", [](JsonFields& f) { f.texts("a"); }, "must hold texts");
  constexpr std::array<std::string_view, 2> names = {"x", "y"};
  says("{\"a\": \"z\"}", [&](JsonFields& f) { f.choice("a", names); }, "must be one of x, y");
}

TEST(JsonPlace, FindsAFieldByItsPath) {
  const std::string_view json = "{\n \"a\": {\"b.c\": 1},\n \"l\": [1,\n {\"x\": 2}]\n}";
  const auto root = parse_json(json, "f.json");
  ASSERT_TRUE(root);
  EXPECT_EQ(json_place(*root, json, "a"), "line 2, column 2");
  EXPECT_EQ(json_place(*root, json, "a.b.c"), "line 2, column 8");
  EXPECT_EQ(json_place(*root, json, "a.missing"), "line 2, column 2");
  EXPECT_EQ(json_place(*root, json, "l[1].x"), "line 4, column 3");
  EXPECT_EQ(json_place(*root, json, "l[7].x"), "line 3, column 2");
  EXPECT_EQ(json_place(*root, json, "l[99999999999999999999999]"), "line 3, column 2");
  EXPECT_EQ(json_place(*root, json, "missing"), "line 1, column 1");
}

TEST(ReadText, SaysWhatCannotBeRead) {
  const auto gone = read_text(::testing::TempDir() + "no_such_file.json");
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message().find("No such file"), std::string::npos);
  const auto device = read_text("/dev/zero");
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().message().find("no regular file"), std::string::npos);
  const std::string path = ::testing::TempDir() + "large_" + std::to_string(::getpid());
  std::ofstream(path).close();
  std::filesystem::resize_file(path, most_text_bytes + 1);  // sparse
  const auto large = read_text(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().byte, most_text_bytes);
}

// What for_json_items() gives, in the order of the text.
std::string items_of(std::string_view json, bool lists_of_lists = false) {
  std::string out;
  TextSource source(json);
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    out += std::string(item.key) + (item.inner ? "." : "=");
    out += item.value == nullptr ? "[" : std::to_string(item.value->items.size());
    out += '@' + std::to_string(item.byte) + ' ';
    return Done{};
  };
  const auto read = for_json_items(source, "f.json", take, {.lists_of_lists = lists_of_lists});
  return read ? out : read.error().message();
}

TEST(JsonItems, AreMembersAndTheItemsOfLists) {
  EXPECT_EQ(items_of(R"({"a": 1, "b": [{"x": [1, 2]}, 3], "c": {"d": []}})"),
            "a=0@1 b=[@9 b.1@27 b.0@31 c=1@34 ");
  EXPECT_EQ(items_of("[1, [2, 3], {}]"), "=0@2 =2@9 =0@13 ");
  EXPECT_EQ(items_of("[[1], [2, 3]]", true), "=[@1 .0@3 =[@6 .0@8 .0@11 ");
  EXPECT_EQ(items_of("7"), "=0@0 ");
}

TEST(JsonItems, RefuseATextThatIsTooLongToHold) {
  const std::string most(3 << 20, 'a');
  EXPECT_EQ(items_of(R"({"a": ")" + most + R"(", "b": ")" + most + R"("})"), "a=0@1 b=0@3145738 ");
  EXPECT_NE(items_of(R"({"a": "\")" + most + most + "\"}").find("a text of more than 4 MiB"),
            std::string::npos);
}

TEST(JsonItems, AreThoseThatAreWanted) {
  TextSource source(R"({"a": {"x": [1, {"x": 2}], "x": 3}, "b": [1, [2]], "c": [4, 5], "d": 6})");
  std::string out;
  constexpr std::array<std::string_view, 2> keys = {"c", "d"};
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    if (item.value != nullptr) out += std::string(item.key) + std::to_string(item.value->integer);
    return Done{};
  };
  ASSERT_TRUE(for_json_items(source, "f.json", take, {.keys = keys}));
  EXPECT_EQ(out, "c4c5d6");
}

TEST(JsonItems, NameThePlaceOfAnErrorAsParseJsonDoes) {
  const std::string text = "\n {\n \"a\": [1,\n  {\"b\": [2, null]}],\n \"c\": \"d\"}\n";
  for (std::size_t n = 0; n < text.size() - 1; ++n) {
    const std::string cut = text.substr(0, n);
    if (n < text.size() - 2) {
      EXPECT_EQ(items_of(cut), complaint(cut)) << n;
    }
    EXPECT_EQ(items_of(cut + "?" + text), complaint(cut + "?" + text)) << n;
  }
}

TEST(JsonItems, AreBoundedEach) {
  const std::string many = "[" + std::string(2 * most_written_values, ' ') + "1" + [] {
    std::string ones;
    for (std::size_t i = 0; i < most_written_values; ++i) ones += ",1";
    return ones;
  }() + "]";
  EXPECT_NE(complaint(many).find("more than 65536 values"), std::string::npos);
  EXPECT_TRUE(items_of(many).starts_with("=0@"));
  EXPECT_NE(items_of("{\"a\": {\"b\": " + many + "}}").find("more than 65536 values"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
