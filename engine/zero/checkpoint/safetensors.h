// SPDX-License-Identifier: Apache-2.0
// One file of weights in the safetensors format (huggingface/safetensors, README "Format"): u64
// length of the header, the header in JSON, then the tensors. Names and orientation are those of
// Hugging Face's models. GPT-2's block matrices (Conv1D) are stored transposed, [in, out]. Rows
// that pad stepscope's vocabulary are not stored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/nn/network/units.h"
#include "engine/zero/checkpoint/stored_weights.h"
#include "stepscope/base/element.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct SafetensorsTensor {
  std::string name{};
  std::string dtype{};  // as written: "F32", "BF16", ...
  std::vector<std::int64_t> shape{};
  std::uint64_t begin = 0;  // in the file
  std::uint64_t end = 0;
};
struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors{};  // in the file's order
  std::map<std::string, std::string> metadata{};
};

// The longest accepted header, as in the format's own reader.
inline constexpr std::uint64_t most_safetensors_header = 100'000'000;

// Parses the header of a file of `file_bytes` bytes. Strict: bad syntax, unknown fields, and
// offsets that overlap, leave holes, do not fit dtype and shape or exceed the file are errors.
// Errors name the tensor and the byte of the file.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                                 std::uint64_t file_bytes,
                                                                 std::string_view path);
// Reads the header from the file.
[[nodiscard]] Result<SafetensorsHeader> read_safetensors_header(const std::string& path);

// Finds the tensors of these units in a file: F32, BF16 or F16. Every parameter must be present in
// its shape. The only other tensors allowed are the usual buffers and copies: GPT-2's "attn.bias"
// and "attn.masked_bias", rotary "inv_freq", the copy "lm_head.weight" of a tied table. Names may
// lack the first part ("transformer.", "model."), as in files of a model without a head.
[[nodiscard]] Result<StoredWeights> open_safetensors(const std::string& path,
                                                     const std::vector<nn::Unit>& units);

// Writes all parameters as f32 or bf16. The file at `path` appears complete or not at all.
[[nodiscard]] Result<Done> write_safetensors(const std::string& path,
                                             const std::vector<nn::Unit>& units, ElementType type,
                                             const ReadWeights& weights);

}  // namespace stepscope::zero
