// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/zero/checkpoint/weights_test_networks.h"
#include "engine/zero/drive/disk_test_files.h"

namespace stepscope::zero {
namespace {

using test::read_all;
using test::reader_of;
using test::tiny_gpt2;
using test::tiny_llama;
using test::weights_of;

std::string with_length(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), 8);
  return bytes + header + data;
}

class SafetensorsTest : public DiskTest {
 protected:
  std::string complaint(const std::string& header, std::size_t data_bytes) const {
    const std::string file =
        write("x.safetensors", with_length(header, std::string(data_bytes, 'x')));
    const auto read = read_safetensors_header(file);
    return read ? "" : read.error().message().substr(file.size() + 2);
  }
  // A file with one tensor "a" of these fields.
  std::string complaint_of(const std::string& fields, std::size_t data_bytes) const {
    return complaint("{\"a\":{" + fields + "}}", data_bytes);
  }
};

// Written by the Python package safetensors 0.8.0:
//   save_file({"b": torch.arange(6, dtype=float32).reshape(2, 3),
//              "a": torch.tensor([1.5, -2.0], dtype=bfloat16),
//              "h": torch.tensor([0.1, 65504., 6e-8, -0.0], dtype=float16)},
//             path, metadata={"format": "pt"})
std::string file_of_the_python_package() {
  std::string bytes = with_length(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]},)"
      R"("h":{"dtype":"F16","shape":[4],"data_offsets":[28,36]}} )");
  for (const float x : {0.F, 1.F, 2.F, 3.F, 4.F, 5.F})
    bytes.append(reinterpret_cast<const char*>(&x), 4);
  return bytes + std::string("\xc0\x3f\x00\xc0\x66\x2e\xff\x7b\x01\x00\x00\x80", 12);
}

nn::Parameter vector_of(const std::string& name, std::int64_t offset, std::int64_t count) {
  return {.name = name, .shape = {count}, .offset = offset, .count = count};
}

TEST_F(SafetensorsTest, ReadsAFileOfThePythonPackage) {
  const std::string file = write("a.safetensors", file_of_the_python_package());
  const auto header = read_safetensors_header(file);
  ASSERT_TRUE(header) << header.error().message();
  EXPECT_EQ(header->metadata.at("format"), "pt");
  ASSERT_EQ(header->tensors.size(), 3U);
  EXPECT_EQ(header->tensors[1].dtype, "BF16");
  nn::Unit unit{
      .name = "all", .parameters = {vector_of("a", 0, 2), vector_of("h", 2, 4)}, .count = 12};
  unit.parameters.push_back({.name = "b", .shape = {2, 3}, .offset = 6, .count = 6});
  const auto stored = open_safetensors(file, {unit});
  ASSERT_TRUE(stored) << stored.error().message();
  const std::vector<float> expected = {
      1.5F, -2.F, 0.0999755859375F, 65504.F, 0x1p-24F, -0.F, 0.F, 1.F, 2.F, 3.F, 4.F, 5.F};
  for (const std::int64_t piece : {1, 5, 12}) {
    EXPECT_EQ(read_all(*stored, {unit}, piece).front(), expected);
  }
  // The same matrix in column order.
  unit.parameters[2].shape = {3, 2};
  unit.parameters[2].transposed_in_file = true;
  const auto transposed = open_safetensors(file, {unit});
  ASSERT_TRUE(transposed);
  std::vector<float> columns(6);
  ASSERT_TRUE(transposed->read(0, 6, columns));
  EXPECT_EQ(columns, (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST_F(SafetensorsTest, ReadsWhatItWrote) {
  for (const nn::NetworkConfig& config : {tiny_gpt2(), tiny_llama()}) {
    const auto units = nn::network_units(config);
    const auto weights = weights_of(units);
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
      const std::string file = path("m.safetensors");
      const auto written = write_safetensors(file, units, type, reader_of(weights));
      ASSERT_TRUE(written) << written.error().message();
      const auto stored = open_safetensors(file, units);
      ASSERT_TRUE(stored) << stored.error().message();
      for (const std::int64_t piece : {1, 7, 100, 100000}) {
        EXPECT_EQ(read_all(*stored, units, piece), weights);
      }
      EXPECT_FALSE(std::filesystem::exists(file + ".tmp"));
    }
  }
}

TEST_F(SafetensorsTest, HasTheShapesOfHuggingFace) {
  const auto units = nn::network_units(tiny_gpt2());
  const auto weights = weights_of(units);
  const std::string file = path("m.safetensors");
  ASSERT_TRUE(write_safetensors(file, units, ElementType::f32, reader_of(weights)));
  const auto header = read_safetensors_header(file);
  ASSERT_TRUE(header);
  const auto tensor = [&](std::string_view name) {
    return *std::ranges::find(header->tensors, name, &SafetensorsTensor::name);
  };
  EXPECT_EQ(tensor("transformer.wte.weight").shape, (std::vector<std::int64_t>{13, 8}));
  EXPECT_EQ(tensor("transformer.h.1.mlp.c_fc.weight").shape, (std::vector<std::int64_t>{8, 32}));
  EXPECT_EQ(header->metadata.at("format"), "pt");
  // Element (in 3, out 20) of the file is (out 20, in 3) of stepscope's matrix.
  const SafetensorsTensor fc = tensor("transformer.h.1.mlp.c_fc.weight");
  const auto& p = *std::ranges::find(units[2].parameters, fc.name, &nn::Parameter::name);
  float there = 0;
  const std::string bytes = bytes_of(file);
  std::memcpy(&there, bytes.data() + fc.begin + std::size_t{3 * 32 + 20} * 4, 4);
  EXPECT_EQ(there, weights[2][static_cast<std::size_t>(p.offset + 20 * 8 + 3)]);
}

TEST_F(SafetensorsTest, ReadsNamesWithoutTheFirstPartAndSkipsBuffers) {
  const auto units = nn::network_units(tiny_gpt2());
  const auto weights = weights_of(units);
  const std::string file = path("m.safetensors");
  ASSERT_TRUE(write_safetensors(file, units, ElementType::f32, reader_of(weights)));
  const std::string bytes = bytes_of(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  std::string header = bytes.substr(8, length);
  const std::string data = bytes.substr(8 + length);
  for (std::size_t at = 0; (at = header.find("transformer.")) != std::string::npos;)
    header.erase(at, 12);
  header.erase(header.find_last_of('}'));
  const auto end = std::to_string(data.size());
  header += R"(,"h.0.attn.bias":{"dtype":"U8","shape":[0],"data_offsets":[)";
  header += end + "," + end + "]}}";
  write("m.safetensors", with_length(header, data));
  const auto stored = open_safetensors(file, units);
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_EQ(read_all(*stored, units, 1000), weights);
}

TEST_F(SafetensorsTest, AnotherModelIsNamedByTensor) {
  const auto units = nn::network_units(tiny_gpt2());
  const auto weights = weights_of(units);
  const std::string file = path("m.safetensors");
  ASSERT_TRUE(write_safetensors(file, units, ElementType::f32, reader_of(weights)));
  const auto problem = [&](const nn::NetworkConfig& config) {
    const auto opened = open_safetensors(file, nn::network_units(config));
    return opened ? "" : opened.error().message();
  };
  const auto says = [&](const nn::NetworkConfig& config, std::string_view text) {
    EXPECT_NE(problem(config).find(text), std::string::npos) << problem(config);
  };
  nn::NetworkConfig other = tiny_gpt2();
  other.layers = 3;
  says(other, "tensor \"transformer.h.2.ln_1.weight\" is missing");
  other.layers = 1;
  says(other, "tensor \"transformer.h.1.attn.c_attn.bias\" is not of the model");
  other = tiny_gpt2();
  other.context = 7;
  says(other, "\"transformer.wpe.weight\" has the shape [6, 8], the model's is [7, 8]");
  says(tiny_llama(), "is missing");
  other = tiny_gpt2();
  other.padded_vocab = 32;
  EXPECT_EQ(problem(other), "");  // files hold no padding
}

TEST_F(SafetensorsTest, RefusesOffsetsThatTheFormatDoesNotAllow) {
  const std::string two = R"("dtype":"F32","shape":[2],"data_offsets":)";
  EXPECT_EQ(complaint_of(two + "[0,8]", 8), "");
  EXPECT_EQ(complaint("{}", 0), "");
  EXPECT_EQ(complaint_of(two + "[0,8]", 7),
            "byte 62: tensor \"a\" ends at byte 70, beyond the file's 69; the file is damaged or "
            "cut: write or copy it again");
  const auto says = [](const std::string& complaint, std::string_view text) {
    EXPECT_NE(complaint.find(text), std::string::npos) << complaint;
  };
  says(complaint_of(two + "[0,8]", 9), "byte 70: the tensors end here, but the file has 71 bytes");
  says(complaint_of(two + "[4,12]", 12), "tensor \"a\" leaves a hole of 4 bytes");
  says(complaint_of(two + "[8,0]", 8), "no begin and end");
  says(complaint_of(two + "[0]", 8), "no begin and end");
  says(complaint(
           "{\"a\":{" + two + R"([0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
       "tensor \"b\" overlaps");
}

TEST_F(SafetensorsTest, RefusesOtherFields) {
  const auto says = [](const std::string& complaint, std::string_view text) {
    EXPECT_NE(complaint.find(text), std::string::npos) << complaint;
  };
  const std::string end = R"(,"data_offsets":[0,8])";
  says(complaint_of(R"("dtype":"F32","shape":[3])" + end, 8), "has 8 bytes, but F32 [3] needs 12");
  says(complaint_of(R"("dtype":"F32","shape":[4611686018427387904,4])" + end, 8),
       "needs more than any file has");
  says(complaint_of(R"("dtype":"F32","shape":[-1])" + end, 8), "shape");
  says(complaint_of(R"("dtype":"F31","shape":[2])" + end, 8), "dtype \"F31\" is not known");
  says(complaint_of(R"("dtype":"F32","shape":[2],"x":1)" + end, 8), "field \"a.x\"");
  says(complaint(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{}})", 0),
       "given twice");
  says(complaint(R"({"a":7})", 0), "no object");
  says(complaint(R"({"a")", 0), "not JSON");
  says(complaint(R"([])", 0), "no JSON object");
}

TEST_F(SafetensorsTest, RefusesImpossibleLengths) {
  for (const std::string& text :
       {std::string(), std::string("1234567"), std::string(8, '\xff') + "{}",
        std::string("\x03\0\0\0\0\0\0\0{}", 10)}) {
    const auto read = read_safetensors_header(write("short", text));
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message().find("is no safetensors file"), std::string::npos);
  }
}

TEST_F(SafetensorsTest, ATypeThatCannotBeReadIsNamed) {
  const std::string file = write(
      "a", with_length(R"({"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})", "12345678"));
  const nn::Unit unit{.name = "all", .parameters = {vector_of("a", 0, 2)}, .count = 2};
  const auto opened = open_safetensors(file, {unit});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("tensor \"a\" is I32; F32, BF16 and F16 can be read"),
            std::string::npos);
}

TEST_F(SafetensorsTest, AFullDiskLeavesTheOldFile) {
  const TinyDisk disk(path("disk"), 8192);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const auto units = nn::network_units(tiny_gpt2());
  const auto weights = weights_of(units);
  const std::string file = write("disk/m.safetensors", "old");
  const auto written = write_safetensors(file, units, ElementType::f32, reader_of(weights));
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find("free space"), std::string::npos);
  EXPECT_EQ(bytes_of(file), "old");
  EXPECT_FALSE(std::filesystem::exists(file + ".tmp"));
}

// Every pattern against the definition in doubles: (-1)^s 2^(e-15) (1 + f/1024).
TEST(StoredWeights, ConvertsHalfPrecisionExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>(bits >> 10U & 31U);
    const double fraction = static_cast<double>(bits & 1023U) / 1024;
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const float got = float_of_half(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::signbit(got), sign < 0) << bits;
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(got), fraction > 0);
      ASSERT_EQ(std::isinf(got), fraction == 0);
      continue;
    }
    const double expected =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    ASSERT_EQ(static_cast<double>(got), sign * expected) << bits;
  }
}

}  // namespace
}  // namespace stepscope::zero
