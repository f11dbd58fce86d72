// SPDX-License-Identifier: Apache-2.0
// One function per family of Hugging Face models. Each reads a config.json as a Transformer.
#pragma once

#include <string_view>

#include "stepscope/base/json_reader.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope::hugging_face {

// Bounds for reading; check_model has the true bounds.
inline constexpr IntegerRange size_range{1, std::int64_t{1} << 40};
inline constexpr IntegerRange count_range{0, std::int64_t{1} << 40};

// "silu", "gelu_new", ...: activations of equal cost are one.
Activation activation(JsonFields& in, std::string_view key, std::string_view otherwise);
// Probabilities of dropout in attention and on the residual branches. They must be equal.
double dropout(JsonFields& in, std::string_view attention, std::string_view residual,
               double otherwise);
// attention_dropout of models without other dropout: it must be 0.
void no_attention_dropout(JsonFields& in);
// hidden / heads if head_dim is absent.
std::int64_t head_size(JsonFields& in, const Transformer& m);
// A flag that must be false, because only then it costs nothing.
void must_be_false(JsonFields& in, std::string_view key);

void read_llama(JsonFields& in, Transformer& m);
void read_mistral(JsonFields& in, Transformer& m);
void read_mixtral(JsonFields& in, Transformer& m);
void read_qwen(JsonFields& in, Transformer& m);
void read_qwen2(JsonFields& in, Transformer& m);
void read_qwen2_moe(JsonFields& in, Transformer& m);
void read_qwen3(JsonFields& in, Transformer& m);
void read_qwen3_moe(JsonFields& in, Transformer& m);
void read_deepseek_v2(JsonFields& in, Transformer& m);
void read_deepseek_v3(JsonFields& in, Transformer& m);
void read_gpt2(JsonFields& in, Transformer& m);
void read_gpt_neox(JsonFields& in, Transformer& m);
void read_bloom(JsonFields& in, Transformer& m);
void read_mpt(JsonFields& in, Transformer& m);
void read_bert(JsonFields& in, Transformer& m);
void read_vit(JsonFields& in, Transformer& m);

}  // namespace stepscope::hugging_face
