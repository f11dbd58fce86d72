// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/byte_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "stepscope/base/byte_source_test_pack.h"
#include "stepscope/base/files/open_source.h"

namespace stepscope {
namespace {

using test::gzip;
using test::zstd;

class ByteSourceTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string path_ = testing::TempDir() + "byte_source_" + std::to_string(::getpid());
};

std::string some_text(std::size_t n) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < n) text += "{\"ts\": " + std::to_string(random()) + "}, ";
  text.resize(n);
  return text;
}

std::string read_all(ByteSource& source, std::size_t block) {
  std::string text;
  std::string buffer(block, '\0');
  for (;;) {
    const auto got = source.read(buffer);
    EXPECT_TRUE(got.has_value());
    if (!got || *got == 0) return text;
    text.append(buffer, 0, *got);
  }
}

TEST_F(ByteSourceTest, ReadsPlainGzipAndZstdAlike) {
  const std::string text = some_text(3'000'000);
  for (const std::string& bytes : {text, gzip(text), zstd(text)}) {
    write(bytes);
    for (const std::size_t block : {1000UL, 1UL << 20}) {
      auto source = open_source(path_);
      ASSERT_TRUE(source.has_value());
      EXPECT_EQ(read_all(**source, block), text);
      EXPECT_EQ((*source)->damage(), "");
      EXPECT_EQ((*source)->position(), bytes.size());
    }
  }
}

TEST_F(ByteSourceTest, JoinsGzipMembersAndZstdFramesAndAllowsZeroPadding) {
  const std::string text = some_text(700'000);
  write(gzip(text) + gzip("") + gzip(text) + std::string(512, '\0'));
  auto source = open_source(path_);
  EXPECT_EQ(read_all(**source, 4096), text + text);
  EXPECT_EQ((*source)->damage(), "");
  write(zstd(text) + zstd(text));
  source = open_source(path_);
  EXPECT_EQ(read_all(**source, 4096), text + text);
}

TEST_F(ByteSourceTest, ACutMemberDeliversWhatIsThereAndSaysSo) {
  const std::string text = some_text(500'000);
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    write(packed.substr(0, packed.size() / 2));
    auto source = open_source(path_);
    const std::string got = read_all(**source, 10'000);
    EXPECT_GT(got.size(), text.size() / 10);
    EXPECT_EQ(text.substr(0, got.size()), got);
    EXPECT_NE((*source)->damage().find("cut after compressed byte"), std::string::npos);
  }
}

TEST_F(ByteSourceTest, CorruptDataEndsTheStreamWithItsPlace) {
  const std::string text = some_text(500'000);
  std::string packed = gzip(text);
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) packed[i] = '\xff';
  write(packed);
  auto source = open_source(path_);
  read_all(**source, 10'000);
  EXPECT_NE((*source)->damage(), "");
  write(gzip(text) + "garbage");
  source = open_source(path_);
  EXPECT_EQ(read_all(**source, 10'000), text);
  EXPECT_NE((*source)->damage().find("after the last gzip member"), std::string::npos);
}

TEST_F(ByteSourceTest, AFileThatShrinksWhileItIsReadIsAnError) {
  write(some_text(1'000'000));
  auto source = open_source(path_);
  std::string buffer(1000, '\0');
  ASSERT_TRUE((*source)->read(buffer).has_value());
  std::filesystem::resize_file(path_, 5000);
  std::string rest(1'000'000, '\0');
  const auto got = (*source)->read(rest);
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().message().find("shrank from 1000000 to 5000"), std::string::npos);
}

TEST_F(ByteSourceTest, MissingFilesAndDirectoriesAreErrorsThatNameThem) {
  EXPECT_NE(open_source("/no/such/file").error().message().find("/no/such/file: cannot open"),
            std::string::npos);
  EXPECT_NE(open_source("/tmp").error().message().find("is a directory"), std::string::npos);
}

std::string zstd_with_checksum(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

// All text before the damage is delivered, whatever the size of the reads.
TEST_F(ByteSourceTest, DamageCostsTheSameTextForEverySizeOfRead) {
  const std::string text = some_text(300'000);
  for (std::string packed : {gzip(text), zstd_with_checksum(text)}) {
    for (std::size_t at = packed.size() / 2; at < packed.size() / 2 + 8; ++at) packed[at] = '\xff';
    write(packed);
    std::size_t first = 0;
    for (const std::size_t block : {16UL, 1000UL, 100'000UL, 1UL << 20}) {
      auto source = open_source(path_);
      ASSERT_TRUE(source.has_value());
      const std::string got = read_all(**source, block);
      EXPECT_NE((*source)->damage(), "");
      if (first == 0) first = got.size();
      EXPECT_EQ(got.size(), first) << block;
    }
    EXPECT_GT(first, text.size() / 8);
  }
}

TEST_F(ByteSourceTest, ADecompressionBombIsRefusedAtItsFirst16MiB) {
  for (const std::string& packed :
       {gzip(std::string(20 << 20, 'a')), zstd(std::string(20 << 20, 'a'))}) {
    write(packed);
    const auto source = open_source(path_);
    ASSERT_TRUE(source);
    std::string buffer(1 << 20, '\0');
    std::uint64_t given = 0;
    auto got = (*source)->read(buffer);
    for (; got && *got > 0; got = (*source)->read(buffer)) given += *got;
    ASSERT_FALSE(got);
    EXPECT_EQ(given, 16U << 20);
    EXPECT_EQ(got.error().file, path_);
    EXPECT_TRUE(got.error().byte);
    EXPECT_NE(got.error().message().find("decompression bomb"), std::string::npos);
  }
}

TEST_F(ByteSourceTest, TextThatCompressesAsTracesDoHasNoLimit) {
  std::string text = some_text(1 << 20);
  while (text.size() < (70U << 20))
    text += text.substr(text.size() - (1U << 20), 900'000) + some_text(20'000);
  write(gzip(text));
  const auto source = open_source(path_);
  ASSERT_TRUE(source);
  EXPECT_EQ(read_all(**source, 1 << 20), text);
}

}  // namespace
}  // namespace stepscope
