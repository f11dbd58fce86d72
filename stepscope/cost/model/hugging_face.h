// SPDX-License-Identifier: Apache-2.0
// The config.json of a Hugging Face model as a Transformer: Llama, Mistral, Mixtral, Qwen (1, 2,
// 2.5, 3 and their mixtures), GPT-2, GPT-NeoX, BLOOM, MPT, DeepSeek V2 and V3, BERT, ViT. Sizes
// must be there; other absent keys take the defaults of that library's configuration classes. A key
// that is neither understood nor known to cost nothing is an error that names it.
#pragma once

#include <string_view>

#include "stepscope/base/json_reader.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// Whether an object is such a config: it says its "model_type" or "architectures".
[[nodiscard]] bool is_hugging_face(const JsonValue& root);

// `json` is the text that `root` was parsed from, `path` appears in messages. What is left out of
// the model (a quantized checkpoint, prediction layers) is said in `notes`.
[[nodiscard]] Result<Transformer> hugging_face_model(const JsonValue& root, std::string_view json,
                                                     std::string_view path);

}  // namespace stepscope
