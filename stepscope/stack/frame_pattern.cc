// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/frame_pattern.h"

#include <algorithm>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

template <class Number>
bool read_range(std::string_view text, int base, Number& first, Number& last) {
  const auto one = [base](std::string_view part, Number& n) {
    if (base == 16) {
      if (!part.starts_with("0x")) return false;
      part.remove_prefix(2);
    }
    const auto number = number_of<Number>(part, base);
    if (number) n = *number;
    return number.has_value();
  };
  const std::size_t dash = text.find('-');
  if (!one(text.substr(0, dash), first)) return false;
  last = first;
  return dash == std::string_view::npos || (one(text.substr(dash + 1), last) && last >= first);
}

// Whether the text contains the words, delimited on the sides without a *.
bool holds_words(const FramePattern& p, std::string_view text) {
  for (std::size_t at = text.find(p.words); at != std::string_view::npos;
       at = text.find(p.words, at + 1)) {
    const std::size_t end = at + p.words.size();
    const bool begins = p.open_begin || at == 0 || !is_word_letter(text[at - 1]) ||
                        !is_word_letter(p.words.front());
    const bool ends = p.open_end || end == text.size() || !is_word_letter(text[end]) ||
                      !is_word_letter(p.words.back());
    if (begins && ends) return true;
  }
  return false;
}

bool fits(const FramePattern& p, const Frame& frame, std::string_view function, int line) {
  if (!p.file.empty() && frame.file.find(p.file) == std::string_view::npos) return false;
  if (p.first_instruction && !(frame.instruction && *frame.instruction >= *p.first_instruction &&
                               *frame.instruction <= p.last_instruction))
    return false;
  if (p.first_line > 0 && (line < p.first_line || line > p.last_line)) return false;
  return p.words.empty() || holds_words(p, function);
}

}  // namespace

Result<FramePattern> parse_frame_pattern(std::string_view text) {
  FramePattern p;
  std::string_view rest = trimmed(text);
  const auto wrong = [&](const char* why) {
    return Error{
        .what = std::string("\"").append(text).append("\" is no pattern of a frame: ").append(why),
        .hint = "docs/reference/phase-rules.md describes patterns"};
  };
  if (rest.ends_with(" $")) {
    p.innermost = true;
    rest = trimmed(rest.substr(0, rest.size() - 2));
  }
  if (const std::size_t open = rest.rfind(" [0x");
      open != std::string_view::npos && rest.ends_with(']')) {
    std::uint32_t first = 0;
    if (!read_range(rest.substr(open + 2, rest.size() - open - 3), 16, first, p.last_instruction))
      return wrong("an instruction is [0x36a] or [0x366-0x36a]");
    p.first_instruction = first;
    rest = trimmed(rest.substr(0, open));
  }
  if (const std::size_t colon = rest.rfind(" :"); colon != std::string_view::npos) {
    if (!read_range(rest.substr(colon + 2), 10, p.first_line, p.last_line) || p.first_line < 1)
      return wrong("a line is :12 or :12-15");
    rest = trimmed(rest.substr(0, colon));
  }
  if (const std::size_t at = rest.find("@ ");
      at == 0 || (at != std::string_view::npos && rest[at - 1] == ' ')) {
    p.file = trimmed(rest.substr(at + 2));
    rest = trimmed(rest.substr(0, at));
    if (p.file.empty()) return wrong("there is no file behind @");
  }
  if (rest == "@" || rest.ends_with(" @")) return wrong("there is no file behind @");
  if (rest.starts_with('*')) {
    p.open_begin = true;
    rest.remove_prefix(1);
  }
  if (rest.ends_with('*')) {
    p.open_end = true;
    rest.remove_suffix(1);
  }
  p.words = one_underscore(rest);
  if (p.words.empty() && p.file.empty()) return wrong("it would match every frame");
  return p;
}

bool matches(const FramePattern& pattern, const Frame& frame, int line) {
  return fits(pattern, frame, one_underscore(frame.function), line);
}

std::uint32_t FramePatterns::add(const FramePattern& pattern) {
  const auto found = std::ranges::find(patterns_, pattern);
  if (found != patterns_.end()) return static_cast<std::uint32_t>(found - patterns_.begin());
  const std::uint32_t number = size();
  patterns_.push_back(pattern);
  const std::string& words = pattern.words;
  const auto begin = std::ranges::find_if(words, is_word_letter);
  const auto end = std::find_if_not(begin, words.end(), is_word_letter);
  const bool whole = begin != end && !(pattern.open_begin && begin == words.begin()) &&
                     !(pattern.open_end && end == words.end());
  if (whole)
    by_word_[std::string(begin, end)].push_back(number);
  else
    others_.push_back(number);
  return number;
}

void FramePatterns::match(const Frame& frame, int line, std::vector<std::uint32_t>& numbers) const {
  numbers.clear();
  const std::string function = one_underscore(frame.function);
  const auto try_all = [&](const std::vector<std::uint32_t>& some) {
    for (const std::uint32_t n : some)
      if (fits(patterns_[n], frame, function, line)) numbers.push_back(n);
  };
  try_all(others_);
  for (auto begin = function.begin(); begin != function.end();) {
    begin = std::find_if(begin, function.end(), is_word_letter);
    const auto end = std::find_if_not(begin, function.end(), is_word_letter);
    if (begin != end)
      if (const auto found = by_word_.find(std::string(begin, end)); found != by_word_.end())
        try_all(found->second);
    begin = end;
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
}

}  // namespace stepscope
