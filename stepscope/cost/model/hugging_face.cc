// SPDX-License-Identifier: Apache-2.0
// Entry point: finds the family of a config, reads the keys common to all families, and knows the
// keys that cost nothing.
#include "stepscope/cost/model/hugging_face.h"

#include <algorithm>
#include <array>

#include "stepscope/cost/model/hugging_face_family.h"

namespace stepscope {
namespace hugging_face {
namespace {

struct Family {
  std::string_view model_type;
  void (*read)(JsonFields&, Transformer&);
};
constexpr std::array families = {Family{"llama", &read_llama},
                                 Family{"mistral", &read_mistral},
                                 Family{"mixtral", &read_mixtral},
                                 Family{"qwen", &read_qwen},
                                 Family{"qwen2", &read_qwen2},
                                 Family{"qwen2_moe", &read_qwen2_moe},
                                 Family{"qwen3", &read_qwen3},
                                 Family{"qwen3_moe", &read_qwen3_moe},
                                 Family{"deepseek_v2", &read_deepseek_v2},
                                 Family{"deepseek_v3", &read_deepseek_v3},
                                 Family{"deepseek_v4", &read_deepseek_v4},
                                 Family{"kimi_k2", &read_deepseek_v3},
                                 Family{"glm4_moe", &read_glm4_moe},
                                 Family{"glm_moe_dsa", &read_glm_moe_dsa},
                                 Family{"gpt_oss", &read_gpt_oss},
                                 Family{"minimax_m2", &read_minimax_m2},
                                 Family{"minimax_m3_vl_text", &read_minimax_m3},
                                 Family{"step3p5", &read_step3},
                                 Family{"step3p7_text", &read_step3},
                                 Family{"gemma2", &read_gemma2},
                                 Family{"gemma3_text", &read_gemma3},
                                 Family{"kimi_linear", &read_kimi_linear},
                                 Family{"nemotron_h", &read_nemotron_h},
                                 Family{"qwen3_next", &read_qwen3_5_moe},
                                 Family{"qwen3_5_text", &read_qwen3_5},
                                 Family{"qwen3_5_moe_text", &read_qwen3_5_moe},
                                 Family{"gpt2", &read_gpt2},
                                 Family{"gpt_neox", &read_gpt_neox},
                                 Family{"bloom", &read_bloom},
                                 Family{"mpt", &read_mpt},
                                 Family{"bert", &read_bert},
                                 Family{"vit", &read_vit}};

// Keys of any family without cost: bookkeeping, text generation, and numerics of operations that
// exist anyway.
constexpr std::array<std::string_view, 56> costless = {"_name_or_path",
                                                       "_attn_implementation",
                                                       "attn_implementation",
                                                       "_attn_implementation_autoset",
                                                       "_commit_hash",
                                                       "transformers_version",
                                                       "transformers.js_config",
                                                       "auto_map",
                                                       "torch_dtype",
                                                       "dtype",
                                                       "bos_token_id",
                                                       "eos_token_id",
                                                       "pad_token_id",
                                                       "sep_token_id",
                                                       "cls_token_id",
                                                       "unk_token_id",
                                                       "use_cache",
                                                       "return_dict",
                                                       "output_attentions",
                                                       "output_hidden_states",
                                                       "torchscript",
                                                       "gradient_checkpointing",
                                                       "initializer_range",
                                                       "rms_norm_eps",
                                                       "norm_eps",
                                                       "layer_norm_eps",
                                                       "layer_norm_epsilon",
                                                       "layernorm_epsilon",
                                                       "rope_theta",
                                                       "rope_scaling",
                                                       "rope_parameters",
                                                       "partial_rotary_factor",
                                                       "rotary_pct",
                                                       "rotary_emb_base",
                                                       "pretraining_tp",
                                                       "max_position_embeddings",
                                                       "task_specific_params",
                                                       "tokenizer_class",
                                                       "tokenizer_type",
                                                       "problem_type",
                                                       "label2id",
                                                       "id2label",
                                                       "num_labels",
                                                       "finetuning_task",
                                                       "temperature",
                                                       "top_p",
                                                       "max_length",
                                                       "do_sample",
                                                       "original_max_position_embeddings",
                                                       "unsloth_fixed",
                                                       "unsloth_version",
                                                       "output_router_logits",
                                                       "router_aux_loss_coef",
                                                       "router_jitter_noise",
                                                       "norm_topk_prob",
                                                       "classifier_dropout"};

// Suffixes of classes that train on the vocabulary or on a ViT's classes.
constexpr std::array<std::string_view, 6> trained_heads = {"ForCausalLM",
                                                           "LMHeadModel",
                                                           "ForPreTraining",
                                                           "ForMaskedLM",
                                                           "ForImageClassification",
                                                           "ForConditionalGeneration"};

void check_architecture(JsonFields& in) {
  for (const std::string& name : in.texts("architectures")) {
    const bool known = std::ranges::any_of(
        trained_heads, [&name](std::string_view end) { return name.ends_with(end); });
    // BertModel and similar classes: no head at all.
    if (known || name.ends_with("Model")) continue;
    in.fail("architectures", "has " + name + ", whose head is not known",
            "use one of language modelling (...ForCausalLM, LMHeadModel, ForMaskedLM, "
            "ForPreTraining, ForConditionalGeneration) or ForImageClassification");
  }
}

std::string known_families() {
  std::string list;
  for (const Family& f : families) {
    if (!list.empty()) list += ", ";
    list.append(f.model_type);
  }
  return list;
}

void note_leftovers(JsonFields& in, Transformer& m) {
  if (in.find("quantization_config") != nullptr) {
    m.notes.emplace_back(
        "quantization_config describes the checkpoint; the plan says what training computes in");
  }
}

// The reader of an encoder's config; null if it is not modelled.
void (*tower_of(const JsonValue& config))(JsonFields&, Transformer&) {
  const JsonValue* type = config.find("model_type");
  const bool text = type != nullptr && type->kind == JsonValue::Kind::text;
  return text && type->text.starts_with("qwen3_5") ? &read_qwen_tower : nullptr;
}

// Towers for images and sound, and the tokens that stand for them.
void note_inputs(JsonFields& whole, Transformer& m) {
  whole.find("text_config");
  for (const std::string_view tower : {"vision_config", "audio_config"}) {
    const JsonValue* given = whole.find(tower);
    if (given == nullptr || tower_of(*given) != nullptr) continue;
    m.notes.emplace_back(std::string(tower) +
                         ": the encoder is left out; this is the language model");
  }
  constexpr std::array<std::string_view, 14> costless = {
      "image_token_id",        "video_token_id",
      "vision_start_token_id", "vision_end_token_id",
      "image_token_index",     "video_token_index",
      "boi_token_index",       "eoi_token_index",
      "mm_tokens_per_image",   "language_model_only",
      "tie_word_embeddings",   "projector_hidden_size",
      "projector_hidden_act",  "media_placeholder_token_id"};
  whole.ignore(costless);
}

}  // namespace

Activation activation(JsonFields& in, std::string_view key, std::string_view otherwise) {
  const std::string name = in.text(key, std::string(otherwise));
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "relu") return Activation::relu;
  if (name.starts_with("gelu") || name == "quick_gelu") return Activation::gelu;
  in.fail(key, "is \"" + name + "\", an activation that is not known",
          "use silu, relu, gelu or a variant of gelu");
  return Activation::gelu;
}

double dropout(JsonFields& in, std::string_view attention, std::string_view residual,
               double otherwise) {
  const double a = in.number(attention, 0, 1, otherwise);
  if (a != in.number(residual, 0, 1, otherwise)) {
    in.fail(residual, "differs from \"" + std::string(attention) + "\"",
            "dropout is modelled in attention and on both residual branches, or nowhere: make them "
            "the same");
  }
  return a;
}

void no_attention_dropout(JsonFields& in) {
  if (in.number("attention_dropout", 0, 1, 0) == 0) return;
  in.fail("attention_dropout", "is not 0, but this family has no dropout elsewhere",
          "dropout in attention alone is not modelled: set it to 0, or describe the model in "
          "stepscope's own JSON with dropout");
}

std::int64_t head_size(JsonFields& in, const Transformer& m) {
  if (const auto given = in.optional_integer("head_dim", size_range)) return *given;
  if (m.heads > 0 && m.hidden % m.heads == 0) return m.hidden / m.heads;
  in.fail("num_attention_heads", "does not divide hidden_size, and there is no head_dim");
  return 1;
}

void must_be_false(JsonFields& in, std::string_view key) {
  if (in.flag(key, false)) in.fail(key, "is true, which is not modelled");
}

}  // namespace hugging_face

bool is_hugging_face(const JsonValue& root) {
  return root.find("model_type") != nullptr || root.find("architectures") != nullptr;
}

Result<Transformer> hugging_face_model(const JsonValue& root, std::string_view json,
                                       std::string_view path) {
  using namespace hugging_face;
  JsonProblems problems(json, path);
  JsonFields whole(root, "", problems, true);
  std::string type = whole.text("model_type");
  Transformer m;
  // Models of several kinds of input keep the language model's sizes in a part.
  const JsonValue* text = root.find("text_config");
  const bool nested = text != nullptr && text->kind == JsonValue::Kind::object;
  JsonFields in = nested ? whole.inner("text_config", *text) : whole;
  if (nested) {
    type = in.text("model_type", type + "_text");
    note_inputs(whole, m);
  }
  const auto family = std::ranges::find(families, std::string_view(type), &Family::model_type);
  if (family == families.end()) {
    in.fail("model_type", "is \"" + type + "\", a family that is not known",
            "known are " + known_families() +
                "; any other can be described in stepscope's own JSON (docs/reference/models.md)");
    return *problems.error();
  }
  const JsonValue* name = root.find("_name_or_path");
  const bool named = name != nullptr && name->kind == JsonValue::Kind::text && !name->text.empty();
  m.name = named ? name->text : type;
  m.source = path;
  check_architecture(nested ? whole : in);
  family->read(in, m);
  const JsonValue* images = nested ? root.find("vision_config") : nullptr;
  if (images != nullptr && tower_of(*images) != nullptr) {
    JsonFields tower = whole.inner("vision_config", *images);
    tower_of (*images)(tower, m);
    tower.ignore(costless);
    tower.finish("is not understood for an encoder of images and may change the cost");
  }
  note_leftovers(in, m);
  in.ignore(costless);
  if (nested) {
    whole.ignore(costless);
    whole.finish("is not understood for \"" + type + "\" and may change the cost",
                 "take it out if it costs nothing; otherwise describe the model in stepscope's own "
                 "JSON (docs/reference/models.md)");
  }
  in.finish("is not understood for \"" + type + "\" and may change the cost",
            "take it out if it costs nothing; otherwise describe the model in stepscope's own JSON "
            "(docs/reference/models.md)");
  if (problems.error()) return *problems.error();
  if (const Result<Done> checked = check_model(m); !checked) {
    Error error = checked.error();
    error.file = path;
    return error;
  }
  return m;
}

}  // namespace stepscope
