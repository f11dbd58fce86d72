// SPDX-License-Identifier: Apache-2.0
// Memory near its limit, a device that others use too, and captures too short to judge by.
#include <algorithm>
#include <span>
#include <vector>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/verdict.h"

namespace stepscope {
namespace {

void find_memory(FindingList& list) {
  for (const RankResult& r : list.job().ranks) {
    if (!r.gpu_memory || r.gpu_memory->value <= 0) continue;
    const auto whole = static_cast<double>(r.gpu_memory->value);
    for (const DeviceMemory& d : r.memory.devices) {
      if (d.device < 0) continue;
      if (d.headroom &&
          static_cast<double>(d.headroom->value) < threshold::memory_near_limit * whole) {
        Finding f;
        f.id = "memory_near_limit";
        f.what = msg::found_full_memory(r.rank);
        f.evidence.push_back(msg::left_at_peak(*d.headroom, *r.gpu_memory));
        f.place = FindingPlace{r.rank, d.peak_time, Ns{0}};
        f.advice = msg::use_less_memory();
        list.add(std::move(f));
      }
      if (!d.peak_reserved) continue;
      const double unused = 1 - static_cast<double>(d.peak_allocated.value) /
                                    std::max(1.0, static_cast<double>(d.peak_reserved->value));
      if (unused < threshold::reserved_unused ||
          static_cast<double>(d.peak_reserved->value) < threshold::much_reserved * whole)
        continue;
      Finding f;
      f.id = "fragmentation";
      f.what = msg::found_fragmentation(r.rank);
      f.evidence.push_back(msg::reserved_and_used(*d.peak_reserved, d.peak_allocated));
      f.advice = msg::take_snapshot();
      f.confidence = Confidence::low;
      list.add(std::move(f));
    }
  }
}

// The tool that lists the processes on the device of a rank.
Value process_tool(const JobResult& job, int rank) {
  const auto r = std::ranges::find(job.ranks, rank, &RankResult::rank);
  const std::string_view device = r == job.ranks.end() ? "" : std::string_view(r->device);
  if (device == "cuda") return "nvidia-smi";
  return device == "rocm" ? Value("rocm-smi --showpids") : Value(msg::devices_tool());
}

// Their stretches without work are as long as one another: another process's time slice.
void find_time_slices(FindingList& list, std::span<const HeldDevice> all) {
  Finding f;
  f.id = "device_shared";
  f.sort = FindingSort::fault;
  std::vector<int> ranks;
  const HeldDevice* worst = nullptr;
  for (const HeldDevice& held : all) {
    if (!held.slice) continue;
    ranks.push_back(held.rank);
    if (worst == nullptr || held.total > worst->total) worst = &held;
    if (f.evidence.size() == 3) continue;
    f.evidence.push_back(msg::slices_of_rank(held.rank, held.count, held.total, held.slice));
  }
  if (worst == nullptr) return;
  f.what = msg::found_time_slices(ranks);
  f.advice = msg::find_process(process_tool(list.job(), worst->rank));
  f.place = FindingPlace{worst->rank, worst->worst_at, worst->worst};
  list.add_replayed(std::move(f), list.what_if("device_alone"));
}

// Launched work that waits although its device shows none running.
void find_shared_device(FindingList& list) {
  // Without launches nothing tells what waited.
  if (!list.job().explanation || only_communication(list.job())) return;
  find_time_slices(list, list.job().explanation->held);
  for (const HeldDevice& held : list.job().explanation->held) {
    if (held.slice) continue;
    Finding f;
    f.id = "device_shared";
    f.sort = FindingSort::fault;
    f.what = msg::found_late_starts(held.rank);
    f.evidence.push_back(msg::late_starts(held.count, held.median, held.total));
    f.advice = msg::look_for_process(process_tool(list.job(), held.rank));
    f.place = FindingPlace{held.rank, held.worst_at, held.worst};
    const std::int64_t steps =
        std::max<std::int64_t>(1, list.job().steps.empty() ? 1 : std::ssize(list.job().steps));
    f.confidence = Confidence::low;
    list.add_bounded(std::move(f), held.total / steps, msg::by_those_delays());
  }
}

void find_short_capture(FindingList& list) {
  const std::size_t steps = list.job().steps.size();
  if (steps >= threshold::enough_steps) return;
  Finding f;
  f.id = "too_few_steps";
  f.what = steps == 0              ? msg::found_no_common_step()
           : is_window(list.job()) ? msg::found_no_mark()
                                   : msg::found_few_steps(steps);
  f.advice = msg::record_three_steps(list.job().ranks.front().recording.format == "kineto");
  for (const MissingFact& m : missing_facts(list.job()))
    if (is_window(list.job()) && m.fact == Fact::steps && !m.record.empty())
      f.advice = msg::mark_steps(m.record);
  list.add(std::move(f));
}

}  // namespace

void find_memory_and_capture(FindingList& list) {
  find_memory(list);
  find_shared_device(list);
  find_short_capture(list);
}

}  // namespace stepscope
