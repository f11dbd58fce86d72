// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/nearest_names.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace stepscope {
namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// In small letters, without what separates words.
std::string letters_of(std::string_view name) {
  constexpr std::size_t longest = 200;
  std::string letters;
  for (const char c : name.substr(0, longest))
    if (c != '-' && c != '_' && c != ' ' && c != '.') letters += lower_letter(c);
  return letters;
}

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

// Names may be given without their last words ("h100_sxm" for "h100_sxm_80gb").
std::size_t distance_from(const std::string& letters, std::string_view known) {
  constexpr std::string_view between = "-_ .";
  std::size_t least = distance(letters, letters_of(known));
  for (std::size_t end = known.find_first_of(between); end != std::string_view::npos;
       end = known.find_first_of(between, end + 1))
    least = std::min(least, distance(letters, letters_of(known.substr(0, end))) + 1);
  return least;
}

}  // namespace

std::string nearest_names(std::string_view name, std::span<const std::string_view> known) {
  const std::string letters = letters_of(name);
  std::vector<std::tuple<bool, std::size_t, std::string_view>> near;
  for (const std::string_view k : known) {
    const std::string other = letters_of(k);
    near.emplace_back(!other.starts_with(letters), distance_from(letters, k), k);
  }
  std::ranges::sort(near);
  // Where one name is surely meant, names that are farther are not.
  const std::size_t nearest = near.empty() ? 0 : std::get<1>(near.front());
  if (2 * nearest <= letters.size())
    std::erase_if(near, [&](const auto& n) { return std::get<1>(n) > 2 * nearest; });
  const std::size_t count = std::min<std::size_t>(near.size(), 3);
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) list += i + 1 == count ? " or " : ", ";
    list += std::get<2>(near[i]);
  }
  return list;
}

}  // namespace stepscope
