// SPDX-License-Identifier: Apache-2.0
// docs/reference/plan-fields.md is the table of a plan's fields. STEPSCOPE_WRITE_TERMS=1 writes it
// anew.
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

std::string field_page() {
  const Json plan = Json::parse(plan_json({})).flatten();
  std::string out =
      "# Fields of a plan\n\n"
      "The keys of [plan files](plans.md) and their flags. `terms_test` writes this page.\n\n"
      "| field | flag | default | meaning |\n|---|---|---|---|\n";
  for (const PlanField& field : plan_table()) {
    if (field.key.empty()) continue;
    std::string path = "/" + std::string(field.key);
    if (const std::size_t dot = path.find('.'); dot != std::string::npos) path[dot] = '/';
    const std::string flag = field.name.empty() ? "" : "`--" + std::string(field.name) + "`";
    out += "| `" + std::string(field.key) + "` | " + flag + " | " +
           text_of(plan.contains(path) ? plan.at(path) : Json::array()) + " | " +
           std::string(field.what) + " |\n";
  }
  return out;
}

TEST(PlanPage, HasEveryField) {
  const std::string path = STEPSCOPE_SOURCE_DIR "/docs/reference/plan-fields.md";
  if (std::getenv("STEPSCOPE_WRITE_TERMS") != nullptr) std::ofstream(path) << field_page();
  std::ifstream in(path, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(page, field_page())
      << "run this test with STEPSCOPE_WRITE_TERMS=1, and look at the difference";
}

}  // namespace
}  // namespace stepscope
