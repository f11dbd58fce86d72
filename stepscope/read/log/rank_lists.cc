// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/rank_lists.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::optional<int> take_rank(std::string_view& text) {
  if (!take_word(text, "rank") && !take_word(text, "Rank")) return std::nullopt;
  if (!text.empty() && (text.front() == ' ' || text.front() == '_')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  return take_number<int>(text);
}

// Removes the rank of "Rank 0: …", which may stand behind the prefix of a launcher or a logger:
// "[default0]:", "[rank0]:", "0: ", "2026-01-01 12:00:00 INFO ".
std::optional<int> take_printed_rank(std::string_view& line) {
  constexpr std::size_t longest_prefix = 120;
  for (std::size_t at = 0; at < std::min(line.size(), longest_prefix); ++at) {
    if (at > 0 && std::string_view(" \t:]|").find(line[at - 1]) == std::string_view::npos) continue;
    std::string_view rest = line.substr(at);
    const auto rank = take_rank(rest);
    if (!rank || !rest.starts_with(':')) continue;
    line = rest;
    return rank;
  }
  return std::nullopt;
}

// A rank's list of a printed line.
std::optional<RankList> printed_list(std::string_view line) {
  std::string_view rest = trimmed(line);
  RankList list{.rank = take_printed_rank(rest)};
  if (!list.rank) return std::nullopt;
  constexpr std::string_view key = "times=[";
  const std::size_t times = rest.find(key);
  if (times == std::string_view::npos) return std::nullopt;
  const std::size_t open = times + key.size() - 1;
  const std::size_t close = rest.rfind(']');
  if (close == std::string_view::npos || close < open) return std::nullopt;
  if (const std::size_t mean = rest.find("avg="); mean < open) {
    std::string_view number = rest.substr(mean + 4);
    if (take_number<double>(number))
      list.unit = time_unit(number.substr(0, number.find_first_of(", [")));
  }
  std::vector<std::string_view> cells;
  split_cells(rest.substr(open + 1, close - open - 1), ',', cells);
  for (std::string_view cell : cells) {
    cell = bare(cell);
    if (cell.size() >= 2 && cell.front() == '\'' && cell.back() == '\'')
      cell = cell.substr(1, cell.size() - 2);
    const auto time = number_in(cell);
    if (!time) return std::nullopt;
    list.times.push_back(*time);
  }
  return list;
}

// A list that holds nothing but numbers, as far as `text` shows it. A log may begin with a time in
// brackets.
bool begins_numbers(std::string_view text) {
  if (!take_word(text, "[")) return false;
  const std::size_t end = text.find_first_not_of("0123456789.,+-eE \t\r\n");
  if (without_blanks(text).empty()) return false;
  if (end == std::string_view::npos) return true;
  return text[end] == ']' &&
         (without_blanks(text.substr(end + 1)).empty() ||
          std::string_view(",]}").find(without_blanks(text.substr(end + 1)).front()) !=
              std::string_view::npos);
}

bool begins_lists_by_rank(std::string_view text) {
  if (!take_word(text, "{")) return false;
  text = without_blanks(text);
  if (!take_word(text, "\"")) return false;
  const std::size_t quote = text.find('"');
  if (quote == std::string_view::npos || !rank_name(text.substr(0, quote))) return false;
  text = without_blanks(text.substr(quote + 1));
  return take_word(text, ":") && begins_numbers(without_blanks(text));
}

Error not_numbers(std::string_view path, std::size_t byte) {
  return {
      .what = "JSON that is no list of step times",
      .file = std::string(path),
      .byte = byte,
      .hint = R"(write [[100.1, 99.8], [100.2, 99.9]], one list a rank, or {"rank0": [100.1]})"};
}

}  // namespace

bool begins_json_lists(std::string_view text) {
  if (begins_numbers(text) || begins_lists_by_rank(text)) return true;
  return text.starts_with('[') && begins_numbers(without_blanks(text.substr(1)));
}

std::optional<RankName> rank_name(std::string_view name) {
  name = bare(name);
  const auto rank = take_rank(name);
  if (!rank) return std::nullopt;
  if (name.empty()) return RankName{.rank = *rank};
  const auto unit = time_unit(name.substr(1));
  return name.front() == '_' && unit ? std::optional(RankName{*rank, unit}) : std::nullopt;
}

bool begins_rank_lists(std::string_view head) {
  if (begins_json_lists(head)) return true;
  if (head.starts_with('{')) return false;
  StepLines lines(head);
  for (std::string_view line; lines.next(line);)
    if (printed_list(line)) return true;
  return false;
}

std::vector<RankList> printed_lists(std::string_view text) {
  std::vector<RankList> lists;
  StepLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (auto list = printed_list(line)) lists.push_back(std::move(*list));
  return lists;
}

Result<std::vector<RankList>> read_json_lists(ByteSource& source, std::string_view path) {
  constexpr std::size_t most_times = 2'000'000;
  std::vector<RankList> lists;
  std::size_t times = 0;
  bool of_numbers = false;  // the root is one list of numbers
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    if (item.value == nullptr) {  // a list in the root begins
      const auto name =
          item.key.empty() ? RankName{.rank = static_cast<int>(lists.size())} : rank_name(item.key);
      if (!name || of_numbers) return not_numbers(path, item.byte);
      lists.push_back({.rank = name->rank, .unit = name->unit});
      return Done{};
    }
    using enum JsonValue::Kind;
    if (item.value->kind == list || item.value->kind == object ||
        (!item.inner && (!item.key.empty() || (!of_numbers && !lists.empty()))))
      return not_numbers(path, item.byte);
    if (lists.empty()) {
      of_numbers = true;
      lists.emplace_back();
    }
    if (++times > most_times)
      return Error{.what = "has more than " + std::to_string(most_times) + " times",
                   .file = std::string(path),
                   .byte = item.byte,
                   .hint = "give a part of them, or one number a line"};
    lists.back().times.push_back(json_number(item.value).value_or(no_number));
    return Done{};
  };
  const auto read = for_json_items(source, path, take, {.lists_of_lists = true});
  if (!read) return read.error();
  return lists;
}

}  // namespace stepscope
