// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/slips.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "stepscope/face/help/flag_view.h"

namespace stepscope {
namespace {

// Hyphen, non-breaking hyphen, figure dash, en dash, em dash, horizontal bar, minus sign.
constexpr std::array<std::string_view, 7> dashes = {"\u2010", "\u2011", "\u2012", "\u2013",
                                                    "\u2014", "\u2015", "\u2212"};
constexpr std::array<std::string_view, 8> quotes = {"\u201c", "\u201d", "\u201e", "\u2018",
                                                    "\u2019", "\u00ab", "\u00bb", "\u201a"};

bool is_there(const std::string& word) {
  std::error_code ignored;
  return std::filesystem::exists(word, ignored);
}

// "–steps" as "--steps", "—o" as "-o"; empty if no such dash begins it.
std::string with_plain_dashes(std::string_view word) {
  bool typographic = false;
  for (bool found = true; found;) {
    found = word.starts_with('-');
    if (found) word.remove_prefix(1);
    for (const std::string_view dash : dashes)
      if (word.starts_with(dash)) {
        word.remove_prefix(dash.size());
        found = typographic = true;
      }
  }
  if (!typographic || word.empty()) return {};
  return (word.size() == 1 ? "-" : "--") + std::string(word);
}

// Empty if no such quote is in it.
std::string without_quotes(std::string word) {
  bool found = false;
  for (const std::string_view quote : quotes)
    for (std::size_t at = 0; (at = word.find(quote, at)) != std::string::npos;) {
      word.erase(at, quote.size());
      found = true;
    }
  return found ? word : std::string();
}

// "steps=3:4" as "--steps 3:4" where the verb has the flag.
std::string as_flag(const CLI::App& verb, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {};
  std::string name = "--" + word.substr(0, equals);
  std::ranges::replace(name, '_', '-');
  const bool known =
      std::ranges::any_of(flags_of(verb), [&](const FlagView& f) { return f.name == name; });
  return known ? name + ' ' + word.substr(equals + 1) : std::string();
}

// The slip in a word that is no flag and no value of one.
std::string slip_of_word(const CLI::App& verb, const std::string& word) {
  if (std::string plain = with_plain_dashes(word); !plain.empty())
    return fmt::format("{} begins with a dash of a text; write {}", word, plain);
  if (std::string flag = as_flag(verb, word); !flag.empty())
    return fmt::format("{} is no argument; write {}", word, flag);
  if (word == "help")
    return fmt::format("help is no argument; write stepscope help {}", verb.get_name());
  return {};
}

}  // namespace

std::string slip_in(const CLI::App& verb) {
  std::vector<std::string> words;
  if (!verb.get_allow_extras()) words = verb.remaining();
  for (const CLI::Option* option : verb.get_options()) {
    // A command has words of its own, and help is a verb.
    const std::string type = option->get_type_name();
    const bool command = type.starts_with("COMMAND") || type.starts_with("VERB");
    for (const std::string& value : option->results()) {
      if (command || is_there(value)) continue;
      if (option->get_positional()) {
        words.push_back(value);
      } else if (value == "=") {
        return fmt::format("{0} has no value; write {0} VALUE or {0}=VALUE without blanks",
                           option->get_name());
      }
      if (std::string plain = without_quotes(value); !plain.empty())
        return fmt::format("{} has quotes of a text; write {}", value, plain);
    }
  }
  for (const std::string& word : words)
    if (!is_there(word))
      if (std::string slip = slip_of_word(verb, word); !slip.empty()) return slip;
  return {};
}

}  // namespace stepscope
