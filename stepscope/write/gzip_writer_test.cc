// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/gzip_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

class GzipWriterTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  // Compressible and incompressible text, in pieces of all sizes.
  static std::string write(const std::string& path, std::size_t pieces) {
    auto writer = GzipWriter::create(path);
    EXPECT_TRUE(writer.has_value());
    std::string all;
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < pieces; ++i) {
      std::string piece(i % 977, 'a');
      for (std::size_t k = 0; k < i % 301; ++k) {
        state = state * 1664525U + 1013904223U;
        piece += static_cast<char>(state >> 24);
      }
      writer->write(piece);
      all += piece;
    }
    EXPECT_TRUE(writer->commit().has_value());
    return all;
  }

  static std::string raw(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  static std::string inflate(const std::string& path, std::size_t expected) {
    const auto source = open_source(path);
    EXPECT_TRUE(source.has_value());
    std::string text(expected + 1, '\0');
    const auto got = (*source)->read(std::span(text));
    EXPECT_TRUE(got.has_value());
    EXPECT_EQ((*source)->damage(), "");
    text.resize(*got);
    return text;
  }

  test::Folder folder_;
};

TEST_F(GzipWriterTest, CompressesWhereTheNameAsksForIt) {
  const std::string all = write(path("a.gz"), 9000);  // several blocks
  EXPECT_GT(all.size(), 4U << 20);
  EXPECT_LT(raw(path("a.gz")).size(), all.size() / 2);
  EXPECT_EQ(raw(path("a.gz")).substr(0, 2), "\x1F\x8B");
  EXPECT_TRUE(inflate(path("a.gz"), all.size()) == all);
}

TEST_F(GzipWriterTest, WritesTextAsItIsOtherwise) {
  const std::string all = write(path("a.json"), 9000);
  EXPECT_TRUE(raw(path("a.json")) == all);
}

TEST_F(GzipWriterTest, MakesAWholeFileOfNothing) {
  EXPECT_EQ(write(path("a.gz"), 0), "");
  EXPECT_FALSE(raw(path("a.gz")).empty());
  EXPECT_EQ(inflate(path("a.gz"), 0), "");
}

TEST_F(GzipWriterTest, LeavesNoFileThatWasNotCommitted) {
  {
    auto writer = GzipWriter::create(path("a.gz"));
    ASSERT_TRUE(writer.has_value());
    writer->write("begun");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path));
}

TEST_F(GzipWriterTest, SaysWhereItCannotWrite) {
  const auto writer = GzipWriter::create(path("none/a.gz"));
  ASSERT_FALSE(writer.has_value());
  EXPECT_EQ(writer.error().file, path("none/a.gz"));
}

}  // namespace
}  // namespace stepscope
