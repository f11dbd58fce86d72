// SPDX-License-Identifier: Apache-2.0
// Reads the config.json of a Hugging Face model as a Transformer: Llama, Mistral, Mixtral, Qwen (1,
// 2, 2.5, 3 and their mixtures), GPT-2, GPT-NeoX, BLOOM, MPT, DeepSeek V2 and V3, BERT, ViT. Sizes
// are required. Other absent keys take the defaults of that library's configuration classes. A key
// that is neither understood nor known to cost nothing is an error that names it.
#pragma once

#include <string_view>

#include "stepscope/base/json_reader.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// True if an object is such a config: it has "model_type" or "architectures".
[[nodiscard]] bool is_hugging_face(const JsonValue& root);

// `json` is the text of `root`; `path` appears in messages. `notes` lists the parts left out of the
// model (a quantized checkpoint, prediction layers).
[[nodiscard]] Result<Transformer> hugging_face_model(const JsonValue& root, std::string_view json,
                                                     std::string_view path);

}  // namespace stepscope
