// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/kernel_name.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "stepscope/base/ascii.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// The last identifier of the arguments that says what is computed: PyTorch's functors, and the
// functions whose lambdas its elementwise kernels run.
bool is_telling(std::string_view word) {
  const bool generic = word.find("BinaryFunctor") != word.npos ||
                       word.find("UnaryFunctor") != word.npos || word.find("_impl") != word.npos;
  return !generic && (word.ends_with("Functor") || word.ends_with("_kernel_cuda"));
}

std::string_view telling_word(std::string_view arguments) {
  std::string_view found;
  for (std::size_t p = 0; p < arguments.size();) {
    std::size_t end = p;
    while (end < arguments.size() && is_word_letter(arguments[end])) ++end;
    const std::string_view word = arguments.substr(p, end - p);
    if (is_telling(word)) found = word;
    p = std::max(end, p + 1);
  }
  return found;
}

// The position behind the bracket that closes the one at `open`; `text.size()` without one. Inside
// parentheses "<" and ">" compare.
std::size_t behind_bracket(std::string_view text, std::size_t open) {
  int angles = 0;
  int others = 0;
  for (std::size_t p = open; p < text.size(); ++p) {
    const char c = text[p];
    if (c == '(' || c == '{' || c == '[') ++others;
    if (c == ')' || c == '}' || c == ']') --others;
    const bool arrow = c == '>' && p > 0 && text[p - 1] == '-';
    if (others == 0 && !arrow) angles += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (others <= 0 && angles <= 0) return p + 1;
  }
  return text.size();
}

// The function of a signature, or the last name of a type, and what stands in its brackets.
struct NameParts {
  std::string_view name;
  std::string_view arguments;
};

NameParts last_name(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t p = 0; p < text.size();) {
    const std::string_view rest = text.substr(p);
    const auto skip = [&](std::size_t letters) { begin = p += letters; };
    if (rest.starts_with("::")) {
      skip(2);
    } else if (rest.starts_with("(anonymous namespace)")) {
      skip(std::string_view("(anonymous namespace)").size());
    } else if (rest.front() == ' ') {
      skip(1);
    } else if (rest.front() == '<' || rest.front() == '(') {
      const std::size_t behind = behind_bracket(text, p);
      // Behind the arguments of a class, or of a type before the name, the name follows.
      const bool more = rest.front() == '<' && (text.substr(behind).starts_with("::") ||
                                                text.substr(behind).starts_with(" "));
      if (!more) return {text.substr(begin, p - begin), text.substr(p)};
      p = behind;
    } else {
      ++p;
    }
  }
  return {text.substr(begin), {}};
}

// Whether it runs the kernel that its template's arguments name: CUTLASS, Composable Kernel,
// FlashAttention.
bool is_entry(std::string_view name) {
  constexpr std::array<std::string_view, 7> entries = {
      "Kernel", "Kernel2", "kernel", "kentry", "kernel_entry", "device_kernel", "Kernel3"};
  return std::ranges::find(entries, name) != entries.end() || name.starts_with("enable_sm");
}

// The arguments of "<a, b<c, d>, 3>(…)" one by one.
std::vector<std::string_view> template_arguments(std::string_view text) {
  std::vector<std::string_view> arguments;
  if (!text.starts_with('<')) return arguments;
  std::size_t end = behind_bracket(text, 0);  // of a name that is cut: its end
  if (text[end - 1] == '>') --end;
  std::size_t begin = 1;
  for (std::size_t p = 1; p <= end;) {
    if (p == end || text[p] == ',') {
      const std::string_view argument = trimmed(text.substr(begin, p - begin));
      if (!argument.empty()) arguments.push_back(argument);
      begin = ++p;
    } else {
      const bool opens = text[p] == '<' || text[p] == '(' || text[p] == '{';
      p = opens ? std::min(behind_bracket(text, p), end) : p + 1;
    }
  }
  return arguments;
}

// Whether an argument of an entry may be the kernel that it runs.
bool may_be_kernel(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && !name.ends_with("_t") && !is_entry(name) &&
         name.size() > std::string_view("unsigned").size();
}

// The kernel that an entry runs: the first argument that is a type of the library, and no number
// and no architecture.
std::optional<NameParts> run_by_entry(NameParts entry) {
  constexpr int deepest = 4;  // "device_kernel<enable_sm90_or_later<FlashAttnFwdSm90<…>>>"
  for (int depth = 0; is_entry(entry.name); ++depth) {
    if (depth == deepest) return std::nullopt;
    const auto arguments = template_arguments(entry.arguments);
    const auto at = std::ranges::find_if(arguments, [](std::string_view a) {
      const std::string_view name = last_name(a).name;
      return a[0] != '(' && (may_be_kernel(name) || is_entry(name));
    });
    if (at == arguments.end()) return std::nullopt;
    entry = last_name(*at);
  }
  return entry;
}

// The length-prefixed names of a mangled one up to its template arguments:
// "_ZN2at6native4copyILi4E…" is at::native::copy. Empty if it has another form.
std::string_view mangled_name(std::string_view text, std::size_t& at) {
  std::string_view last;
  while (at < text.size() && is_digit(text[at])) {
    std::size_t length = 0;
    while (at < text.size() && is_digit(text[at]) && length < text.size())
      length = 10 * length + static_cast<std::size_t>(text[at++] - '0');
    if (length == 0 || length > text.size() - at) return {};
    last = text.substr(at, length);
    at += length;
  }
  return last;
}

std::string plain_of_mangled(std::string_view text) {
  std::size_t at = 2;
  for (const std::string_view part : {"N", "K", "St", "S_"})
    if (text.substr(at).starts_with(part)) at += part.size();
  const std::string_view name = mangled_name(text, at);
  if (name.empty()) return std::string(text);
  std::string_view telling;
  for (std::size_t p = at; p < text.size();) {
    // Behind a type code ("Li2E") digits are a number.
    if (!is_digit(text[p]) || text[p - 1] == 'i' || text[p - 1] == 'm' || text[p - 1] == 'b') {
      ++p;
      continue;
    }
    std::size_t behind = p;
    const std::string_view word = mangled_name(text, behind);
    if (is_entry(name) && may_be_kernel(word)) return std::string(word);
    if (is_telling(word)) telling = word;
    p = std::max(behind, p + 1);
  }
  return std::string(name) + (telling.empty() ? "" : "[" + std::string(telling) + "]");
}

// The words of a name that may distinguish it from another.
std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (std::size_t p = 0; p < name.size();) {
    std::size_t end = p;
    while (end < name.size() && is_word_letter(name[end]) && name[end] != '_') ++end;
    if (end > p) words.push_back(name.substr(p, end - p));
    p = std::max(end, p + 1);
  }
  return words;
}

// For each name the words in which it differs from the others: enough to distinguish all of them,
// three at most.
std::vector<std::string> differences(const std::vector<std::string_view>& names) {
  std::vector<std::vector<std::string_view>> words;
  for (const std::string_view name : names) words.push_back(words_of(name));
  std::vector<std::string> told(names.size());
  constexpr int most = 3;
  int used = 0;
  for (std::size_t k = 0; used < most; ++k) {
    if (std::ranges::all_of(words, [&](const auto& w) { return k >= w.size(); })) break;
    const auto word = [&](std::size_t i) { return k < words[i].size() ? words[i][k] : ""; };
    bool differ = false;
    for (std::size_t i = 1; i < names.size(); ++i) differ = differ || word(i) != word(0);
    if (!differ) continue;
    std::vector<std::string> more = told;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!word(i).empty()) more[i].append(more[i].empty() ? "" : " ").append(word(i));
    told = std::move(more);
    ++used;
    std::vector<std::string> sorted = told;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) == sorted.end()) break;
  }
  return told;
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
  for (const std::string_view suffix : {".kd", " [clone .kd]"})  // HIP's descriptor of the kernel
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (name.starts_with("_Z")) return plain_of_mangled(name);
  // "Memcpy DtoH (Device -> Pinned)" and triton's names have neither arguments nor namespaces.
  const bool signature = name.starts_with("void ") || name.find("::") != name.npos ||
                         name.find('<') != name.npos ||
                         (name.ends_with(')') && name.find(" (") == name.npos);
  if (!signature) return std::string(name);
  NameParts parts = last_name(name);
  if (parts.name.empty()) return std::string(name);
  const auto run = run_by_entry(parts);
  if (run && !run->name.empty() && is_entry(parts.name)) return std::string(run->name);
  std::string kept(parts.name);
  if (const std::string_view word = telling_word(parts.arguments); !word.empty())
    kept.append("[").append(word).append("]");
  return kept;
}

std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& names,
                                               std::size_t width) {
  std::vector<std::string> shown;
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < names.size(); ++i) {
    shown.push_back(shorten(short_kernel_name(names[i]), width));
    alike[shown.back()].push_back(i);
  }
  for (const auto& [text, rows] : alike) {
    std::vector<std::string_view> of_rows;
    for (const std::size_t i : rows) of_rows.emplace_back(names[i]);
    if (rows.size() < 2) continue;
    const std::vector<std::string> differ = differences(of_rows);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (differ[k].empty()) continue;
      const std::string told = shorten(differ[k], width / 2);
      const std::string brief = short_kernel_name(names[rows[k]]);
      shown[rows[k]] = shorten(brief, width - std::min(width / 2, told.size()) - 1) + " " + told;
    }
  }
  return shown;
}

}  // namespace stepscope
