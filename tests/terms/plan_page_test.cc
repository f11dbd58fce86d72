// SPDX-License-Identifier: Apache-2.0
// The table of docs/reference/plans.md is the table of a plan's fields. STEPSCOPE_WRITE_TERMS=1
// writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_json.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

// "0", "1f1b"; nothing for an empty list.
std::string text_of(const Json& value) {
  if (value.is_string()) return "`" + value.get<std::string>() + "`";
  return value.is_array() ? std::string() : value.dump();
}

std::string field_table() {
  const Json plan = Json::parse(plan_json({})).flatten();
  std::string out = "\n| field | flag | default | meaning |\n|---|---|---|---|\n";
  for (const PlanField& field : plan_table()) {
    if (field.key.empty()) continue;
    std::string path = "/" + std::string(field.key);
    if (const std::size_t dot = path.find('.'); dot != std::string::npos) path[dot] = '/';
    const std::string flag = field.name.empty() ? "" : "`--" + std::string(field.name) + "`";
    out += "| `" + std::string(field.key) + "` | " + flag + " | " +
           text_of(plan.contains(path) ? plan.at(path) : Json::array()) + " | " +
           std::string(field.what) + " |\n";
  }
  return out + "\n";
}

TEST(PlanPage, HasTheTableOfFields) {
  const std::string path = STEPSCOPE_SOURCE_DIR "/docs/reference/plans.md";
  std::ifstream in(path, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string start = "<!-- fields: written by terms_test -->\n";
  const std::size_t from = page.find(start);
  const std::size_t to = page.find("<!-- end of fields -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const std::string made = page.substr(0, from) + start + field_table() + page.substr(to);
  if (std::getenv("STEPSCOPE_WRITE_TERMS") != nullptr)
    std::ofstream(path) << made;
  else
    EXPECT_EQ(page, made) << "run this test with STEPSCOPE_WRITE_TERMS=1";
}

}  // namespace
}  // namespace stepscope
