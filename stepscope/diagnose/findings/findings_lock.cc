// SPDX-License-Identifier: Apache-2.0
// Two things that hold the host up and that traces show only in part: Python's lock, and an
// allocator that finds no room. The lock is also seen in stacks (stacks_findings.cc).
#include <algorithm>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"

namespace stepscope {
namespace {

std::int64_t steps_of(const RankResult& r) {
  return std::max<std::int64_t>(1, std::ssize(r.steps));
}

void find_retries(FindingList& list) {
  const RankResult* most = nullptr;
  for (const RankResult& r : list.job().ranks)
    if (r.retries.count > 0 && (most == nullptr || r.retries.total > most->retries.total))
      most = &r;
  if (most == nullptr) return;
  const AllocationRetries& retries = most->retries;
  Finding f;
  f.id = "allocation_retries";
  f.sort = FindingSort::fault;
  f.what = msg::found_retries();
  f.evidence.push_back(msg::retries_of_rank(
      most->rank, retries.count, retries.frees,
      value_if(retries.after_failure > 0, retries.after_failure), retries.total));
  f.evidence.push_back(msg::inferred_retries());
  f.place = FindingPlace{most->rank, retries.worst_at, retries.worst};
  f.advice = msg::leave_room();
  const bool replayed = replay_tells(list.job()) && list.what_if("allocator_free") != nullptr;
  if (replayed) f.change = "allocator_free";
  list.add_bounded(std::move(f), cost_of_retries(list.job(), *most), msg::by_those_calls());
}

void find_lock_rows(FindingList& list) {
  const RankResult* most = nullptr;
  for (const RankResult& r : list.job().ranks)
    if (r.gil.count > 0 && (most == nullptr || r.gil.idle > most->gil.idle)) most = &r;
  if (most == nullptr) return;
  Finding f = lock_finding();
  f.evidence.push_back(
      msg::waits_for_lock(most->rank, most->gil.count, most->gil.total, most->gil.idle));
  f.place = FindingPlace{most->rank, most->gil.worst_at, most->gil.worst};
  list.add_bounded(std::move(f), most->gil.idle / steps_of(*most), msg::by_idle_in_waits());
}

}  // namespace

Finding lock_finding() {
  Finding f;
  f.id = "gil_contention";
  f.key = f.id;
  f.sort = FindingSort::fault;
  f.what = msg::found_lock();
  f.advice = msg::free_the_lock();
  return f;
}

void find_lock_and_retries(FindingList& list) {
  find_retries(list);
  find_lock_rows(list);
}

}  // namespace stepscope
