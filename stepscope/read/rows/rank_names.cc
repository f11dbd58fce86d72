// SPDX-License-Identifier: Apache-2.0
// A name is split into texts and numbers. Candidates are the positions where names differ only in a
// number.
#include "stepscope/read/rows/rank_names.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

struct Number {
  long long value = 0;
  bool behind_rank = false;  // "rank3", "rank_3", "rank-3"
};

bool ends_in_rank(std::string_view text) {
  while (!text.empty() &&
         (text.back() == '_' || text.back() == '-' || text.back() == '.' || text.back() == ' '))
    text.remove_suffix(1);
  if (text.size() < 4) return false;
  std::string word(text.substr(text.size() - 4));
  std::ranges::transform(word, word.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return word == "rank";
}

std::vector<Number> numbers_of(std::string_view name) {
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      ++i;
      continue;
    }
    Number number{0, ends_in_rank(name.substr(0, i))};
    for (; i < name.size() && is_digit(name[i]); ++i)
      number.value = std::min(number.value * 10 + (name[i] - '0'), 1'000'000'000'000LL);
    numbers.push_back(number);
  }
  return numbers;
}

using Names = std::vector<std::vector<Number>>;

std::vector<std::optional<int>> column(const Names& names, std::size_t place,
                                       std::optional<int> world_size, bool only_behind_rank) {
  std::vector<std::optional<int>> ranks;
  std::set<long long> distinct;
  bool behind_rank = true;
  for (const auto& numbers : names) {
    if (place >= numbers.size()) return {};
    const Number n = numbers[place];
    behind_rank = behind_rank && n.behind_rank;
    distinct.insert(n.value);
    if (n.value > 1'000'000) return {};
    ranks.emplace_back(static_cast<int>(n.value));
  }
  if (only_behind_rank && !behind_rank) return {};
  const bool below_world = world_size && *distinct.rbegin() < *world_size;
  const bool contiguous = distinct.size() == names.size() && *distinct.begin() == 0 &&
                          *distinct.rbegin() == static_cast<long long>(names.size()) - 1;
  const bool said = behind_rank && !world_size;
  if (distinct.size() < names.size() && !behind_rank) return {};
  return below_world || contiguous || said ? ranks : std::vector<std::optional<int>>{};
}

// Empty if these names give no ranks.
std::vector<std::optional<int>> ranks_of(const std::vector<std::string>& texts,
                                         std::optional<int> world_size) {
  Names names;
  std::size_t places = 0;
  for (const std::string& text : texts) {
    names.push_back(numbers_of(text));
    places = std::max(places, names.back().size());
  }
  for (const bool only_behind_rank : {true, false})
    for (std::size_t place = 0; place < places; ++place) {
      // With one file, only a number behind the word "rank" counts.
      if (!only_behind_rank && texts.size() < 2) continue;
      if (auto ranks = column(names, place, world_size, only_behind_rank); !ranks.empty())
        return ranks;
    }
  return {};
}

// The names of the directories at the innermost level where they differ; empty if they never
// differ.
std::vector<std::string> differing_directories(std::span<const std::string> paths) {
  std::vector<std::filesystem::path> places;
  for (const std::string& path : paths)
    places.push_back(std::filesystem::path(path).lexically_normal().parent_path());
  while (!places.empty()) {
    std::vector<std::string> names;
    for (std::filesystem::path& place : places) {
      names.push_back(place.filename().string());
      if (names.back().empty()) return {};
      place = place.parent_path();
    }
    if (std::ranges::adjacent_find(names, std::ranges::not_equal_to{}) != names.end()) return names;
  }
  return {};
}

}  // namespace

std::vector<std::optional<int>> ranks_from_names(std::span<const std::string> paths,
                                                 std::optional<int> world_size) {
  std::vector<std::string> files;
  for (const std::string& path : paths)
    files.push_back(std::filesystem::path(path).filename().string());
  auto ranks = ranks_of(files, world_size);
  if (ranks.empty()) ranks = ranks_of(differing_directories(paths), world_size);
  ranks.resize(paths.size());
  return ranks;
}

}  // namespace stepscope
