// SPDX-License-Identifier: Apache-2.0
// Matches the rules of names. name_rules.h declares the results.
#include "stepscope/event/name_match.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "stepscope/base/ascii.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

// The end of `word` in `text` where it first matches from `from` on, or npos; with `here`, only at
// `from`. A '|' at an end of the word is an edge: no letter or digit is next to it. A '$' at its
// end is the end of the text.
std::size_t find_after(std::string_view text, std::string_view word, std::size_t from,
                       bool here = false) {
  const bool left = word.starts_with('|');
  if (left) word.remove_prefix(1);
  const bool right = word.ends_with('|');
  const bool last = word.ends_with('$');
  if (right || last) word.remove_suffix(1);
  for (std::size_t at = text.find(word, from); at != text.npos && (!here || at == from);
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((!left || at == 0 || !is_alphanumeric(text[at - 1])) &&
        (!right || end == text.size() || !is_alphanumeric(text[end])) &&
        (!last || end == text.size()))
      return end;
  }
  return text.npos;
}

bool has_words(std::string_view text, std::span<const std::string> words, std::size_t from = 0) {
  for (const std::string& word : words) {
    from = find_after(text, word, from);
    if (from == text.npos) return false;
  }
  return true;
}

bool starts(std::string_view text, std::span<const std::string> words) {
  const std::size_t end = find_after(text, words.front(), 0, true);
  return end != text.npos && has_words(text, words.subspan(1), end);
}

// The name without namespaces.
std::string_view last_of(std::string_view name) {
  const auto at = name.rfind("::");
  return at == name.npos ? name : name.substr(at + 2);
}

bool matches(const NameRule& rule, const KernelParts& kernel) {
  switch (rule.place) {
    case NamePlace::start:
      return starts(kernel.head, rule.words) || starts(last_of(kernel.head), rule.words);
    case NamePlace::head:
      return has_words(kernel.head, rule.words);
    case NamePlace::anywhere:
      return has_words(kernel.outside, rule.words);
    case NamePlace::argument:
      return find_after(kernel.head, rule.function, 0) != std::string::npos &&
             has_words(rule.argument == 0 ? std::string_view(kernel.arguments)
                                          : nth_argument(kernel.arguments, rule.argument),
                       rule.words);
    default:
      return false;
  }
}

struct OperatorName {
  std::string_view whole;
  std::string stem;  // without underscores
};

bool matches(const NameRule& rule, const OperatorName& name) {
  const bool whole = std::ranges::any_of(
      rule.words, [](const std::string& w) { return w.find(':') != std::string::npos; });
  const std::string_view text = whole ? name.whole : std::string_view(name.stem);
  if (rule.place == NamePlace::operator_has) return has_words(text, rule.words);
  if (rule.place == NamePlace::operator_start) return starts(text, rule.words);
  return text == rule.words.front();
}

// A user's range around communication: "## all2all_data:kjt lengths ##".
bool is_phrase(std::string_view name) { return name.find(' ') != name.npos; }

NameClass class_of_kernel(std::string_view text, const NameRules& rules) {
  const KernelParts kernel = kernel_parts(plain_name(text));
  for (const NameRule& rule : rules.kernels) {
    if (rule.result == NameClass::communication && is_phrase(kernel.head)) continue;
    if (matches(rule, kernel)) return rule.result;
  }
  return NameClass::other;
}

NameClass class_of_operator(std::string_view text, const NameRules& rules) {
  const std::string plain = plain_name(text);
  const std::string_view stem = operator_stem(plain);
  if (is_backend_annotation(plain)) return NameClass::communication;
  if (stem.starts_with("triton_")) return classify_kernel(stem, rules);
  OperatorName name{plain, std::string(stem)};
  std::erase(name.stem, '_');
  const auto exact = rules.stems.find(name.stem);
  const bool known = exact != rules.stems.end();
  const std::size_t before = known ? exact->second.second : rules.operators.size();
  for (const NameRule& rule : std::span(rules.operators).first(before)) {
    if (rule.result == NameClass::communication && is_phrase(stem)) continue;
    if (matches(rule, name)) return rule.result;
  }
  return known ? exact->second.first : NameClass::other;
}

}  // namespace

NameClass classify_kernel(std::string_view name, const NameRules& rules) {
  return &rules == &built_in_name_rules() ? classify_kernel(name) : class_of_kernel(name, rules);
}

NameClass classify_operator(std::string_view name, const NameRules& rules) {
  return &rules == &built_in_name_rules() ? classify_operator(name)
                                          : class_of_operator(name, rules);
}

NameClass classify_kernel(std::string_view name) {
  thread_local NameMemo<NameClass> known;
  return known.of(
      name, [](std::string_view text) { return class_of_kernel(text, built_in_name_rules()); });
}

NameClass classify_operator(std::string_view name) {
  thread_local NameMemo<NameClass> known;
  return known.of(
      name, [](std::string_view text) { return class_of_operator(text, built_in_name_rules()); });
}

namespace {

void erase_all(std::string& text, std::string_view word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at))
    text.erase(at, word.size());
}

std::string demangled(std::string_view name) {
  for (const std::string_view suffix : {".kd", " [clone .kd]"})  // HIP's descriptor of the kernel
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  std::string text(name);
  if (!name.starts_with("_Z")) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && plain ? std::string(plain.get()) : text;
}

// Operators such as operator<< and "->" are not brackets.
bool is_bracket(std::string_view text, std::size_t at) {
  if (text[at] == '>' && at > 0 && text[at - 1] == '-') return false;
  std::size_t first = at;
  while (first > 0 && (text[first - 1] == '<' || text[first - 1] == '>')) --first;
  return !text.substr(0, first).ends_with("operator");
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string text = demangled(name);
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view nameless :
       {"(anonymous namespace)::", "<unnamed>::", "_global__n_1::"})
    erase_all(text, nameless);
  return text;
}

KernelParts kernel_parts(std::string_view plain) {
  // A result type such as std::enable_if<…>::type and its template arguments are not the function.
  constexpr std::string_view type = "::type ";
  if (plain.starts_with("std::enable_if<") || plain.starts_with("typename std::enable_if<"))
    if (const auto at = plain.find(type); at != std::string_view::npos)
      plain.remove_prefix(at + type.size());
  KernelParts parts;
  int depth = 0;
  bool in_head = true;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const bool bracket = (c == '<' || c == '>') && is_bracket(plain, i);
    if (bracket && c == '<') {
      if (depth++ > 0 && in_head) parts.arguments += c;
      continue;
    }
    if (bracket && depth > 0) {
      if (--depth > 0 && in_head) parts.arguments += c;
      continue;
    }
    if (depth > 0) {
      if (in_head) parts.arguments += c;
      continue;
    }
    if (c == '(') in_head = false;
    if (in_head) parts.head += c;
    parts.outside += c;
  }
  if (parts.head.starts_with("void ")) parts.head.erase(0, 5);
  return parts;
}

std::string_view nth_argument(std::string_view arguments, int n) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= arguments.size(); ++i) {
    const char c = i < arguments.size() ? arguments[i] : ',';
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (c != ',' || (depth > 0 && i < arguments.size())) continue;
    if (--n == 0) {
      std::string_view found = arguments.substr(begin, i - begin);
      while (found.starts_with(' ')) found.remove_prefix(1);
      return found;
    }
    begin = i + 1;
  }
  return {};
}

std::string_view without_engine(std::string_view name) {
  constexpr std::string_view engine = "autograd::engine::evaluate_function: ";
  if (name.starts_with(engine)) name.remove_prefix(engine.size());
  return name;
}

std::string_view operator_stem(std::string_view name) {
  name = without_engine(name);
  name = name.substr(0, name.find('<'));
  if (const auto at = name.rfind("::"); at != std::string_view::npos) name.remove_prefix(at + 2);
  name = name.substr(0, name.find('.'));
  std::string_view bare = name;
  while (!bare.empty() && std::isdigit(static_cast<unsigned char>(bare.back())) != 0)
    bare.remove_suffix(1);
  if (bare.ends_with("backward")) name = bare.substr(0, bare.size() - 8);
  while (name.ends_with('_')) name.remove_suffix(1);
  while (name.starts_with('_')) name.remove_prefix(1);
  return name;
}

bool is_backend_annotation(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos || colon + 1 >= name.size() || name[colon + 1] == ':')
    return false;
  const std::string_view backend = name.substr(0, colon);
  const bool letters = std::ranges::all_of(backend, is_letter);
  return letters && (backend.find("ccl") != std::string_view::npos || backend == "gloo" ||
                     backend == "mpi" || backend == "ucc");
}

}  // namespace stepscope
