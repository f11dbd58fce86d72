// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/plain_value.h"

#include <array>
#include <bit>

#include "stepscope/base/json_reader.h"

namespace stepscope {
namespace {

class JsonCopy {
 public:
  explicit JsonCopy(PlainTree& tree) : tree_(tree) {}

  // parse_json bounds the nesting.
  std::uint32_t value(const JsonValue& json) {
    switch (json.kind) {
      case JsonValue::Kind::null:
        return add({});
      case JsonValue::Kind::boolean:
        return add({.word = json.boolean ? 1U : 0U, .count = 0, .kind = PlainKind::boolean});
      case JsonValue::Kind::integer:
        return add({.word = std::bit_cast<std::uint64_t>(json.integer),
                    .count = 0,
                    .kind = PlainKind::integer});
      case JsonValue::Kind::number:
        return add({.word = std::bit_cast<std::uint64_t>(json.number),
                    .count = 0,
                    .kind = PlainKind::real});
      case JsonValue::Kind::text:
        return text(json.text);
      case JsonValue::Kind::list:
      case JsonValue::Kind::object:
        return items(json);
    }
    return 0;
  }

 private:
  std::uint32_t add(PlainNode node) {
    tree_.nodes.push_back(node);
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }
  std::uint32_t text(std::string_view words) {
    const std::uint64_t at = tree_.text.size();
    tree_.text += words;
    return add(
        {.word = at, .count = static_cast<std::uint32_t>(words.size()), .kind = PlainKind::text});
  }
  std::uint32_t items(const JsonValue& json) {
    const bool object = json.kind == JsonValue::Kind::object;
    std::vector<std::uint32_t> inner;
    inner.reserve(json.items.size() * (object ? 2 : 1));
    for (std::size_t i = 0; i < json.items.size(); ++i) {
      if (object) inner.push_back(text(json.keys[i]));
      inner.push_back(value(json.items[i]));
    }
    const std::uint64_t at = tree_.children.size();
    tree_.children.insert(tree_.children.end(), inner.begin(), inner.end());
    return add({.word = at,
                .count = static_cast<std::uint32_t>(json.items.size()),
                .kind = object ? PlainKind::dict : PlainKind::list});
  }

  PlainTree& tree_;
};

}  // namespace

std::string_view name_of(PlainKind kind) {
  constexpr std::array<std::string_view, 9> names = {"none",  "bool", "int",   "float", "text",
                                                     "bytes", "list", "tuple", "dict"};
  return names[static_cast<std::size_t>(kind)];
}

PlainValue PlainTree::value() const { return {*this, root}; }

std::optional<bool> PlainValue::boolean() const {
  if (kind() != PlainKind::boolean) return std::nullopt;
  return node().word != 0;
}

std::optional<double> PlainValue::real() const {
  if (kind() == PlainKind::real) return std::bit_cast<double>(node().word);
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<std::string_view> PlainValue::text() const {
  if (kind() != PlainKind::text && kind() != PlainKind::bytes) return std::nullopt;
  return std::string_view(tree_->text).substr(node().word, node().count);
}

std::optional<PlainValue> PlainValue::find(std::string_view wanted) const {
  if (kind() != PlainKind::dict) return std::nullopt;
  for (std::size_t i = size(); i-- > 0;)
    if (key(i).text() == wanted) return (*this)[i];
  return std::nullopt;
}

PlainTree plain_tree(const JsonValue& json) {
  PlainTree tree;
  tree.root = JsonCopy(tree).value(json);
  return tree;
}

}  // namespace stepscope
