// SPDX-License-Identifier: Apache-2.0
// Rules that give names of kernels and operators a class: data/kernels/rules.txt, and files of the
// same form that users add. docs/reference/kernel-rules.md describes the form. The first rule that
// matches wins; a user's rules precede the program's.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/name_class.h"

namespace stepscope {

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

}  // namespace stepscope
