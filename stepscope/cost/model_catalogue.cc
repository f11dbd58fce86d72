// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "stepscope/cost/model_data.h"
#include "stepscope/cost/model_json.h"

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

// Letters to insert, delete or replace (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The three nearest names of the catalogue, "a, b or c".
std::string suggestions(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const Transformer& m : model_catalogue()) near.emplace_back(distance(name, m.name), m.name);
  std::ranges::sort(near);
  std::string list;
  for (std::size_t i = 0; i < near.size() && i < 3; ++i) {
    if (i > 0) list += i == 2 ? " or " : ", ";
    list.append(near[i].second);
  }
  return list;
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
  constexpr std::size_t longest = 200;  // of what is still compared and printed
  return Error{.what = "no model \"" + name.substr(0, longest) + "\" in the catalogue",
               .hint = "did you mean " + suggestions(std::string_view(low).substr(0, longest)) +
                       "? A file (ours or a Hugging Face config.json) ends with .json"};
}

}  // namespace stepscope
