// SPDX-License-Identifier: Apache-2.0
// The vocabulary: one table of every term that stepscope shows. The terminal, the page, the JSON
// (`terms`), the help and docs/reference/terms.md read their labels and explanations here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepscope {

struct Term {
  std::string_view group;          // an enumeration or an object of the JSON: "budget"
  std::string_view key;            // as in the JSON: "idle_host"
  std::string_view label;          // for people: "waiting for the host"
  std::string_view explanation{};  // one sentence; empty where the label says all
  std::string_view brief{};        // the label where room is narrow; empty: the label
  std::string_view on_cpu{};       // the label in runs without a device; empty: the label
  std::string_view unit{};         // of its value in the JSON; empty: the group's
};

// The terms of one group stand together, in the order of its enumeration.
struct TermGroup {
  std::string_view name;   // Term::group
  std::string_view title;  // a heading of the glossary
  std::string_view unit;   // of the values of its keys in the JSON; may be empty
};

[[nodiscard]] std::span<const TermGroup> term_groups();
[[nodiscard]] std::span<const Term> terms_of(std::string_view group);  // empty: no such group

// A key that the group lacks is a bug of ours.
[[nodiscard]] const Term& term(std::string_view group, std::string_view key);
[[nodiscard]] std::string_view label_of(std::string_view group, std::string_view key,
                                        bool on_cpu = false);

// The glossary as Markdown: one section a group, one row a term.
[[nodiscard]] std::string glossary();

}  // namespace stepscope
