// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/labels.h"

#include <array>
#include <cstddef>

namespace stepscope {

std::string_view words_of(BudgetCategory category, bool cpu) {
  static constexpr std::array<std::string_view, budget_category_count> words = {
      "compute",
      "compute over communication",
      "waiting for peers",
      "communication, exposed",
      "communication or waiting",
      "copies, exposed",
      "data loading",
      "host too slow",
      "host in sync calls",
      "launch latency",
      "waiting for another stream",
      "unexplained"};
  if (cpu && category == BudgetCategory::idle_host) return "between operators";
  return words[static_cast<std::size_t>(category)];
}

std::string_view words_of(MfuTerm term, bool cpu) {
  static constexpr std::array<std::string_view, mfu_term_count> words = {
      "model FLOPs (MFU)",
      "recompute",
      "matmul and attention below peak",
      "memory-bound kernels",
      "compute, FLOPs unknown",
      "communication, exposed",
      "waiting for peers",
      "communication or waiting",
      "copies, exposed",
      "pipeline bubble",
      "data loading",
      "host too slow",
      "host in sync calls",
      "launch latency",
      "waiting for another stream",
      "unexplained"};
  if (cpu && term == MfuTerm::idle_host) return "between operators";
  if (cpu && term == MfuTerm::memory_bound_compute) return "memory-bound operators";
  return words[static_cast<std::size_t>(term)];
}

}  // namespace stepscope
