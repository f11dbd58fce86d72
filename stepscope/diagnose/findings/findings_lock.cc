// SPDX-License-Identifier: Apache-2.0
// Two things that hold the host up and that traces show only in part: Python's lock, and an
// allocator that finds no room. The lock is also seen in stacks (stacks_findings.cc).
#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

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
  f.what = "The device has no room for an allocation until cached memory is freed";
  f.evidence.push_back(fmt::format(
      "rank {}: {} of an allocation that freed cached blocks ({}) and allocated again with nothing "
      "launched between{}; {} in all",
      most->rank, counted(retries.count, "case"), counted(retries.frees, "free"),
      retries.after_failure == 0
          ? ""
          : fmt::format(", {} of them after a first try", retries.after_failure),
      format_time(retries.total)));
  f.evidence.emplace_back(
      "inferred from the order of the calls: a trace does not carry what an allocation returned");
  f.place = FindingPlace{most->rank, retries.worst_at, retries.worst};
  f.advice =
      "Leave the device more room: a smaller micro-batch, more recomputation or sharding; "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True and equal shapes against fragmentation; "
      "torch.cuda.memory_stats()['num_alloc_retries'] counts them";
  const bool replayed = replay_tells(list.job()) && list.what_if("allocator_free") != nullptr;
  list.add_bounded(std::move(f), cost_of_retries(list.job(), *most),
                   replayed ? "allocator_free" : "those calls");
}

void find_lock_rows(FindingList& list) {
  const RankResult* most = nullptr;
  for (const RankResult& r : list.job().ranks)
    if (r.gil.count > 0 && (most == nullptr || r.gil.idle > most->gil.idle)) most = &r;
  if (most == nullptr) return;
  Finding f = lock_finding();
  f.evidence.push_back(fmt::format(
      "rank {}: {} for {}, during {} of which the device had nothing to do", most->rank,
      counted(most->gil.count, "wait"), format_time(most->gil.total), format_time(most->gil.idle)));
  f.place = FindingPlace{most->rank, most->gil.worst_at, most->gil.worst};
  list.add_bounded(std::move(f), most->gil.idle / steps_of(*most),
                   "idle time of the device in those waits");
}

}  // namespace

Finding lock_finding() {
  Finding f;
  f.id = "gil_contention";
  f.key = f.id;
  f.sort = FindingSort::fault;
  f.what = "A thread that launches work waits for Python's global interpreter lock";
  f.advice =
      "Move what the other threads compute into processes (the data loader's workers, logging, "
      "pinning), have them release the lock (native code, larger batches of work), or start fewer "
      "of them";
  return f;
}

void find_lock_and_retries(FindingList& list) {
  find_retries(list);
  find_lock_rows(list);
}

}  // namespace stepscope
