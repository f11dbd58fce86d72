// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/straggler_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

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
