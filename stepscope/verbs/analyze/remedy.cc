// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "stepscope/base/ascii.h"
#include "stepscope/base/utf8.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/wording.h"

namespace stepscope {
namespace {

// Whether the finding is of the verdict's kind; for compute that binds, about products.
bool is_said(const Finding& f, const Culprit& verdict) {
  constexpr std::array<std::string_view, 4> of_products = {
      "low_matmul_efficiency", "tensor_cores_unused", "fp32_matmuls", "small_matmuls"};
  if (verdict.kind == CulpritKind::compute_bound)
    return std::ranges::find(of_products, f.id) != of_products.end();
  if (!verdict.cause.empty()) return f.id == verdict.cause;
  return f.id == name_of(culprit_kind_names, verdict.kind) &&
         (!is_fault(verdict.kind) || (f.sort == FindingSort::fault && f.change == verdict.change));
}

}  // namespace

const Finding* said_finding(const Analysis& report) {
  if (!replay_tells(report.job) || report.answer.culprits.empty()) return nullptr;
  const auto said = std::ranges::find_if(report.findings, [&](const Finding& f) {
    return is_said(f, report.answer.culprits.front());
  });
  return said == report.findings.end() ? nullptr : &*said;
}

Message remedy_of(const Analysis& report) {
  const Finding* said = said_finding(report);
  if (said == nullptr) return {};
  // What to do if that does not help stands with the findings.
  if (said->advice.kind == MessageKind::else_leave_out)
    if (const auto* first = std::get_if<Messages>(&said->advice.values.front().kinds()))
      return first->front();
  return said->advice;
}

std::string word_for_shell(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](char c) {
    return is_alphanumeric(c) || std::string_view("/._-+,:@%").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  if (!is_printable(word)) return {};
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string whatif_command(const Analysis& report, std::string_view change) {
  const std::string word = word_for_shell(std::string(change));
  if (word.empty()) return {};
  return worded_command(fmt::format("stepscope whatif {} --change {}", report.traces, word));
}

std::string whatif_command(const Analysis& report) {
  const auto& verdict = report.answer.culprits;
  return verdict.empty() || !is_fault(verdict.front().kind)
             ? std::string()
             : whatif_command(report, verdict.front().change);
}

}  // namespace stepscope
