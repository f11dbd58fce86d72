// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/json_index.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace stepscope {
namespace {

// The definition, byte by byte.
std::vector<std::uint32_t> reference(std::string_view text) {
  std::vector<std::uint32_t> at;
  bool in_string = false;
  bool escaped = false;
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (escaped) {
      escaped = false;
      if (c == '"' || c == '\\') continue;
    } else if (c == '\\') {
      escaped = true;
      continue;
    }
    if (c == '"') {
      at.push_back(i);
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '}' || c == '[' || c == ']')) {
      at.push_back(i);
    }
  }
  return at;
}

std::vector<std::uint32_t> indexed(const NamedIndexer& indexer, std::string text) {
  const std::size_t size = text.size();
  text.append(json_text_padding, '"');
  JsonIndex index;
  indexer.run(std::string_view(text).substr(0, size), index);
  for (std::size_t i = 0; i < json_index_padding; ++i) EXPECT_EQ(index.at[index.count + i], size);
  return {index.at.begin(), index.at.begin() + static_cast<std::ptrdiff_t>(index.count)};
}

TEST(JsonIndex, ListsQuotesAndBracketsOutsideStrings) {
  const std::string text = R"({"a": "x{y}\"z", "b": [1, {}]})";
  for (const NamedIndexer& indexer : json_indexers())
    EXPECT_EQ(indexed(indexer, text), reference(text)) << indexer.name;
  EXPECT_EQ(reference(text).size(), 12U);
}

TEST(JsonIndex, EveryVariantAgreesWithTheByteByByteDefinition) {
  std::mt19937 random(11);
  constexpr std::string_view alphabet = "\"\"\\{}[]:, ab1\x80\n";
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 300, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    for (const NamedIndexer& indexer : json_indexers())
      ASSERT_EQ(indexed(indexer, text), reference(text)) << indexer.name << ": " << text;
  }
}

TEST(JsonIndex, RunsOfBackslashesMayCrossBlocks) {
  for (std::size_t lead = 55; lead < 70; ++lead)
    for (std::size_t run = 0; run < 75; ++run) {
      const std::string text = '"' + std::string(lead, 'a') + std::string(run, '\\') + "\" {}";
      for (const NamedIndexer& indexer : json_indexers())
        ASSERT_EQ(indexed(indexer, text), reference(text)) << indexer.name << lead << ' ' << run;
    }
}

}  // namespace
}  // namespace stepscope
