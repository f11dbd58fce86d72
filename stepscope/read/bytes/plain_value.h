// SPDX-License-Identifier: Apache-2.0
// Plain data of JSON and pickles: none, bool, int, float, text, bytes, list, tuple and dict, as one
// flat tree. A value that a pickle's memo shares is one node with several parents, so walkers cache
// costly results by id(). No node contains itself.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

enum class PlainKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  bytes,
  list,
  tuple,
  dict
};
[[nodiscard]] std::string_view name_of(PlainKind kind);

// One value, 16 bytes.
struct PlainNode {
  std::uint64_t word = 0;   // bits of a number; start of a text in `text`, of items in `children`
  std::uint32_t count = 0;  // bytes of a text; items of a list or tuple; pairs of a dict
  PlainKind kind = PlainKind::none;
};

class PlainValue;

struct PlainTree {
  std::string text{};                     // the input, followed by decoded escapes
  std::vector<PlainNode> nodes{};         // never empty after reading
  std::vector<std::uint32_t> children{};  // items; of a dict key, value, key, value, …
  std::uint32_t root = 0;
  std::uint64_t wide_integers = 0;   // beyond 64 bits: stored as the nearest real
  std::uint64_t trailing_bytes = 0;  // bytes of the input behind the value

  [[nodiscard]] PlainValue value() const;
};

// A view of one value. Valid while its tree is neither moved nor destroyed.
class PlainValue {
 public:
  PlainValue(const PlainTree& tree, std::uint32_t node) : tree_(&tree), node_(node) {}

  [[nodiscard]] PlainKind kind() const { return node().kind; }
  [[nodiscard]] std::uint32_t id() const { return node_; }
  // nullopt for another kind; real() also accepts integers.
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (kind() != PlainKind::integer) return std::nullopt;
    return std::bit_cast<std::int64_t>(node().word);
  }
  [[nodiscard]] std::optional<double> real() const;
  [[nodiscard]] std::optional<std::string_view> text() const;  // of text and bytes
  // Lists and tuples: number of items. Dicts: number of pairs. Otherwise 0.
  [[nodiscard]] std::size_t size() const { return kind() >= PlainKind::list ? node().count : 0; }
  // Item i, or the value of pair i.
  [[nodiscard]] PlainValue operator[](std::size_t i) const {
    return child(kind() == PlainKind::dict ? node().word + 2 * i + 1 : node().word + i);
  }
  [[nodiscard]] PlainValue key(std::size_t i) const { return child(node().word + 2 * i); }
  // The value of the last pair with this text as key; nullopt if no pair has it or this is not a
  // dict.
  [[nodiscard]] std::optional<PlainValue> find(std::string_view key) const;

 private:
  [[nodiscard]] const PlainNode& node() const { return tree_->nodes[node_]; }
  [[nodiscard]] PlainValue child(std::uint64_t at) const { return {*tree_, tree_->children[at]}; }

  const PlainTree* tree_;
  std::uint32_t node_;
};

// Why a tree whose values may share parts is refused; empty: nothing in it is nested deeper.
[[nodiscard]] std::string nesting_problem(const PlainTree& tree, std::size_t deepest);

}  // namespace stepscope
