// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/horovod_stall.h"

#include <algorithm>
#include <optional>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

std::optional<int> take_rank(std::string_view& text) {
  const auto rank = take_number<int>(text);
  return rank && *rank >= 0 && *rank < 10'000'000 ? rank : std::nullopt;
}

// The tag of mpirun ends with ">:"; a rank and a colon are no label here.
std::string_view row_of_rank(std::string_view line) {
  const std::size_t tag = line.starts_with('[') ? line.find(">:") : std::string_view::npos;
  return trimmed(tag == std::string_view::npos ? line : line.substr(tag + 2));
}

}  // namespace

std::vector<StalledRank> horovod_stall(std::string_view text, std::string_view behind) {
  constexpr std::string_view early = " [missing ranks:";
  constexpr std::size_t most = 65536;
  std::vector<StalledRank> out;
  text = trimmed(text);
  if (const std::size_t at = text.find(early); at != std::string_view::npos) {
    std::string_view list = text.substr(at + early.size());
    while (list.starts_with(' ') || list.starts_with(',')) {
      list.remove_prefix(std::min(list.find_first_not_of(" ,"), list.size()));
      const auto rank = take_rank(list);
      if (!rank) break;
      out.push_back({*rank, std::string(text.substr(0, at))});
    }
    return out;
  }
  if (text != "Missing ranks:") return out;
  while (!behind.empty() && out.size() < most) {
    const std::size_t end = std::min(behind.find('\n'), behind.size());
    std::string_view row = row_of_rank(behind.substr(0, end));
    behind.remove_prefix(std::min(end + 1, behind.size()));
    const auto rank = take_rank(row);
    if (!rank || !row.starts_with(": [")) break;
    row.remove_prefix(3);
    out.push_back(
        {*rank, std::string(row.substr(0, std::min(row.find_first_of(",]"), row.size())))});
  }
  return out;
}

}  // namespace stepscope
