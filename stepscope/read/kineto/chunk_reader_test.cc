// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/chunk_reader.h"

#include <gtest/gtest.h>

#include "stepscope/read/bytes/json_index.h"
#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

struct Read {
  std::string text;
  std::vector<std::size_t> offsets;
  bool cut_between = true;  // every chunk but the first begins at an event
};

Read read_all(std::string_view text, std::size_t chunk_bytes, std::size_t head = 0) {
  TextSource source(text);
  std::string first(head, '\0');
  first.resize(*source.read(first));
  ChunkReader reader(source, first, 0, chunk_bytes);
  Read all;
  Chunk chunk;
  while (*reader.next(chunk)) {
    EXPECT_EQ(chunk.offset, all.text.size());
    EXPECT_EQ(chunk.number, all.offsets.size());
    for (std::size_t i = 0; i < json_text_padding; ++i)
      EXPECT_EQ(chunk.bytes.at(chunk.size + i), '\0');
    if (!all.offsets.empty())
      all.cut_between = all.cut_between && chunk.text().starts_with("{\"ph\"");
    all.offsets.push_back(all.text.size());
    all.text += chunk.text();
    if (chunk.last) {
      EXPECT_EQ(all.text.size(), text.size());
    }
  }
  EXPECT_TRUE(chunk.last);
  EXPECT_EQ(reader.text_bytes(), text.size());
  return all;
}

TEST(ChunkReader, ChunksJoinToTheTextAndAreCutBetweenEvents) {
  std::string text = "[";
  for (int i = 0; i < 200; ++i) text += R"({"ph": "X", "args": {"deep": {"x": 1}}}, )";
  for (const std::size_t chunk : {60U, 100U, 1000U, 100'000U})
    for (const std::size_t head : {0U, 30U, 500U}) {
      const Read all = read_all(text, chunk, head);
      EXPECT_EQ(all.text, text);
      EXPECT_TRUE(all.cut_between) << chunk << ' ' << head;
      EXPECT_TRUE(chunk > 1000 || all.offsets.size() > 5);
    }
}

TEST(ChunkReader, ATextWithoutEventsIsCutAnywhere) {
  const std::string text(100'000, 'x');
  const Read all = read_all(text, 100);
  EXPECT_EQ(all.text, text);
  EXPECT_GT(all.offsets.size(), 10U);
}

TEST(ChunkReader, WhatIsGivenBackComesAgainEvenAfterTheEnd) {
  TextSource source("abcdef");
  ChunkReader reader(source, "", 0, 100);
  Chunk chunk;
  ASSERT_TRUE(*reader.next(chunk));
  EXPECT_TRUE(chunk.last);
  reader.give_back("def");
  ASSERT_TRUE(*reader.next(chunk));
  EXPECT_EQ(chunk.text(), "def");
  EXPECT_EQ(chunk.offset, 3U);
  EXPECT_TRUE(chunk.last);
  EXPECT_FALSE(*reader.next(chunk));
}

TEST(ChunkReader, AnEmptySourceGivesOneEmptyLastChunk) {
  TextSource source("");
  ChunkReader reader(source, "", 0);
  Chunk chunk;
  ASSERT_TRUE(*reader.next(chunk));
  EXPECT_EQ(chunk.size, 0U);
  EXPECT_TRUE(chunk.last);
}

}  // namespace
}  // namespace stepscope
