// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "stepscope/report/format.h"

namespace stepscope {
namespace {

std::string doing_in_words(const StragglerCause& cause) {
  constexpr std::size_t most = 60;  // of a kernel's name
  switch (cause.doing) {
    case LateDoing::more_compute: {
      std::string text = "more compute";
      if (cause.peer) text += fmt::format(" than rank {}", *cause.peer);
      if (cause.what.empty()) return text;
      std::size_t cut = std::min(most, cause.what.size());
      while (cut > 0 && cut < cause.what.size() && (cause.what[cut] & 0xC0) == 0x80) --cut;
      return text + fmt::format(", most of it {}{}", std::string_view(cause.what).substr(0, cut),
                                cut < cause.what.size() ? "..." : "");
    }
    case LateDoing::more_loading:
      return "more data loading";
    case LateDoing::host_gap:
      return "host gap " + cause.what;
    case LateDoing::host_work:
      return "host in " + cause.what;
    case LateDoing::device_idle:
      return "device without work";
    case LateDoing::device_late:
      return "device waits for work that is launched";
    case LateDoing::unrecorded:
      break;
  }
  return "nothing recorded";
}

}  // namespace

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

std::string counted(std::uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() > 6) return fmt::format("{} ranks", ranks.size());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

std::string host_doing(std::string_view activity) {
  if (activity.empty() || activity == "no row recorded") return "the host shows no row";
  const std::string text = shorten(printable(activity), 100);
  for (const std::string_view place : {"between ", "after ", "before "})
    if (activity.starts_with(place)) return "the host shows no row " + text;
  if (std::isdigit(static_cast<unsigned char>(activity.front())) != 0)
    return "the host runs " + text;
  return "the host is in " + text;
}

std::string cause_in_words(const StragglerCause& cause) {
  std::string text = format_time(cause.amount) + " " + doing_in_words(cause);
  if (cause.steps > 1)
    text += cause.in_steps == cause.steps
                ? " each step"
                : fmt::format(" in {} of {} steps", cause.in_steps, cause.steps);
  return text;
}

std::string waiting_in_words(const StragglerCause& cause) {
  if (cause.waiting.empty()) return {};
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : cause.collectives)
    names.push_back(collective_kind_names[static_cast<std::size_t>(kind)]);
  std::ranges::sort(names);
  const bool one = cause.waiting.size() == 1;
  return fmt::format("{} {} {}{}{} for it in {}", ranks_in_words(cause.waiting),
                     one ? "waits" : "wait", format_time(cause.wait), one ? "" : " each",
                     cause.steps == 1 ? "" : " a step", fmt::join(names, ", "));
}

std::string cause_and_waiting(const StragglerCause& cause) {
  const std::string waiting = waiting_in_words(cause);
  return cause_in_words(cause) + (waiting.empty() ? "" : "; " + waiting);
}

}  // namespace stepscope
