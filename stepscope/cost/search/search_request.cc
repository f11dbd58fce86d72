// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_request.h"

#include <algorithm>
#include <span>
#include <string>

#include "stepscope/base/nearest_names.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 2> flag_names = {"false", "true"};

std::string list(Names names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

// Empty: the key has numbers as values.
Names values_of(SearchKey key) {
  switch (key) {
    case SearchKey::tensor_layout:
      return tensor_layout_names;
    case SearchKey::context_exchange:
      return context_exchange_names;
    case SearchKey::schedule:
      return schedule_names;
    case SearchKey::recompute:
      return recompute_names;
    case SearchKey::optimizer_at:
    case SearchKey::gradients_at:
    case SearchKey::parameters_at:
      return residence_names;
    case SearchKey::sequence_parallel:
    case SearchKey::reduce_each_micro_batch:
      return flag_names;
    default:
      return {};
  }
}

Result<std::size_t> key_named(std::string_view name) {
  const auto* const found = std::ranges::find(search_key_names, name);
  if (found != search_key_names.end()) {
    return static_cast<std::size_t>(found - search_key_names.begin());
  }
  return Error{.what = "the search does not vary \"" + std::string(name) + "\"",
               .hint = "did you mean " + nearest_names(name, search_key_names) + "?"};
}

Result<std::int64_t> value_of(std::size_t key, std::string_view text) {
  const Names names = values_of(static_cast<SearchKey>(key));
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return found - names.begin();
  const std::string what = std::string(search_key_names[key]) + " = \"" + std::string(text) + "\"";
  if (!names.empty()) return Error{.what = what + " is unknown", .hint = "take " + list(names)};
  const bool may_be_none = key == static_cast<std::size_t>(SearchKey::zero) ||
                           key == static_cast<std::size_t>(SearchKey::shard_group);
  const auto value = number_of<std::int64_t>(text);
  if (value && *value >= (may_be_none ? 0 : 1)) return *value;
  return Error{.what = what + " is no whole number from " + (may_be_none ? "0" : "1"), .hint = ""};
}

}  // namespace

Result<Done> fix(SearchRequest& request, std::string_view key, std::string_view value) {
  const auto at = key_named(key);
  if (!at) return at.error();
  const auto number = value_of(*at, value);
  if (!number) return number.error();
  request.fixed[*at] = *number;
  return Done{};
}

Result<Done> limit(SearchRequest& request, std::string_view key, std::string_view value) {
  const auto at = key_named(key);
  if (!at) return at.error();
  if (!values_of(static_cast<SearchKey>(*at)).empty()) {
    return Error{.what = std::string(key) + " has no largest value", .hint = "fix it instead"};
  }
  const auto number = value_of(*at, value);
  if (!number) return number.error();
  request.most[*at] = *number;
  return Done{};
}

std::vector<std::int64_t> device_range(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> counts;
  for (std::int64_t n = std::max<std::int64_t>(1, from); n < to; n *= 2) counts.push_back(n);
  counts.push_back(to);
  return counts;
}

}  // namespace stepscope
