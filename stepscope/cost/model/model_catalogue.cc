// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/cost/model/model_data.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/nearest_names.h"

namespace stepscope {
namespace {

std::vector<Transformer> parse_catalogue() {
  std::vector<Transformer> models;
  for (const ModelText& text : model_texts()) {
    Result<Transformer> model = parse_model(text.json, text.file);
    check(model.has_value(), model ? "a model file" : "data/models/" + model.error().message());
    models.push_back(*std::move(model));
  }
  return models;
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return low;
}

}  // namespace

std::span<const Transformer> model_catalogue() {
  static const std::vector<Transformer> models = parse_catalogue();
  return models;
}

Result<Transformer> find_model(const std::string& name) {
  const std::string low = lower(name);
  for (const Transformer& m : model_catalogue()) {
    if (m.name == low) return m;
  }
  if (name.ends_with(".json") || name.find('/') != std::string::npos) return read_model(name);
  std::vector<std::string_view> names;
  for (const Transformer& m : model_catalogue()) names.push_back(m.name);
  constexpr std::size_t longest = 200;  // of what is still printed
  return Error{.what = "no model \"" + name.substr(0, longest) + "\" in the catalogue",
               .hint = "did you mean " + nearest_names(name, names) +
                       "? A file (ours or a Hugging Face config.json) ends with .json"};
}

}  // namespace stepscope
