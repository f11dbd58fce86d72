// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/plain_value.h"

#include <array>
#include <bit>

namespace stepscope {

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

}  // namespace stepscope
