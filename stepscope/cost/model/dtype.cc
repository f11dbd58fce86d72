// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/dtype.h"

#include <string>

namespace stepscope {
namespace {

struct Spelling {
  std::string_view text;
  Dtype dtype;
};
constexpr std::array spellings = {
    Spelling{"double", Dtype::fp64},   Spelling{"float64", Dtype::fp64},
    Spelling{"float", Dtype::fp32},    Spelling{"float32", Dtype::fp32},
    Spelling{"half", Dtype::fp16},     Spelling{"float16", Dtype::fp16},
    Spelling{"bfloat16", Dtype::bf16},
};

std::string plain(std::string_view text) {
  for (const std::string_view prefix : {"c10::", "at::", "torch."}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  std::string low(text);
  for (char& c : low) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return low;
}

}  // namespace

std::optional<Dtype> parse_dtype(std::string_view text) {
  const std::string low = plain(text);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (low == dtype_names[i]) return static_cast<Dtype>(i);
  }
  for (const Spelling& s : spellings) {
    if (low == s.text) return s.dtype;
  }
  if (low.starts_with("float8_")) return Dtype::fp8;
  if (low.starts_with("float4_")) return Dtype::fp4;
  return std::nullopt;
}

}  // namespace stepscope
