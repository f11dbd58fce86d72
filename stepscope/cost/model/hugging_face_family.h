// SPDX-License-Identifier: Apache-2.0
// One function per family of Hugging Face models. Each reads a config.json as a Transformer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

// Keys with the same name and meaning in all models that are built like Llama. `dense`: the width
// of a dense feed-forward part is required.
void read_common(JsonFields& in, Transformer& m, bool dense = true);
// The word of a layer's type in a config, and its letter in a pattern.
struct LayerWord {
  std::string_view word;
  char letter;
};
// Lists of one entry per layer. beyond: further entries are those of layers of multi-token
// prediction.
enum class ListLength : std::uint8_t { layers, beyond };
// A list of one word per layer as the model's pattern. An absent list leaves the pattern.
void read_types(JsonFields& in, std::string_view key, std::span<const LayerWord> words,
                Transformer& m, ListLength length = ListLength::layers);
// "layer_types" of full and sliding attention.
void read_layer_types(JsonFields& in, Transformer& m, std::int64_t window,
                      ListLength length = ListLength::layers);
// A list of "dense" and "sparse" as the layers without experts. An absent list leaves them.
void read_dense_layers(JsonFields& in, std::string_view key, Transformer& m);
// These layers, in order, as those without experts. REQUIRES: m.experts.
void set_dense_layers(Transformer& m, std::vector<std::int64_t> dense);
// Multi-head latent attention by DeepSeek's keys.
void read_latent(JsonFields& in, Transformer& m);
// Says that layers of multi-token prediction are left out, if the config has some.
void note_prediction(JsonFields& in, Transformer& m);

// The encoder of images of Qwen 3.5, whose merger ends in the model's stream.
void read_qwen_tower(JsonFields& in, Transformer& m);

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
void read_deepseek_v4(JsonFields& in, Transformer& m);
void read_glm4_moe(JsonFields& in, Transformer& m);
void read_glm_moe_dsa(JsonFields& in, Transformer& m);
void read_gpt_oss(JsonFields& in, Transformer& m);
void read_minimax_m2(JsonFields& in, Transformer& m);
void read_minimax_m3(JsonFields& in, Transformer& m);
void read_step3(JsonFields& in, Transformer& m);
void read_gemma2(JsonFields& in, Transformer& m);
void read_gemma3(JsonFields& in, Transformer& m);
void read_kimi_linear(JsonFields& in, Transformer& m);
void read_nemotron_h(JsonFields& in, Transformer& m);
void read_qwen3_5(JsonFields& in, Transformer& m);
void read_qwen3_5_moe(JsonFields& in, Transformer& m);
void read_gpt2(JsonFields& in, Transformer& m);
void read_gpt_neox(JsonFields& in, Transformer& m);
void read_bloom(JsonFields& in, Transformer& m);
void read_mpt(JsonFields& in, Transformer& m);
void read_bert(JsonFields& in, Transformer& m);
void read_vit(JsonFields& in, Transformer& m);

}  // namespace stepscope::hugging_face
