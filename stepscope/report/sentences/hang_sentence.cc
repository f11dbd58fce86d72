// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/hang_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

// "rank 3", "ranks 0, 1", "7 ranks", "process 12 on host a".
std::string who(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  std::vector<int> numbers;
  std::vector<std::string> labels;
  for (const std::uint32_t rank : ranks) {
    const CommRank& known = r.records.ranks[rank];
    if (known.number) numbers.push_back(*known.number);
    labels.push_back(printable(known.label));
  }
  std::ranges::sort(numbers);
  if (numbers.size() == ranks.size()) return ranks_in_words(numbers);
  if (labels.size() > 3) return fmt::format("{} processes", labels.size());
  return fmt::format("{}", fmt::join(labels, " and "));
}

std::string_view is(std::size_t n) { return n == 1 ? "is" : "are"; }

// The ending of a verb behind one or several.
std::string_view s(std::size_t n) { return n == 1 ? "s" : ""; }

// "all_reduce 78 of default_pg".
std::string place(const HangResult& r, const HangFinding& f) {
  const std::string name = f.call ? printable(f.call->name) : "call";
  return fmt::format("{} {} of {}", name, f.sequence, group_in_words(r, f.group));
}

std::string sizes_of(const HangCall& call) {
  return call.sizes.empty() ? std::string("an unknown size") : printable(call.sizes);
}

std::string mismatch(const HangResult& r, const HangFinding& f) {
  const std::string them = who(r, f.others);
  const std::size_t n = f.ranks.size();
  switch (f.kind) {
    case HangKind::size:
      if (f.ranks.empty())
        return fmt::format("in {} the ranks send not as much as they receive", place(r, f));
      return fmt::format("{} call{} {} with {}, {} with {}", who(r, f.ranks), s(n), place(r, f),
                         sizes_of(*f.instead), them, sizes_of(*f.call));
    case HangKind::type:
      return fmt::format("{} call{} {} with {}, {} with {}", who(r, f.ranks), s(n), place(r, f),
                         printable(f.instead->types), them, printable(f.call->types));
    case HangKind::argument:
      return fmt::format("{} call{} {} {} of {}, {} {}", who(r, f.ranks), s(n),
                         printable(f.instead->name), f.sequence, group_in_words(r, f.group), them,
                         printable(f.call->name));
    case HangKind::order:
      return fmt::format("{} call{} {} {} before {} in {}, {} the other way round", who(r, f.ranks),
                         s(n), printable(f.instead->name), f.sequence, printable(f.call->name),
                         group_in_words(r, f.group), them);
    case HangKind::left_out:
      return fmt::format("{} leave{} out {}, which {} call{}", who(r, f.ranks), s(n), place(r, f),
                         them, s(f.others.size()));
    case HangKind::additional:
      return fmt::format("{} call{} {} {} in {}, which {} do{} not call there", who(r, f.ranks),
                         s(n), printable(f.instead->name), f.sequence, group_in_words(r, f.group),
                         them, f.others.size() == 1 ? "es" : "");
    default:
      return fmt::format("{} call{} {} {} in {} where {} call{} {}", who(r, f.ranks), s(n),
                         printable(f.instead->name), f.sequence, group_in_words(r, f.group), them,
                         s(f.others.size()), printable(f.call->name));
  }
}

// Of a pair: who waits in the call is in `others`.
std::string pair_words(const HangResult& r, const HangFinding& f) {
  const bool send = f.call->name.starts_with("s") || f.call->name.starts_with("S");
  if (f.kind == HangKind::pair_size)
    return fmt::format("{} sends {} to {} in {}, which receives {}", who(r, f.ranks),
                       sizes_of(*f.call), who(r, f.others), group_in_words(r, f.group),
                       sizes_of(*f.instead));
  return fmt::format("{} waits in {} for {}, which does not {} it", who(r, f.others), place(r, f),
                     who(r, f.ranks), send ? "receive" : "send");
}

// The end of a sentence without findings: whether every rank of every group was seen.
std::string unseen_ranks(const HangResult& r) {
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
  if (!unseen.empty())
    return fmt::format(", but {} {} not recorded: give the records of every rank.",
                       ranks_in_words({unseen.begin(), unseen.end()}), is(unseen.size()));
  if (partial != nullptr)
    return fmt::format(
        ", but {} of the {} ranks of {} {} recorded: give the records of every rank.",
        partial->recorded, partial->size, group_in_words(r, partial->group),
        is(static_cast<std::size_t>(partial->recorded)));
  if (r.records.ranks.size() == 1)
    return ", which is one rank: give the records of every rank of the job.";
  return ": every rank has every call.";
}

}  // namespace

std::string group_in_words(const HangResult& r, std::uint32_t group) {
  const RecordedGroup& g = r.records.groups[group];
  if (!g.from_log) {
    if (!g.name.empty() && g.name != "undefined") return printable(g.name);
    return "group " + printable(g.id);
  }
  std::string out = "the communicator";
  if (!g.id.empty()) out += ' ' + printable(g.id);
  if (g.size > 0) out += " of " + counted(static_cast<std::uint64_t>(g.size), "rank");
  return out;
}

std::string finding_in_words(const HangResult& r, const HangFinding& f) {
  switch (f.kind) {
    case HangKind::missing: {
      std::string out =
          fmt::format("{} {} missing in {}, where {} wait{}", who(r, f.ranks), is(f.ranks.size()),
                      place(r, f), who(r, f.others), s(f.others.size()));
      if (!f.unrecorded.empty())
        out += fmt::format(" (of {} nothing is recorded)", ranks_in_words(f.unrecorded));
      return out;
    }
    case HangKind::no_record:
      return fmt::format("{} wait{} in {}, and of {} nothing is recorded", who(r, f.others),
                         s(f.others.size()), place(r, f), ranks_in_words(f.unrecorded));
    case HangKind::not_finished:
      if (f.others.empty())
        return fmt::format("all {} ranks are in {}, and none finishes it", f.ranks.size(),
                           place(r, f));
      return fmt::format("{} do{} not finish {}, {} did", who(r, f.ranks),
                         f.ranks.size() == 1 ? "es" : "", place(r, f), who(r, f.others));
    case HangKind::unpaired:
    case HangKind::pair_size:
      return pair_words(r, f);
    case HangKind::timeout:
      return fmt::format("the watchdog of {} gave up on {}, and nothing tells why", who(r, f.ranks),
                         place(r, f));
    default:
      return mismatch(r, f);
  }
}

std::string hang_sentence(const HangResult& r) {
  const auto& findings = r.account.findings;
  if (findings.empty())
    return r.account.calls == 0 ? "No calls are recorded: nothing can be said of a hang."
                                : "Nothing stands still in what is recorded" + unseen_ranks(r);
  std::string out = capitalised(finding_in_words(r, findings.front())) + '.';
  const auto causes = static_cast<std::size_t>(
      std::ranges::count_if(findings, [](const HangFinding& f) { return !f.follows; }));
  if (findings.front().circular)
    out += " The ranks wait for each other in a circle.";
  else if (causes > 1)
    out += fmt::format(" {} more {} from nothing else.", causes - 1,
                       causes == 2 ? "finding follows" : "findings follow");
  return out;
}

}  // namespace stepscope
