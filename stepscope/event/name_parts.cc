// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/name_parts.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace stepscope {
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
  const bool letters =
      std::ranges::all_of(backend, [](unsigned char c) { return std::isalpha(c) != 0; });
  return letters && (backend.find("ccl") != std::string_view::npos || backend == "gloo" ||
                     backend == "mpi" || backend == "ucc");
}

}  // namespace stepscope
