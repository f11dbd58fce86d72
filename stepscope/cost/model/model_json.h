// SPDX-License-Identifier: Apache-2.0
// Models as files: our own JSON (docs/reference/models.md), whose keys are the fields of
// Transformer, or the config.json of a Hugging Face model, recognised by its "model_type" or
// "architectures". The catalogue is data (data/models/*.json, each with its source) and is part of
// the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// Parses a text in either format. Absent fields of our own JSON take the defaults of Transformer,
// kv_heads = heads and head_size = hidden / heads. Errors name `path`, line, column and field: a
// syntax error, an unknown field, a wrong type or range, contradicting sizes, or a given
// "parameters" that does not match the sizes.
[[nodiscard]] Result<Transformer> parse_model(std::string_view json, std::string_view path);
// Reads a file (--model FILE).
[[nodiscard]] Result<Transformer> read_model(const std::string& path);

// The model in our own JSON, which parse_model reads back unchanged. Ends with a line feed.
[[nodiscard]] std::string model_json(const Transformer& model);

// Every model of data/models, by file name. Lives as long as the program.
[[nodiscard]] std::span<const Transformer> model_catalogue();

// The catalogue's model of that name (case does not matter) or of that repository of Hugging Face
// ("meta-llama/Meta-Llama-3-70B"), or a file if `name` ends with .json or contains a slash. An
// unknown name is an error that suggests the nearest names.
[[nodiscard]] Result<Transformer> find_model(const std::string& name);

}  // namespace stepscope
