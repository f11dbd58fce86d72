// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/hang_sentence.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// Numbers of ranks, or names of processes of which one has none.
Value who(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  std::vector<int> numbers;
  std::vector<std::string> labels;
  for (const std::uint32_t rank : ranks) {
    const CommRank& known = r.records.ranks[rank];
    if (known.number) numbers.push_back(*known.number);
    labels.push_back(printable(known.label));
  }
  std::ranges::sort(numbers);
  return numbers.size() == ranks.size() ? Value(numbers) : Value(labels);
}

// "all_reduce 78 of default_pg".
Message place(const HangResult& r, const HangFinding& f) {
  return msg::call_in_group(f.call ? Value(printable(f.call->name)) : Value(), f.sequence,
                            group_in_words(r, f.group));
}

Message mismatch(const HangResult& r, const HangFinding& f) {
  const Value they = who(r, f.ranks);
  const Value others = who(r, f.others);
  const Message group = group_in_words(r, f.group);
  switch (f.kind) {
    case HangKind::size:
      return f.ranks.empty() ? msg::sizes_differ(place(r, f))
                             : msg::call_of_size(they, place(r, f), printable(f.instead->sizes),
                                                 others, printable(f.call->sizes));
    case HangKind::type:
      return msg::call_of_type(they, place(r, f), printable(f.instead->types), others,
                               printable(f.call->types));
    case HangKind::argument:
      return msg::call_with_argument(they, printable(f.instead->name), f.sequence, group, others,
                                     printable(f.call->name));
    case HangKind::order:
      return msg::calls_in_other_order(they, printable(f.instead->name), f.sequence,
                                       printable(f.call->name), group, others);
    case HangKind::left_out:
      return msg::call_left_out(they, place(r, f), others);
    case HangKind::additional:
      return msg::additional_call(they, printable(f.instead->name), f.sequence, group, others);
    default:
      return msg::other_call(they, printable(f.instead->name), f.sequence, group, others,
                             printable(f.call->name));
  }
}

// Whether every rank of every group was seen.
Message unseen_ranks(const HangResult& r) {
  std::set<int> recorded;
  for (const CommRank& rank : r.records.ranks)
    if (rank.number) recorded.insert(*rank.number);
  std::set<int> unseen;
  const HangGroup* partial = nullptr;
  for (const HangGroup& g : r.account.groups) {
    if (g.recorded >= g.size) continue;
    if (partial == nullptr || g.size > partial->size) partial = &g;
    if (r.records.groups[g.group].members_recorded)
      for (const int member : r.records.groups[g.group].members)
        if (!recorded.contains(member)) unseen.insert(member);
  }
  if (!unseen.empty()) return msg::ranks_not_seen(std::vector(unseen.begin(), unseen.end()));
  if (partial != nullptr)
    return msg::ranks_partly_seen(partial->recorded, partial->size,
                                  group_in_words(r, partial->group));
  return r.records.ranks.size() == 1 ? msg::one_rank_seen() : msg::all_calls_seen();
}

}  // namespace

Message group_in_words(const HangResult& r, std::uint32_t group) {
  const RecordedGroup& g = r.records.groups[group];
  if (g.from_log) return msg::communicator(printable(g.id), value_if(g.size > 0, g.size));
  return g.name.empty() || g.name == "undefined" ? msg::group_number(printable(g.id))
                                                 : msg::plain(printable(g.name));
}

Message finding_in_words(const HangResult& r, const HangFinding& f) {
  switch (f.kind) {
    case HangKind::missing:
      return msg::rank_missing(who(r, f.ranks), place(r, f), who(r, f.others), f.unrecorded);
    case HangKind::no_record:
      return msg::rank_without_record(who(r, f.others), place(r, f), f.unrecorded);
    case HangKind::not_finished:
      return f.others.empty()
                 ? msg::none_finishes(f.ranks.size(), place(r, f))
                 : msg::does_not_finish(who(r, f.ranks), place(r, f), who(r, f.others));
    case HangKind::pair_size:
      return msg::pair_of_sizes(who(r, f.ranks), printable(f.call->sizes), who(r, f.others),
                                group_in_words(r, f.group), printable(f.instead->sizes));
    case HangKind::unpaired:
      return msg::waits_for_peer(who(r, f.others), place(r, f), who(r, f.ranks),
                                 f.call->name.starts_with("s") || f.call->name.starts_with("S"));
    case HangKind::timeout:
      return msg::gave_up(who(r, f.ranks), place(r, f));
    default:
      return mismatch(r, f);
  }
}

Message hang_sentence(const HangResult& r) {
  const auto& findings = r.account.findings;
  if (findings.empty())
    return r.account.calls == 0 ? msg::no_calls() : msg::nothing_stands_still(unseen_ranks(r));
  const auto causes =
      std::ranges::count_if(findings, [](const HangFinding& f) { return !f.follows; });
  Message more;
  if (findings.front().circular)
    more = msg::wait_in_circle(false);
  else if (causes > 1)
    more = msg::other_causes(causes - 1);
  return joined(msg::sentences, {msg::sentence(finding_in_words(r, findings.front())), more});
}

}  // namespace stepscope
