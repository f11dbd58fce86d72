// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/memory/memory_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace stepscope {
namespace {

constexpr std::uint8_t no_digit = 255;

constexpr std::array<std::uint8_t, 256> digit_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < digits.size(); ++i)
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> digits = digit_values();

}  // namespace

bool is_page(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  std::string begin(head.substr(first, 16));
  std::ranges::transform(begin, begin.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return begin.starts_with("<!doctype html") || begin.starts_with("<html");
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.resize(text.size() / 4 * 3 + (text.size() % 4 == 0 ? 0 : text.size() % 4 - 1));
  std::size_t at = 0;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::uint8_t digit = digits[static_cast<unsigned char>(c)];
    if (digit == no_digit) return std::nullopt;
    bits = bits << 6U | digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[at++] = static_cast<char>(bits >> held & 0xFFU);
  }
  return out;
}

std::vector<std::string> files_in_page(std::string_view page) {
  constexpr std::string_view key = "\"base64\"";
  std::vector<std::string> files;
  for (std::size_t at = 0; (at = page.find(key, at)) != std::string_view::npos;) {
    at += key.size();
    const std::size_t colon = page.find_first_not_of(" \t\r\n", at);
    if (colon == std::string_view::npos || page[colon] != ':') continue;
    const std::size_t open = page.find_first_not_of(" \t\r\n", colon + 1);
    if (open == std::string_view::npos || page[open] != '"') continue;
    const std::size_t close = page.find('"', open + 1);
    if (close == std::string_view::npos) break;
    auto file = decode_base64(page.substr(open + 1, close - open - 1));
    if (file) files.push_back(std::move(*file));
    at = close + 1;
  }
  return files;
}

}  // namespace stepscope
