// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/field_table.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

TEST(FieldTable, FindsEveryKeyWhateverStandsBehindIt) {
  const auto found = [](const FieldTable& table, const FieldKey& key) {
    const std::string behind = std::string(key.text).append("\": 1, \"something\": 2");
    EXPECT_EQ(table.find(key.text), static_cast<int>(key.field)) << key.text;
    EXPECT_EQ(table.find_padded(std::string_view(behind).substr(0, key.text.size())),
              static_cast<int>(key.field))
        << key.text;
  };
  for (const FieldKey& key : event_keys) found(event_fields, key);
  for (const FieldKey& key : arg_keys) found(arg_fields, key);
}

TEST(FieldTable, KnowsNoKeyThatOnlyResemblesOne) {
  EXPECT_EQ(event_fields.find(""), unknown_field);
  EXPECT_EQ(arg_fields.find(""), unknown_field);
  for (const FieldKey& key : arg_keys) {
    const std::string text(key.text);
    const std::string shorter = text.substr(0, text.size() - 1);
    EXPECT_EQ(arg_fields.find(text + "s"), unknown_field) << text;
    EXPECT_EQ(arg_fields.find(shorter), unknown_field) << shorter;
    EXPECT_EQ(arg_fields.find(shorter + "~"), unknown_field) << text;
    std::string other = text;
    other[0] = '~';
    EXPECT_EQ(arg_fields.find(other), unknown_field) << other;
  }
  EXPECT_EQ(arg_fields.find("Input Strides"), unknown_field);
  EXPECT_EQ(event_fields.find("External id"), unknown_field);
}

}  // namespace
}  // namespace stepscope
