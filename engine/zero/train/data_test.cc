// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/data.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "engine/zero/drive/disk_test_files.h"
#include "engine/zero/train/tokenizer.h"

namespace stepscope::zero {
namespace {

class DataTest : public DiskTest {
 protected:
  [[nodiscard]] DataConfig config_of(const std::string& file) const {
    return {.paths = {file}, .sample_tokens = 4, .vocabulary = 1000, .shuffle = false};
  }
  static std::string complaint(const DataConfig& config) {
    const auto data = TokenData::open(config);
    return data ? "" : data.error().message();
  }
};

using Tokens = std::vector<std::int32_t>;

struct Batch {
  Tokens in, out;
};
Batch batch(const TokenData& data, Split split, std::uint64_t first, std::size_t samples,
            std::size_t t = 4) {
  Batch b{Tokens(samples * t), Tokens(samples * t)};
  const auto read = data.read(split, first, b.in, b.out);
  EXPECT_TRUE(read) << (read ? "" : read.error().message());
  return b;
}

std::vector<std::uint16_t> counted(std::size_t n) {
  std::vector<std::uint16_t> words(n);
  std::iota(words.begin(), words.end(), std::uint16_t{0});
  return words;
}
template <class T>
std::string llmc_file(std::int32_t magic, std::int32_t version, std::int32_t count,
                      const std::vector<T>& tokens) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  std::string bytes(reinterpret_cast<const char*>(header.data()), 1024);
  bytes.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(T));
  return bytes;
}

TEST_F(DataTest, TextIsItsBytesAndItsEnd) {
  auto data = TokenData::open(config_of(write("a.txt", "abcdefgh")));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->tokens(), 9);
  EXPECT_EQ(data->samples(Split::train), 2);
  const Batch b = batch(*data, Split::train, 0, 2);
  EXPECT_EQ(b.in, (Tokens{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}));
  EXPECT_EQ(b.out, (Tokens{'b', 'c', 'd', 'e', 'f', 'g', 'h', end_of_text}));
}

TEST_F(DataTest, AVocabularyOfBytesHasNoEnd) {
  DataConfig config = config_of(write("a.txt", "abcdefgh\xff"));
  config.vocabulary = 256;
  auto data = TokenData::open(config);
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(data->tokens(), 9);
  EXPECT_EQ(batch(*data, Split::train, 1, 1).out, (Tokens{'f', 'g', 'h', 255}));
}

TEST_F(DataTest, ReadsEveryFormat) {
  const std::vector<std::uint32_t> wide = {70000, 1, 2, 3, 69999};
  DataConfig config = config_of(write_words("a.u32", wide));
  config.format = TokenFormat::u32;
  config.vocabulary = 70001;
  const Tokens expected = {70000, 1, 2, 3};
  EXPECT_EQ(batch(*TokenData::open(config), Split::train, 0, 1).in, expected);

  config.format.reset();
  config.paths = {write("llama.bin", llmc_file(20240801, 7, 5, wide))};
  const Batch llama = batch(*TokenData::open(config), Split::train, 0, 1);
  EXPECT_EQ(llama.in, expected);
  EXPECT_EQ(llama.out.back(), 69999);

  config.paths = {write("gpt2.bin", llmc_file(20240520, 1, 9, counted(9)))};
  EXPECT_EQ(batch(*TokenData::open(config), Split::train, 0, 2).out,
            (Tokens{1, 2, 3, 4, 5, 6, 7, 8}));

  config.format = TokenFormat::u16;
  config.paths = {write_words("a.u16", counted(6))};
  EXPECT_EQ(batch(*TokenData::open(config), Split::train, 0, 1).out, (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(token_format("u16"), TokenFormat::u16);
  EXPECT_EQ(token_format("u8"), std::nullopt);
}

TEST_F(DataTest, SamplesDoNotCrossFiles) {
  DataConfig config = config_of(write_words("a", counted(11)));  // 2 samples, 2 tokens left
  config.paths.push_back(write_words("b", counted(3)));          // none
  config.paths.push_back(write_words("c", std::vector<std::uint16_t>{100, 101, 102, 103, 104}));
  config.format = TokenFormat::u16;
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples(Split::train), 3);
  EXPECT_EQ(batch(*data, Split::train, 2, 1).in, (Tokens{100, 101, 102, 103}));
  EXPECT_EQ(batch(*data, Split::train, 1, 1).in, (Tokens{4, 5, 6, 7}));
}

TEST_F(DataTest, ValidationIsTheEndAndApart) {
  DataConfig config = config_of(write_words("a", counted(401)));
  config.format = TokenFormat::u16;
  config.validation = 0.1;
  config.shuffle = true;
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples(Split::train), 90);
  EXPECT_EQ(data->samples(Split::validation), 10);
  EXPECT_EQ(batch(*data, Split::validation, 0, 1).in, (Tokens{360, 361, 362, 363}));
  EXPECT_EQ(batch(*data, Split::validation, 10, 1).in, batch(*data, Split::validation, 0, 1).in);
  for (std::uint64_t place = 0; place < 90; ++place)
    EXPECT_LT(batch(*data, Split::train, place, 1).in.front(), 360);
}

TEST_F(DataTest, EachEpochHasEverySampleOnceInItsOwnOrder) {
  DataConfig config = config_of(write_words("a", counted(401)));
  config.format = TokenFormat::u16;
  config.shuffle = true;
  std::vector<std::vector<std::int64_t>> orders;
  for (const std::uint64_t seed : {1U, 2U}) {
    config.seed = seed;
    const auto data = TokenData::open(config);
    ASSERT_TRUE(data);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::int64_t>& order = orders.emplace_back();
      for (std::uint64_t i = 0; i < 100; ++i)
        order.push_back(data->sample_at(Split::train, epoch * 100 + i));
      std::vector<std::int64_t> sorted = order;
      std::ranges::sort(sorted);
      for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
    }
  }
  for (std::size_t a = 0; a < orders.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(orders[a], orders[b]);
}

// W ranks that read B samples each, from any cursor, together read the same samples as one rank.
TEST_F(DataTest, WhatIsReadDependsOnThePlaceAlone) {
  DataConfig config = config_of(write_words("a", counted(801)));
  config.format = TokenFormat::u16;
  config.shuffle = true;
  config.seed = 7;
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  constexpr std::uint64_t cursor = 190;  // the epoch of 200 ends during the read
  const Batch whole = batch(*data, Split::train, cursor, 12);
  for (const std::size_t ranks : {2U, 3U, 4U, 6U, 12U}) {
    const std::size_t each = 12 / ranks;
    Batch together;
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto again = TokenData::open(config);
      const Batch part = batch(*again, Split::train, cursor + r * each, each);
      together.in.insert(together.in.end(), part.in.begin(), part.in.end());
      together.out.insert(together.out.end(), part.out.begin(), part.out.end());
    }
    EXPECT_EQ(together.in, whole.in);
    EXPECT_EQ(together.out, whole.out);
  }
}

TEST_F(DataTest, TooFewTokensSaysHowMany) {
  DataConfig config = config_of(write("a.txt", std::string(99, 'x')));  // 100 tokens: 24 samples
  config.least_samples = 30;
  config.validation = 0.05;
  EXPECT_EQ(complaint(config),
            path("a.txt") +
                ": too few tokens: 100 in 1 file hold 24 samples of 4 tokens; 30 are needed for a "
                "step and 1 for validation, at least 125 tokens; use more text, a smaller batch or "
                "a shorter sequence");
  std::ofstream(path("a.txt"), std::ios::app) << std::string(24, 'x');  // 124 tokens
  EXPECT_NE(complaint(config), "");
  std::ofstream(path("a.txt"), std::ios::app) << 'x';
  EXPECT_EQ(complaint(config), "");
  // The stated number of tokens is enough, and one token less is not, for all shares.
  for (std::int64_t least = 1; least < 40; least += 3) {
    for (const double share : {0.0, 0.05, 0.3, 0.9}) {
      config.paths = {write("b.txt", "")};
      config.least_samples = least;
      config.validation = share;
      const std::string text = complaint(config);
      const std::size_t at = text.find("at least ") + 9;
      const auto needed = std::stoull(text.substr(at));
      config.paths = {write("b.txt", std::string(needed - 2, 'x'))};
      EXPECT_NE(complaint(config), "") << least << ' ' << share;
      config.paths = {write("b.txt", std::string(needed - 1, 'x'))};
      EXPECT_EQ(complaint(config), "") << least << ' ' << share;
    }
  }
  config.paths = {write("empty", "")};
  EXPECT_NE(complaint(config).find("too few tokens: 1 in 1 file"), std::string::npos);
}

TEST_F(DataTest, TokenOutsideTheVocabularyNamesItsByte) {
  std::vector<std::uint16_t> words = counted(9);
  words[6] = 1000;
  DataConfig config = config_of(write("a.bin", llmc_file(20240520, 1, 9, words)));
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  Tokens in(8);
  Tokens out(8);
  const auto read = data->read(Split::train, 0, in, out);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().byte, 1024U + 12);
  EXPECT_NE(read.error().message().find("token 1000 is not below the vocabulary of 1000"),
            std::string::npos);
}

TEST_F(DataTest, BrokenFilesAreNamed) {
  DataConfig config = config_of(write("cut.bin", llmc_file(20240520, 1, 10, counted(9))));
  EXPECT_EQ(complaint(config), path("cut.bin") +
                                   ": byte 1042: the file ends after 9 of 10 tokens; the file is "
                                   "cut: write or copy it again");
  config.paths = {write("old.bin", llmc_file(20240520, 2, 9, counted(9)))};
  EXPECT_NE(complaint(config).find("byte 4: version 2"), std::string::npos);
  config.paths = {write("negative.bin", llmc_file(20240520, 1, -1, counted(9)))};
  EXPECT_NE(complaint(config).find("-1 tokens"), std::string::npos);
  config.format = TokenFormat::llmc;
  config.paths = {write("a.txt", "some text")};
  EXPECT_NE(complaint(config).find("is not a token file of llm.c"), std::string::npos);
  config.format = TokenFormat::u32;
  EXPECT_NE(complaint(config).find("byte 8: the last token is cut"), std::string::npos);
  config.format = TokenFormat::text;
  config.paths = {write("a.gz", "\x1f\x8b\x08 and so on")};
  EXPECT_NE(complaint(config).find("is compressed"), std::string::npos);
  config.paths = {path("none")};
  EXPECT_NE(complaint(config).find("cannot open"), std::string::npos);
  config = config_of(write("b.txt", "some text"));
  config.vocabulary = 255;
  EXPECT_NE(complaint(config).find("text needs a vocabulary of 256"), std::string::npos);
}

TEST_F(DataTest, AFileThatShrinksIsAnError) {
  const std::string file = write_words("a", counted(401));
  DataConfig config = config_of(file);
  config.format = TokenFormat::u16;
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  std::filesystem::resize_file(file, 100);
  Tokens in(4);
  Tokens out(4);
  const auto read = data->read(Split::train, 50, in, out);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("the file ends here"), std::string::npos);
}

// A sparse file of 5 GiB: offsets exceed 32 bits, and only the requested bytes are read.
TEST_F(DataTest, ReadsFarInsideALargeFile) {
  const std::string file = write("large", "");
  std::error_code failed;
  std::filesystem::resize_file(file, 5ULL << 30U, failed);
  if (failed) GTEST_SKIP() << "no sparse files here";
  DataConfig config = config_of(file);
  config.format = TokenFormat::u16;
  const std::uint64_t token = (5ULL << 29U) - 5;
  {
    std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
    f.seekp(static_cast<std::streamoff>(token * 2));
    const std::uint16_t word = 77;
    f.write(reinterpret_cast<const char*>(&word), 2);
  }
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->tokens(), 5LL << 29);
  const std::uint64_t last = static_cast<std::uint64_t>(data->samples(Split::train)) - 1;
  const Batch b = batch(*data, Split::train, last, 1);
  EXPECT_EQ(b.in, (Tokens{0, 0, 0, 77}));
  EXPECT_EQ(b.out, (Tokens{0, 0, 77, 0}));
}

TEST_F(DataTest, SeveralThreadsMayRead) {
  DataConfig config = config_of(write_words("a", counted(801)));
  config.format = TokenFormat::u16;
  config.shuffle = true;
  const auto data = TokenData::open(config);
  ASSERT_TRUE(data);
  const Batch expected = batch(*data, Split::train, 0, 40);
  std::vector<Batch> got(3);
  {
    std::vector<std::jthread> threads;
    for (Batch& b : got) threads.emplace_back([&] { b = batch(*data, Split::train, 0, 40); });
  }
  for (const Batch& b : got) EXPECT_EQ(b.in, expected.in);
}

}  // namespace
}  // namespace stepscope::zero
