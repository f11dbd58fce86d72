// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/python_wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/binding/parameters.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/face/help/flag_view.h"

namespace stepscope::binding {
namespace {

using Views = std::map<std::string, FlagView, std::less<>>;

// The flags of a verb by their names without dashes.
const Views& views_of(std::string_view verb) {
  static const auto all = [] {
    std::map<std::string, Views, std::less<>> verbs;
    const CommandLine line = declare_command_line(100);
    for (const Verb& v : verb_table()) {
      const CLI::App* app = find_verb(*line.app, v.name);
      for (const FlagView& flag : stepscope::flags_of(*app))
        if (!flag.argument) verbs[std::string(v.name)].emplace(flag.name.substr(2), flag);
    }
    return verbs;
  }();
  static const Views none;
  const auto found = all.find(verb);
  return found == all.end() ? none : found->second;
}

// "N", "NAME", "A:B", "FILE": what stands for a value.
bool is_placeholder(std::string_view word) {
  return !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0 &&
         std::ranges::all_of(word, [](char c) {
           return std::isupper(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '_' ||
                  std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
}

// A place of the catalogue: "{0}", "{1:g}".
bool is_place(std::string_view word) {
  return word.size() > 2 && word.front() == '{' && word.back() == '}' &&
         std::isdigit(static_cast<unsigned char>(word[1])) != 0 &&
         word.find_first_of("?|") == std::string_view::npos;
}

std::string literal(std::string_view word) {
  if (is_number(word) || (is_placeholder(word) && word.find(':') == std::string_view::npos))
    return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

// A value as Python writes it; a number of the catalogue has a format ("{0:g}").
std::string value_text(std::string_view word) {
  if (!is_place(word)) return literal(word);
  return word.find(':') == std::string_view::npos ? fmt::format("'{}'", word) : std::string(word);
}

// The word at the begin of a text, without the punctuation of the sentence.
std::string_view word_of(std::string_view text) {
  if (text.starts_with('{')) {
    const std::size_t end = text.find('}');
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
  }
  std::string_view word = text.substr(0, text.find_first_of(" \n\"(){}|"));
  while (!word.empty() && (word.ends_with(',') || word.ends_with('.') || word.ends_with(';') ||
                           word.ends_with(':') || word.ends_with('!') || word.ends_with('?')))
    word.remove_suffix(1);
  return word;
}

// Whether a word behind a flag is its value, not the next word of the sentence.
bool is_value(const FlagView& flag, std::string_view word, std::string_view after) {
  if (flag.value.empty() || word.empty() || after.starts_with(" %")) return false;
  if (is_place(word) || is_placeholder(word)) return true;
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return true;
  if (std::ranges::find(flag.choices, word) != flag.choices.end()) return true;
  return word.find_first_of("=:@_/.") != std::string_view::npos && is_alphanumeric(word.front());
}

// "tp=8", of a switch "layers=True".
std::string given(const PythonFlag& flag, const std::string& value) {
  return fmt::format("{}={}", flag.name, value);
}

// A flag with or without a value, in a sentence.
std::string flag_in_prose(const PythonFlag& flag, const FlagView& view,
                          const std::optional<std::string>& value) {
  if (!flag.method.empty()) {
    if (!value || !flag.method.ends_with("()")) return std::string(flag.method);
    return fmt::format("{}({})", flag.method.substr(0, flag.method.size() - 2), *value);
  }
  const bool alone = !value && !view.value.empty();
  if (flag.options.empty()) return alone ? flag.name : given(flag, value.value_or("True"));
  return alone ? fmt::format("{}.{}", flag.options, flag.name)
               : fmt::format("{}({})", flag.options, given(flag, value.value_or("True")));
}

// The words of a line for a shell, without its quotes.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'') {
      quoted = !quoted;
      word = word.value_or("");
    } else if (!quoted && c == ' ') {
      if (word) words.push_back(*word);
      word.reset();
    } else {
      if (!quoted && c == '\\' && i + 1 < line.size()) ++i;
      word = word.value_or("") + line[i];
    }
  }
  if (word) words.push_back(*word);
  return words;
}

// The function that lists what `stepscope list WHAT` and `stepscope whatif --list` print.
std::optional<std::string> list_of(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"whatif", "--list"}) return "stepscope.scenarios()";
  if (words.size() != 2 || words[0] != "list") return std::nullopt;
  if (words[1] == "changes") return "stepscope.scenarios()";
  for (const std::string_view what : {"machines", "models", "scenarios", "formats"})
    if (words[1] == what) return fmt::format("stepscope.{}()", what);
  return std::nullopt;
}

// The call that a command is: its words are the verb, then arguments and flags with their values.
// Nothing where Python lacks one of them.
std::optional<std::string> call_of(const std::vector<std::string>& words) {
  if (const auto list = list_of(words)) return list;
  // The traces of a result have no short name, and the result replays them itself.
  if (words.size() == 4 && words[0] == "whatif" && words[1] == "TRACES" && words[2] == "--change")
    return fmt::format("analysis.whatif({})", value_text(words[3]));
  const VerbParameters* function = words.empty() ? nullptr : parameters_of(words.front());
  if (function == nullptr) return std::nullopt;
  const Views& views = views_of(function->verb);
  std::vector<std::string> inputs;
  std::vector<std::string> parameters;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> objects;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      inputs.push_back(value_text(words[i]));
      continue;
    }
    const std::string name = words[i].substr(2);
    const auto view = views.find(name);
    const auto flag = python_flag(function->verb, name);
    if (view == views.end() || !flag || !flag->method.empty()) return std::nullopt;
    const bool has_value = !view->second.value.empty() && i + 1 < words.size();
    const std::string text = given(*flag, has_value ? value_text(words[++i]) : "True");
    if (flag->options.empty()) {
      parameters.push_back(text);
      continue;
    }
    auto object = std::ranges::find(objects, flag->options, [](const auto& o) { return o.first; });
    if (object == objects.end()) object = objects.insert(object, {flag->options, {}});
    object->second.push_back(text);
  }
  for (const auto& [options, fields] : objects)
    parameters.push_back(fmt::format("{}=stepscope.{}({})", option_class(options)->parameter,
                                     options, fmt::join(fields, ", ")));
  // `compare` has a parameter for each input; the others take a list.
  if (inputs.size() > 1 && function->verb != "compare")
    inputs = {fmt::format("[{}]", fmt::join(inputs, ", "))};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return fmt::format("stepscope.{}({})", function->verb, fmt::join(inputs, ", "));
}

// Takes "VERB ARGUMENT... --flag VALUE..." from the begin of a sentence's rest as a call: words
// that are no arguments are of the sentence.
std::optional<std::string> take_command(std::string_view& text) {
  std::string_view rest = text;
  const std::string_view verb = word_of(rest);
  const bool list = verb == "list";
  if (!list && parameters_of(verb) == nullptr) return std::nullopt;
  std::vector<std::string> words{std::string(verb)};
  rest.remove_prefix(verb.size());
  if (list && rest.starts_with(' ')) {
    words.emplace_back(word_of(rest.substr(1)));
    rest.remove_prefix(1 + words.back().size());
  }
  const Views& views = views_of(verb);
  while (rest.starts_with(' ')) {
    const std::string_view word = word_of(rest.substr(1));
    if (word.starts_with("--")) {
      const auto view = views.find(word.substr(2));
      if (view == views.end()) break;
      words.emplace_back(word);
      rest.remove_prefix(1 + word.size());
      const std::string_view value = word_of(rest.substr(rest.starts_with(' ') ? 1 : 0));
      if (!view->second.value.empty() && rest.starts_with(' ') && !value.empty()) {
        words.emplace_back(value);
        rest.remove_prefix(1 + value.size());
      }
      continue;
    }
    const bool argument =
        is_place(word) || is_placeholder(word) || word.find_first_of("/.") != std::string::npos;
    if (!argument) break;
    words.emplace_back(word);
    rest.remove_prefix(1 + word.size());
  }
  const auto call = call_of(words);
  if (call) text = rest;
  return call;
}

// Takes "--flag VALUE" or "--flag=VALUE" from the begin of a text.
std::optional<std::string> take_flag(std::string_view verb, std::string_view& text) {
  std::size_t end = 2;
  while (end < text.size() && (is_alphanumeric(text[end]) || text[end] == '-')) ++end;
  const std::string_view name = text.substr(2, end - 2);
  const auto flag = python_flag(verb, name);
  std::string_view rest = text.substr(end);
  if (!flag || rest.starts_with(" of stepscope")) return std::nullopt;
  const Views& views = views_of(verb);
  const auto found = views.find(name);
  // A field of an option class that other verbs take.
  static const FlagView of_another = [] {
    FlagView takes_value;
    takes_value.value = "VALUE";
    return takes_value;
  }();
  const FlagView& view = found == views.end() ? of_another : found->second;
  std::optional<std::string> value;
  if (rest.starts_with(' ') || rest.starts_with('=')) {
    const std::string_view word = word_of(rest.substr(1));
    const std::string_view after = rest.substr(1 + word.size());
    if (is_value(view, word, after)) {
      value = value_text(word);
      rest = after;
    }
  }
  text = rest;
  return flag_in_prose(*flag, view, value);
}

// Takes a command that Python does not have, which stays as it is: to the end of its clause.
std::optional<std::string> take_shell(std::string_view& text) {
  const std::string_view verb = word_of(text);
  if (std::ranges::find(verb_table(), verb, &Verb::name) == verb_table().end()) return std::nullopt;
  std::string kept(text.substr(0, text.find_first_of(",;.:)\n")));
  text.remove_prefix(kept.size());
  return "stepscope " + kept;
}

bool begins_word(std::string_view before) {
  return before.empty() || before.ends_with(' ') || before.ends_with('(') ||
         before.ends_with('"') || before.ends_with('?') || before.ends_with('|') ||
         before.ends_with('\n');
}

}  // namespace

std::string prose_in_python(std::string_view verb, std::string_view text) {
  constexpr std::string_view program = "stepscope ";
  std::string out;
  while (!text.empty()) {
    std::optional<std::string> taken;
    std::string_view rest = text;
    if (begins_word(out) && text.starts_with(program)) {
      rest.remove_prefix(program.size());
      taken = take_command(rest);
      if (!taken) taken = take_shell(rest);
    } else if (begins_word(out) && text.starts_with("--")) {
      taken = take_flag(verb, rest);
    } else if (begins_word(out) && text.starts_with("-v ")) {
      if (const auto verbose = python_flag(verb, "verbose"))
        taken = flag_in_prose(*verbose, {}, std::nullopt);
      rest.remove_prefix(2);
    }
    if (taken) {
      out += *taken;
      text = rest;
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string command_in_python(std::string_view line) {
  std::vector<std::string> words = shell_words(line);
  if (words.empty() || words.front() != "stepscope") return std::string(line);
  words.erase(words.begin());
  return call_of(words).value_or(std::string(line));
}

Wording python_wording(std::string verb) {
  return {.prose = [verb](std::string_view text) { return prose_in_python(verb, text); },
          .command = [](std::string_view line) { return command_in_python(line); }};
}

}  // namespace stepscope::binding
