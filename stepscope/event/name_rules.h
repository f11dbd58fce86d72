// SPDX-License-Identifier: Apache-2.0
// The class of a kernel or an operator by its name, by the rules of name_rules.h. Each thread keeps
// what the program's own rules say of the last few thousand names (name_rules.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepscope/base/collective_kind.h"  // IWYU pragma: export
#include "stepscope/base/enum_names.h"
#include "stepscope/base/result.h"

namespace stepscope {

enum class NameClass : std::uint8_t {
  matmul,
  attention,
  norm,
  softmax,
  elementwise,
  reduction,
  quantize,
  routing,
  optimizer,
  embedding,
  loss,
  communication,
  copy,
  wait,
  other
};
inline constexpr auto name_class_names = enum_names<NameClass::other>;
inline constexpr std::size_t name_class_count = name_class_names.size();

struct NameRules;

// The class of a device kernel's name. Memcpy and memset rows are `copy` by their category. A copy
// *kernel* is `copy` here and still counts as compute in every budget. The form without rules uses
// the program's own.
[[nodiscard]] NameClass classify_kernel(std::string_view name, const NameRules& rules);
[[nodiscard]] NameClass classify_kernel(std::string_view name);
// The class of a host operator (aten::, autograd nodes, c10d).
[[nodiscard]] NameClass classify_operator(std::string_view name, const NameRules& rules);
[[nodiscard]] NameClass classify_operator(std::string_view name);

// The collective that a name means. The name is a kernel's ("ncclDevKernel_AllGather_RING_LL"), an
// annotation's ("nccl:_all_gather_base"), a c10d operator's or a "Collective name" argument.
// `unknown` for communication whose kind the name hides (ncclDevKernel_Generic), `none` for a name
// that is not communication.
[[nodiscard]] CollectiveKind collective_kind(std::string_view name);

// Rules that give names of kernels and operators a class: data/kernels/rules.txt, and files of the
// same form that users add. docs/reference/kernel-rules.md describes the form. The first rule that
// matches wins; a user's rules precede the program's.

enum class NamePlace : std::uint8_t {
  start,           // begins the kernel's function, with or without its namespaces
  head,            // anywhere in the function and its namespaces
  anywhere,        // anywhere outside template arguments, also in the call's arguments
  argument,        // FUNCTION<WORD: in the template arguments of a function
  oper,            // the operator's stem; file word: operator
  operator_start,  // begins the operator's name or its stem
  operator_has     // anywhere in the operator's stem; with "::" in its whole name
};

struct NameRule {
  NameClass result = NameClass::other;
  NamePlace place = NamePlace::head;
  std::vector<std::string> words{};  // in this order, with any text between them
  std::string function{};            // argument: the word before '<'
  int argument = 0;                  // argument: FUNCTION<N=WORD, the N-th; 0 = any
};

struct NameRules {
  std::vector<NameRule> kernels;
  std::vector<NameRule> operators;  // without those of `stems`
  // Operators' stems → class and the number of operator rules before it.
  std::unordered_map<std::string, std::pair<NameClass, std::size_t>> stems;
};

// The program's own. Parsed once.
[[nodiscard]] const NameRules& built_in_name_rules();

// The rules of a user's file, then the program's own. Errors name the line and the remedy.
[[nodiscard]] Result<NameRules> name_rules_with(std::string_view text, std::string_view path);

// Answers about names that come again: the ranks of a job run the same kernels. An object is of one
// thread. Its memory is bounded: it forgets all names when there are too many.

template <class Answer>
class NameMemo {
 public:
  // `find(name)` answers for a name that is not known yet. It must be a pure function.
  template <class Find>
  [[nodiscard]] Answer of(std::string_view name, Find&& find) {
    if (const auto at = known_.find(name); at != known_.end()) return at->second;
    const Answer answer = std::forward<Find>(find)(name);
    if (name.size() > longest) return answer;
    if (known_.size() >= most) known_.clear();
    known_.emplace(name, answer);
    return answer;
  }

 private:
  static constexpr std::size_t most = 4096;     // names
  static constexpr std::size_t longest = 1024;  // bytes of a name
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  std::unordered_map<std::string, Answer, Hash, std::equal_to<>> known_;
};

}  // namespace stepscope
