// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/kernel_name.h"

#include <algorithm>
#include <cctype>

namespace stepscope {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The last identifier of the arguments that says what is computed: PyTorch's functors, and the
// functions whose lambdas its elementwise kernels run.
std::string_view telling_word(std::string_view arguments) {
  std::string_view found;
  for (std::size_t p = 0; p < arguments.size();) {
    std::size_t end = p;
    while (end < arguments.size() && is_word(arguments[end])) ++end;
    const std::string_view word = arguments.substr(p, end - p);
    const bool generic = word.find("BinaryFunctor") != word.npos ||
                         word.find("UnaryFunctor") != word.npos || word.find("_impl") != word.npos;
    if (!generic && (word.ends_with("Functor") || word.ends_with("_kernel_cuda"))) found = word;
    p = std::max(end, p + 1);
  }
  return found;
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
  // "Memcpy DtoH (Device -> Pinned)" and triton's names have neither arguments nor namespaces.
  const bool signature = name.starts_with("void ") || name.find("::") != name.npos ||
                         name.find('<') != name.npos ||
                         (name.ends_with(')') && name.find(" (") == name.npos);
  if (!signature) return std::string(name);
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::string kept;
  std::string_view arguments;
  for (std::size_t p = 0; p < name.size();) {
    if (name.substr(p).starts_with("(anonymous namespace)")) {
      p += std::string_view("(anonymous namespace)").size();
      continue;
    }
    if (name.substr(p).starts_with("::")) {
      kept.clear();
      p += 2;
      continue;
    }
    if (name[p] == '<' || name[p] == '(') {
      arguments = name.substr(p);
      break;
    }
    kept += name[p++];
  }
  if (kept.empty()) return std::string(name);
  // The namespaces of a qualified template ("a<b>::c") lie behind arguments: the first name stands.
  if (const std::string_view word = telling_word(arguments); !word.empty())
    kept.append("[").append(word).append("]");
  return kept;
}

}  // namespace stepscope
