// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/straggler_words.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "stepscope/diagnose/thresholds.h"

namespace stepscope {
namespace {

Message doing_in_words(const StragglerCause& cause) {
  constexpr std::size_t max_characters = 60;  // of a kernel's name
  switch (cause.doing) {
    case LateDoing::more_compute: {
      std::size_t cut = std::min(max_characters, cause.what.size());
      while (cut > 0 && cut < cause.what.size() && (cause.what[cut] & 0xC0) == 0x80) --cut;
      return msg::more_compute(
          cause.peer, cut < cause.what.size() ? cause.what.substr(0, cut) + "..." : cause.what);
    }
    case LateDoing::longer_transfer:
      return msg::longer_transfer(cause.what);
    case LateDoing::more_loading:
      return msg::more_loading();
    case LateDoing::host_gap:
      return msg::host_gap(cause.what);
    case LateDoing::host_work:
      return msg::host_in(cause.what);
    case LateDoing::device_idle:
      return msg::without_work();
    case LateDoing::device_late:
      return msg::waits_for_launched();
    case LateDoing::waits_for:
    case LateDoing::unrecorded:
      break;
  }
  return msg::nothing_recorded();
}

}  // namespace

Message cause_in_words(const StragglerCause& cause) {
  const Value steps = value_if(cause.steps > 1, cause.steps);
  const bool each = cause.in_steps == cause.steps;
  if (cause.doing == LateDoing::waits_for && cause.peer)
    return msg::late_waits(cause.amount, *cause.peer, steps, each, cause.in_steps);
  return msg::late_cause(cause.amount, doing_in_words(cause), steps, each, cause.in_steps);
}

Message waiting_in_words(const StragglerCause& cause) {
  if (cause.waiting.empty()) return {};
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : cause.collectives)
    names.push_back(collective_kind_names[static_cast<std::size_t>(kind)]);
  std::ranges::sort(names);
  Messages list;
  for (const std::string_view name : names) list.push_back(msg::plain(name));
  return msg::ranks_wait(cause.waiting, cause.wait, cause.steps != 1, std::move(list));
}

Message latest_in_words(std::span<const Straggler> ranks, std::size_t all) {
  const auto most = std::ranges::max_element(ranks, {}, &Straggler::upper_bound);
  if (most == ranks.end() || most->late_share < threshold::latest_share) return {};
  std::vector<int> as_late;
  double persistence = 0;
  bool delays = false;
  for (const Straggler& s : ranks) {
    if (threshold::latest_times * s.upper_bound < most->upper_bound) continue;
    as_late.push_back(s.rank);
    persistence += s.persistence;
    delays = delays || !s.significant || delays_others(s);
  }
  // Where most are as late, it is the schedule's.
  if (persistence < threshold::latest_steps || !delays ||
      (as_late.size() > 1 && 2 * as_late.size() >= all))
    return {};
  std::ranges::sort(as_late);
  return msg::latest_rank(std::move(as_late), most->upper_bound, Percent{most->late_share},
                          value_if(!most->significant, most->steps.size()));
}

Message cause_and_waiting(const StragglerCause& cause) {
  return msg::cause_and_waiting(cause_in_words(cause), waiting_in_words(cause));
}

}  // namespace stepscope
