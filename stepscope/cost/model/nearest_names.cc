// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/nearest_names.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace stepscope {
namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower_letter(a[i]) == lower_letter(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_names(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 200;
  name = name.substr(0, longest);
  const auto begins = [&](std::string_view k) {
    return std::ranges::equal(k.substr(0, name.size()), name, {}, lower_letter, lower_letter);
  };
  std::vector<std::tuple<bool, std::size_t, std::string_view>> near;
  for (const std::string_view k : known)
    near.emplace_back(!begins(k), distance(name, k.substr(0, longest)), k);
  std::ranges::sort(near);
  const std::size_t count = std::min<std::size_t>(near.size(), 3);
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) list += i + 1 == count ? " or " : ", ";
    list += std::get<2>(near[i]);
  }
  return list;
}

}  // namespace stepscope
