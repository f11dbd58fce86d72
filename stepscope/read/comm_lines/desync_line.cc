// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/comm_lines/desync_line.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

struct DesyncWords {
  DesyncKind kind;
  std::string_view behind_ranks;
  std::string_view before_number;
};
constexpr std::array<DesyncWords, 4> desync_words = {
    {{DesyncKind::timeout, "] Timeout at collective: ", ", #"},
     {DesyncKind::not_joined, "] finished collective #", "didn't join collective #"},
     {DesyncKind::unfinished, "] joined but didn't finish collective #", "finish collective #"},
     {DesyncKind::never, "] are the lagging ranks that caused this timeout", ""}}};

// "0, 1" behind the last bracket of `text`; empty if other text is in it.
std::vector<int> ranks_in_brackets(std::string_view text) {
  std::vector<int> ranks;
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos) return {};
  std::string_view list = text.substr(open + 1);
  while (!list.empty() && ranks.size() < 65536) {
    const auto rank = take_number<int>(list);
    if (!rank || *rank < 0 || *rank >= 10'000'000) return {};
    ranks.push_back(*rank);
    while (!list.empty() && contains(", ", list.substr(0, 1))) list.remove_prefix(1);
  }
  return ranks;
}

}  // namespace

std::optional<DesyncLine> parse_desync(std::string_view line) {
  for (const DesyncWords& words : desync_words) {
    const std::size_t at = line.find(words.behind_ranks);
    if (at == std::string_view::npos) continue;
    DesyncLine out{.kind = words.kind, .ranks = ranks_in_brackets(line.substr(0, at))};
    if (out.ranks.empty()) return std::nullopt;
    if (words.kind == DesyncKind::never) return out;
    out.collective = number_behind(line.substr(at), words.before_number).value_or(0);
    if (out.collective <= 0) return std::nullopt;
    if (words.kind == DesyncKind::timeout) {
      const std::string_view rest = line.substr(at + words.behind_ranks.size());
      out.operation = rest.substr(0, rest.find(", #"));
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace stepscope
