// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/phrases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "stepscope/say/format.h"

namespace stepscope {

std::string counted(std::uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() > 6) return fmt::format("{} ranks", ranks.size());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

std::string listed_ranks(const std::vector<int>& ranks) {
  if (ranks.size() < 2) return ranks_in_words(ranks);
  if (ranks.size() > 8)
    return fmt::format("ranks {}, {}, {} … {} ({} in all)", ranks[0], ranks[1], ranks[2],
                       ranks.back(), ranks.size());
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : (i + 1 == ranks.size() ? " and " : ", "), ranks[i]);
  return text;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string shape_in_words(std::string_view dims) {
  std::string text;
  for (const char c : dims)
    if (c != ' ' && c != '\n') text += c;
  for (std::size_t p = text.find(",[]"); p != std::string::npos; p = text.find(",[]"))
    text.erase(p, 3);
  return printable(text);
}

std::string outer_shape_in_words(std::string_view dims) {
  std::string text = shape_in_words(dims);
  if (text.starts_with("[[") && text.ends_with("]]")) text = text.substr(1, text.size() - 2);
  return text;
}

std::string host_doing(std::string_view activity) {
  if (activity.empty() || activity == "no row recorded") return "the host shows no row";
  const std::string text = shorten(printable(activity), 100);
  for (const std::string_view place : {"between ", "after ", "before "})
    if (activity.starts_with(place)) return "the host shows no row " + text;
  if (std::isdigit(static_cast<unsigned char>(activity.front())) != 0)
    return "the host runs " + text;
  return "the host is in " + text;
}

}  // namespace stepscope
