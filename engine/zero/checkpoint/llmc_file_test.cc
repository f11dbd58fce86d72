// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/llmc_file.h"

#include <algorithm>
#include <cstring>

#include "engine/zero/checkpoint/weights_test_networks.h"
#include "engine/zero/drive/disk_test_files.h"
#include "stepscope/base/files/open_source.h"

namespace stepscope::zero {
namespace {

using test::read_all;
using test::reader_of;
using test::tiny_gpt2;
using test::tiny_llama;
using test::weights_of;

class LlmcFileTest : public DiskTest {
 protected:
  [[nodiscard]] std::string written(ElementType type = ElementType::f32) const {
    const auto config = tiny_gpt2();
    const auto weights = weights_of(nn::network_units(config));
    const auto done = write_llmc(path("m.bin"), config, type, reader_of(weights));
    EXPECT_TRUE(done) << (done ? "" : done.error().message());
    return path("m.bin");
  }
  static void set_word(const std::string& file, int word, std::int32_t value) {
    std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
    f.seekp(std::streamoff{word} * 4);
    f.write(reinterpret_cast<const char*>(&value), 4);
  }
  static std::string complaint(const std::string& file) {
    const auto opened = open_llmc(file, tiny_gpt2());
    return opened ? "" : opened.error().message();
  }
};

TEST_F(LlmcFileTest, ReadsWhatItWrote) {
  const auto units = nn::network_units(tiny_gpt2());
  const auto weights = weights_of(units);
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    const std::string file = written(type);
    const auto network = llmc_network(file);
    ASSERT_TRUE(network) << network.error().message();
    EXPECT_EQ(*network, tiny_gpt2());
    const auto stored = open_llmc(file, *network);
    ASSERT_TRUE(stored) << stored.error().message();
    for (const std::int64_t piece : {3, 10000}) EXPECT_EQ(read_all(*stored, units, piece), weights);
  }
}

// The offsets of llm.c's fill_in_parameter_sizes: wte, wpe, ln1w, ln1b, qkvw, qkvb, attprojw,
// attprojb, ln2w, ln2b, fcw, fcb, fcprojw, fcprojb, lnfw, lnfb; each for all layers.
TEST_F(LlmcFileTest, LiesAsLlmcReadsIt) {
  const std::string bytes = bytes_of(written());
  std::array<std::int32_t, 256> header{};
  std::memcpy(header.data(), bytes.data(), 1024);
  const std::vector<std::int32_t> words = {20240326, 3, 6, 13, 2, 2, 8, 16};
  EXPECT_TRUE(std::equal(words.begin(), words.end(), header.begin()));
  EXPECT_EQ(std::ranges::count(header, 0), 248);
  constexpr std::size_t c = 8;
  constexpr std::size_t l = 2;
  const std::vector<std::pair<std::string, std::size_t>> kinds = {
      {"wte.weight", 16 * c},
      {"wpe.weight", 6 * c},
      {"ln_1.weight", l * c},
      {"ln_1.bias", l * c},
      {"attn.c_attn.weight", l * 3 * c * c},
      {"attn.c_attn.bias", l * 3 * c},
      {"attn.c_proj.weight", l * c * c},
      {"attn.c_proj.bias", l * c},
      {"ln_2.weight", l * c},
      {"ln_2.bias", l * c},
      {"mlp.c_fc.weight", l * 4 * c * c},
      {"mlp.c_fc.bias", l * 4 * c},
      {"mlp.c_proj.weight", l * 4 * c * c},
      {"mlp.c_proj.bias", l * c},
      {"ln_f.weight", c},
      {"ln_f.bias", c}};
  const auto units = nn::network_units(tiny_gpt2());
  const auto weights = weights_of(units);
  std::size_t at = 1024;
  for (const auto& [kind, elements] : kinds) {
    std::vector<float> expected;
    for (std::size_t u = 0; u < units.size(); ++u) {  // blocks come in the order of layers
      for (const nn::Parameter& p : units[u].parameters) {
        if (!p.name.ends_with("." + kind)) continue;
        const auto first = weights[u].begin() + p.offset;
        expected.insert(expected.end(), first, first + p.count);
      }
    }
    ASSERT_EQ(expected.size(), elements) << kind;
    EXPECT_EQ(std::memcmp(bytes.data() + at, expected.data(), elements * 4), 0) << kind;
    at += elements * 4;
  }
  EXPECT_EQ(bytes.size(), at);
}

TEST_F(LlmcFileTest, PaddingOfTheVocabularyMayDiffer) {
  nn::NetworkConfig config = tiny_gpt2();
  config.padded_vocab = 32;
  const auto units = nn::network_units(config);
  const auto narrow = nn::network_units(tiny_gpt2());
  const auto stored = open_llmc(written(), config);
  ASSERT_TRUE(stored) << stored.error().message();
  const auto read = read_all(*stored, units, 1000);
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const nn::Parameter& p : units[u].parameters) {
      const auto& q = *std::ranges::find(narrow[u].parameters, p.name, &nn::Parameter::name);
      const ParameterRows rows = parameter_rows(p);
      for (std::int64_t i = 0; i < p.count; ++i) {
        const bool real = i < rows.rows * rows.columns;
        const float expected = real ? test::weight_at(u, q.offset + i) : 0.F;
        ASSERT_EQ(read[u][static_cast<std::size_t>(p.offset + i)], expected) << p.name << ' ' << i;
      }
    }
  }
}

TEST_F(LlmcFileTest, BrokenFilesAreNamed) {
  const std::string file = written();
  const auto size = std::filesystem::file_size(file);
  const auto says = [&](const std::string& text) {
    EXPECT_NE(complaint(file).find(text), std::string::npos) << complaint(file);
  };
  EXPECT_EQ(complaint(file), "");
  std::filesystem::resize_file(file, size - 1);
  says("byte " + std::to_string(size - 1) + ": the file has");
  std::filesystem::resize_file(file, size + 4);
  says("byte " + std::to_string(size) + ": the file has");
  std::filesystem::resize_file(file, 1020);
  says("byte 1020: the file ends within its header");
  set_word(written(), 0, 20240520);
  says("byte 0: is not a checkpoint of llm.c");
  set_word(written(), 1, 1);
  says("byte 4: version 1 is not known");
  set_word(written(), 5, 3);
  says("byte 8: the sizes are no network");
  set_word(written(), 4, -1);
  says("byte 8: the sizes are no network");
  set_word(written(), 4, 2000000000);  // allocates no memory for this number of layers
  says(file);
}

TEST_F(LlmcFileTest, AnotherModelIsRefused) {
  const std::string file = written();
  nn::NetworkConfig other = tiny_gpt2();
  other.context = 7;
  const auto opened = open_llmc(file, other);
  ASSERT_FALSE(opened);
  EXPECT_NE(
      opened.error().message().find("is of another model: context 6 in the file, 7 in the model"),
      std::string::npos);
  EXPECT_FALSE(open_llmc(file, tiny_llama()));
  const auto weights = weights_of(nn::network_units(tiny_llama()));
  const auto refused =
      write_llmc(path("l.bin"), tiny_llama(), ElementType::f32, reader_of(weights));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("write safetensors instead"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::zero
