// SPDX-License-Identifier: Apache-2.0
// Models as files: our own JSON (docs/reference/models.md), whose keys are the fields of
// Transformer, or the config.json of a Hugging Face model, told apart by its "model_type" or
// "architectures". The catalogue is data (data/models/*.json, each with its source) and is part of
// the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// A text in either format. Absent fields of our own take the defaults of Transformer, kv_heads =
// heads and head_size = hidden / heads. Errors name `path`, line, column and field: a syntax error,
// an unknown field, one of another type or out of range, sizes that contradict each other, and
// "parameters", where it is given, that the sizes do not make.
[[nodiscard]] Result<Transformer> parse_model(std::string_view json, std::string_view path);
// The same from disk (--model FILE).
[[nodiscard]] Result<Transformer> read_model(const std::string& path);

// Our own JSON of a model, which parse_model reads back to the same. Ends with a line feed.
[[nodiscard]] std::string model_json(const Transformer& model);

// Every model of data/models, by file name. Lives as long as the program.
[[nodiscard]] std::span<const Transformer> model_catalogue();

// The catalogue's model of that name (case does not matter), or a file where `name` ends with .json
// or has a slash. An unknown name is an error that suggests the nearest ones.
[[nodiscard]] Result<Transformer> find_model(const std::string& name);

}  // namespace stepscope
