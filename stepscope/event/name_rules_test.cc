// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/name_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

NameClass kernel(const std::string& rules, const std::string& name) {
  const auto all = name_rules_with(rules, "mine.txt");
  EXPECT_TRUE(all) << all.error().message();
  return all ? classify_kernel(name, *all) : NameClass::other;
}

TEST(name_rules, of_a_user_come_first) {
  EXPECT_EQ(kernel("", "my_flash_attention"), NameClass::attention);
  EXPECT_EQ(kernel("# mine\n\nrouting head My_Flash  us", "my_flash_attention"),
            NameClass::routing);
  EXPECT_EQ(kernel("norm head a_word\nloss head a_word", "a_word_kernel"), NameClass::norm);
}

TEST(name_rules, look_only_where_they_say) {
  const std::string name = "void lib::fused<int, other::word>::run_step(arg::type)";
  EXPECT_EQ(kernel("norm start run", name), NameClass::norm);
  EXPECT_EQ(kernel("norm start lib", name), NameClass::norm);
  EXPECT_EQ(kernel("norm start step", name), NameClass::other);
  EXPECT_EQ(kernel("norm head fused", name), NameClass::norm);
  EXPECT_EQ(kernel("norm head arg", name), NameClass::other);
  EXPECT_EQ(kernel("norm anywhere arg", name), NameClass::norm);
  EXPECT_EQ(kernel("norm anywhere word", name), NameClass::other);
  EXPECT_EQ(kernel("norm argument fused<word", name), NameClass::norm);
  EXPECT_EQ(kernel("norm argument elsewhere<word", name), NameClass::other);
  EXPECT_EQ(kernel("norm argument fused<1=int", name), NameClass::norm);
  EXPECT_EQ(kernel("norm argument fused<2=int", name), NameClass::other);
}

TEST(name_rules, have_stars_and_edges) {
  EXPECT_EQ(kernel("norm head mine*last", "mine_then_last"), NameClass::norm);
  EXPECT_EQ(kernel("norm head last*mine", "mine_then_last"), NameClass::other);
  EXPECT_EQ(kernel("norm head |then|", "mine_then_last"), NameClass::norm);
  EXPECT_EQ(kernel("norm head |hen|", "mine_then_last"), NameClass::other);
  EXPECT_EQ(kernel("norm head last$", "mine_then_last"), NameClass::norm);
  EXPECT_EQ(kernel("norm head then$", "mine_then_last"), NameClass::other);
  EXPECT_EQ(kernel("norm start |mine|", "mine_then_last"), NameClass::norm);
}

TEST(name_rules, classify_operators) {
  const auto rules = name_rules_with(
      "matmul operator my_mm\nattention operator lib::attend\nnorm operator-has tweak", "f");
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(classify_operator("lib::my_mm_", *rules), NameClass::matmul);
  EXPECT_EQ(classify_operator("MyMmBackward0", *rules), NameClass::matmul);
  EXPECT_EQ(classify_operator("lib::attend", *rules), NameClass::attention);
  EXPECT_EQ(classify_operator("other::attend", *rules), NameClass::other);
  EXPECT_EQ(classify_operator("lib::do_tweak_it", *rules), NameClass::norm);
  EXPECT_EQ(classify_operator("aten::mm", *rules), NameClass::matmul);
}

TEST(name_rules, with_a_mistake_name_line_and_remedy) {
  const auto message = [](const char* text) {
    const auto rules = name_rules_with(text, "mine.txt");
    return rules ? std::string() : rules.error().message();
  };
  EXPECT_NE(message("# x\nmatmull head gemm").find("line 2: \"matmull\" is no class"),
            std::string::npos);
  EXPECT_NE(message("matmul tail gemm").find("write start, head"), std::string::npos);
  EXPECT_NE(message("matmul head").find("mine.txt: line 1"), std::string::npos);
  EXPECT_NE(message("matmul head f<gemm").find("argument FUNCTION<WORD"), std::string::npos);
  EXPECT_NE(message("matmul argument gemm").find("FUNCTION<WORD"), std::string::npos);
  EXPECT_NE(message("matmul head *").find("write a word"), std::string::npos);
  EXPECT_NE(message("matmul head |").find("write a word"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
