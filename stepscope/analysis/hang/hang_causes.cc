// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {
namespace {

// True if somebody did not come; else all came and something else is wrong.
bool is_absence(const HangFinding& f) {
  return f.kind == HangKind::missing || f.kind == HangKind::unpaired ||
         f.kind == HangKind::no_record;
}

// Position, among all calls of a rank, of its call that a finding since then is about.
std::optional<std::uint32_t> position_in(const CommRecords& records, const HangFinding& f,
                                         std::uint32_t rank) {
  const auto at = records.sequence_index.find(std::uint64_t{f.group} << 32U | rank);
  if (at == records.sequence_index.end()) return std::nullopt;
  const CommSequence& s = records.sequences[at->second];
  const bool pair = f.kind == HangKind::unpaired || f.kind == HangKind::pair_size;
  const std::vector<CommCall>& calls = pair ? s.pairs : s.collectives;
  const auto call = std::ranges::lower_bound(calls, f.since, {}, &CommCall::sequence);
  if (call != calls.end() && call->sequence == f.since) return call->position;
  return std::nullopt;
}

// A finding, and the position of its call among all calls of a rank.
struct Standing {
  std::size_t finding = 0;
  std::uint32_t position = 0;
};
template <class Rank>
void keep_earlier(std::map<Rank, Standing>& of, Rank key, Standing standing) {
  const auto [at, fresh] = of.try_emplace(key, standing);
  if (!fresh && standing.position < at->second.position) at->second = standing;
}

// The standing of each rank: the first of its calls that a finding is about.
struct Standings {
  std::map<std::uint32_t, Standing> waiting;  // by rank that made the call
  std::map<std::uint32_t, Standing> absent;   // by rank that did not come to the call
  std::map<int, Standing> unrecorded;         // by rank of the job
};

void note_waiting(const CommRecords& records, const std::vector<HangFinding>& findings,
                  Standings& out) {
  for (std::size_t f = 0; f < findings.size(); ++f)
    for (const auto* ranks : {&findings[f].others, &findings[f].ranks}) {
      if (ranks == &findings[f].ranks && is_absence(findings[f])) continue;
      for (const std::uint32_t rank : *ranks)
        if (const auto position = position_in(records, findings[f], rank))
          keep_earlier(out.waiting, rank, {f, *position});
    }
}

// A rank without a standing stopped before the earliest call that waits for it: ranks of one
// program make the same calls. Calls that other missing ranks cannot reach show nothing about this.
void note_absent(const CommRecords& records, const std::vector<HangFinding>& findings,
                 Standings& out) {
  for (std::size_t f = 0; f < findings.size(); ++f) {
    const HangFinding& finding = findings[f];
    if (!is_absence(finding)) continue;
    const bool kept = std::ranges::any_of(finding.ranks, [&](std::uint32_t rank) {
      const auto at = out.waiting.find(rank);
      return at != out.waiting.end() && at->second.finding != f;
    });
    if (kept) continue;
    std::optional<std::uint32_t> least;
    for (const std::uint32_t rank : finding.others)
      if (const auto position = position_in(records, finding, rank))
        least = std::min(least.value_or(*position), *position);
    if (!least) continue;
    for (const std::uint32_t rank : finding.ranks) keep_earlier(out.absent, rank, {f, *least});
    for (const int rank : finding.unrecorded) keep_earlier(out.unrecorded, rank, {f, *least});
  }
}

// The finding in which a missing rank stands instead.
std::optional<std::size_t> cause_of(const Standings& s, std::uint32_t rank, std::size_t f) {
  for (const auto* of : {&s.waiting, &s.absent})
    if (const auto at = of->find(rank); at != of->end())
      return at->second.finding == f ? std::nullopt : std::optional(at->second.finding);
  return std::nullopt;
}

std::optional<std::size_t> cause_of(const Standings& s, const HangFinding& f, std::size_t index) {
  std::optional<std::size_t> cause;
  if (f.kind == HangKind::no_record) {
    for (const int rank : f.unrecorded) {
      const auto first = s.unrecorded.find(rank);
      if (first == s.unrecorded.end() || first->second.finding == index) return std::nullopt;
      if (!cause) cause = first->second.finding;
    }
    return cause;
  }
  // If ranks are missing, all of them must be explained. If all have come, one rank held up
  // elsewhere is enough.
  const bool all = f.kind != HangKind::not_finished;
  for (const std::uint32_t rank : f.ranks) {
    const auto own = cause_of(s, rank, index);
    if (!own && all) return std::nullopt;
    if (own && !cause) cause = own;
  }
  return cause;
}

// Whether all ranks have made a call that no device has begun: each waits behind earlier work of
// its device, so that the call shows less of the cause than a rank that did not come.
bool waits_behind_others(const HangFinding& f) {
  return f.kind == HangKind::not_finished && f.call && f.call->state == CallState::scheduled;
}

}  // namespace

void find_causes(const CommRecords& records, HangAccount& out) {
  std::vector<HangFinding>& all = out.findings;
  Standings standings;
  note_waiting(records, all, standings);
  note_absent(records, all, standings);
  for (std::size_t f = 0; f < all.size(); ++f)
    if (is_absence(all[f]) || all[f].kind == HangKind::not_finished)
      all[f].follows = cause_of(standings, all[f], f);
  // A walk that comes back to its own steps has found a cycle.
  std::vector<std::size_t> walk(all.size(), all.size());  // by finding: the walk that saw it
  for (std::size_t f = 0; f < all.size(); ++f) {
    std::optional<std::size_t> at = f;
    for (; at && walk[*at] == all.size(); at = all[*at].follows) walk[*at] = f;
    if (!at || walk[*at] != f) continue;
    for (; !all[*at].circular; at = all[*at].follows) all[*at].circular = true;
  }
}

void put_causes_first(HangAccount& out) {
  std::vector<std::size_t> order(out.findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const HangFinding& f = out.findings[i];
    return !f.follows ? (waits_behind_others(f) ? 1 : 0) : f.circular ? 2 : 3;
  });
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<HangFinding> sorted;
  for (const std::size_t i : order) {
    sorted.push_back(std::move(out.findings[i]));
    if (sorted.back().follows) sorted.back().follows = place[*sorted.back().follows];
  }
  out.findings = std::move(sorted);
}

}  // namespace stepscope
