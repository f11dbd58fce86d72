// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/flag_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/number_text.h"
#include "stepscope/face/help/suggest.h"

namespace stepscope {
namespace {

std::optional<double> finite_number(std::string_view text) {
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Without a description, so that the type name stays as it is set here.
CLI::Validator checked(std::function<std::string(std::string&)> check) {
  return {std::move(check), ""};
}

// The variable's value as text; empty where it is no number of the range.
std::optional<double> default_of(CLI::Option* option, double least, double most) {
  option->capture_default_str();
  const auto value = finite_number(option->get_default_str());
  option->default_str("");
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// "; write 1024" for "1,024", "1_024", "1e3" and "8.0", if that is in the range.
std::string digits_remedy(std::string text, std::int64_t least, std::int64_t most) {
  std::erase_if(text, [](char c) { return c == ',' || c == '_' || c == ' ' || c == '\''; });
  const auto value = finite_number(text);
  if (!value || *value != std::floor(*value) || std::abs(*value) > 1e15) return {};
  const auto whole = static_cast<std::int64_t>(*value);
  return whole >= least && whole <= most ? fmt::format("; write {}", whole) : std::string();
}

std::string range_text(double least, double most, std::string_view unit) {
  return fmt::format("{:.10g}{} to {:.10g}{}", least, unit, most, unit);
}

}  // namespace

CLI::Option* as_count(CLI::Option* option, std::int64_t least, std::int64_t most) {
  if (const auto value = default_of(option, static_cast<double>(least), static_cast<double>(most)))
    option->default_str(fmt::format("{:.0f}", *value));
  return option->type_name("N")->check(checked([least, most](const std::string& text) {
    const auto value = number_of<std::int64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    const std::string remedy = digits_remedy(text, least, most);
    if (most == std::numeric_limits<std::int64_t>::max())
      return fmt::format("{} is no whole number from {} on{}", text, least, remedy);
    return fmt::format("{} is no whole number from {} to {}{}", text, least, most, remedy);
  }));
}

CLI::Option* as_number(CLI::Option* option, double least, double most) {
  if (const auto value = default_of(option, least, most))
    option->default_str(fmt::format("{:g}", *value));
  return option->type_name("NUMBER")->check(checked([least, most](const std::string& text) {
    const auto value = finite_number(text);
    return value && *value >= least && *value <= most
               ? std::string()
               : fmt::format("{} is no number from {}", text, range_text(least, most, ""));
  }));
}

CLI::Option* as_positive(CLI::Option* option) {
  return option->type_name("NUMBER")->check(checked([](const std::string& text) {
    const auto value = finite_number(text);
    return value && *value > 0 ? std::string() : text + " is no positive number";
  }));
}

CLI::Option* as_share(CLI::Option* option, double least, double most, double bare) {
  if (const auto value = default_of(option, least, most))
    option->default_str(fmt::format("{:g}%", *value * 100));
  return option->type_name("PERCENT")->transform(checked([least, most, bare](std::string& text) {
    const bool percent = text.ends_with('%');
    auto value = finite_number(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)));
    if (value) *value *= percent ? 0.01 : bare;
    if (!value || *value < least || *value > most)
      return fmt::format("{} is no share; write {}", text,
                         range_text(least * 100, most * 100, "%"));
    text = fmt::format("{}", *value);
    return std::string();
  }));
}

CLI::Option* as_seconds(CLI::Option* option, double least, double most) {
  if (const auto value = default_of(option, least, most); value && *value > 0)
    option->default_str(fmt::format("{:g}s", *value));
  return option->type_name("TIME")->transform(checked([least, most](std::string& text) {
    const auto time = parse_duration(finite_number(text) ? text + 's' : text);
    const double seconds = time ? static_cast<double>(time->count()) / 1e9 : -1;
    if (!time || seconds < least || seconds > most)
      return fmt::format("{} is no time; write {}, as 20ms or 3s", text,
                         range_text(least, most, "s"));
    text = fmt::format("{}", seconds);
    return std::string();
  }));
}

CLI::Option* as_size(CLI::Option* option) {
  return option->capture_default_str()->type_name("SIZE")->check(
      checked([](const std::string& text) {
        return parse_bytes(text) ? std::string()
                                 : text + " is no size; write 25MB (10^6) or 16MiB (2^20)";
      }));
}

CLI::Option* as_choice(CLI::Option* option, const std::vector<std::string>& words) {
  return option->capture_default_str()
      ->type_name(fmt::format("{}", fmt::join(words, "|")))
      ->check(checked([words](const std::string& text) {
        if (std::ranges::find(words, text) != words.end()) return std::string();
        constexpr std::size_t least = 3;  // letters that resemble something
        const auto near =
            text.size() < least ? std::vector<std::string>() : likely_names(text, words);
        return fmt::format("{} is none of {}{}", text, fmt::join(words, ", "),
                           near.empty() ? "" : "; did you mean " + near.front() + "?");
      }));
}

std::optional<Ns> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::size_t>, 4> units = {
      {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}}};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto* unit =
      std::ranges::find(units, text.substr(end), [](const auto& u) { return u.first; });
  if (unit == units.end()) return std::nullopt;
  const std::string_view number = text.substr(0, end);
  const std::size_t dot = std::min(number.find('.'), number.size());
  const std::string_view fraction = number.substr(std::min(dot + 1, number.size()));
  if (dot == 0 || fraction.size() > unit->second || (dot < number.size() && fraction.empty()) ||
      fraction.find('.') != std::string_view::npos)
    return std::nullopt;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < dot + unit->second; ++i) {
    const std::size_t at = i - dot;
    const char digit = i < dot ? number[i] : at < fraction.size() ? fraction[at] : '0';
    if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, digit - '0', &ns))
      return std::nullopt;
  }
  return Ns{negative ? -ns : ns};
}

}  // namespace stepscope
