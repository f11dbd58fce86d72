// SPDX-License-Identifier: Apache-2.0
// Memory near its limit, a device that others use too, and captures too short to judge by.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

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
        f.what = fmt::format("Device memory of rank {} is nearly full", r.rank);
        f.evidence.push_back(fmt::format("{} of {} left at the peak",
                                         format_bytes(static_cast<double>(d.headroom->value)),
                                         format_bytes(whole)));
        f.place = FindingPlace{r.rank, d.peak_time, Ns{0}};
        f.advice =
            "The allocator retries (and synchronises) near the limit: a smaller micro-batch, "
            "more recomputation, or a higher ZeRO stage";
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
      f.what = fmt::format("Rank {} reserves much more device memory than it ever uses", r.rank);
      f.evidence.push_back(fmt::format("{} reserved, at most {} allocated",
                                       format_bytes(static_cast<double>(d.peak_reserved->value)),
                                       format_bytes(static_cast<double>(d.peak_allocated.value))));
      f.advice =
          "Cache or fragmentation, which a memory snapshot tells apart "
          "(torch.cuda.memory._snapshot); expandable_segments:True helps the latter";
      f.confidence = Confidence::low;
      list.add(std::move(f));
    }
  }
}

// The tool that lists the processes on the device of a rank.
std::string process_tool(const JobResult& job, int rank) {
  const auto r = std::ranges::find(job.ranks, rank, &RankResult::rank);
  const std::string_view device = r == job.ranks.end() ? "" : std::string_view(r->device);
  if (device == "cuda") return "nvidia-smi";
  return device == "rocm" ? "rocm-smi --showpids" : "the device's own tool";
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
    f.evidence.push_back(fmt::format(
        "rank {}: {} times work waited for an idle device, {} in all; it stands idle for {} "
        "whenever it has run empty, whatever is launched meanwhile",
        held.rank, held.count, format_time(held.total), format_time(*held.slice)));
  }
  if (worst == nullptr) return;
  f.what =
      fmt::format("Another process takes time slices of the device of {}", ranks_in_words(ranks));
  f.advice = fmt::format(
      "Find the other process on that device ({}) and move it; until then each moment with an "
      "empty queue (a call that synchronises, a slow launch) costs a slice",
      process_tool(list.job(), worst->rank));
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
    f.what = fmt::format(
        "Rank {}'s device often starts nothing although work was launched long before", held.rank);
    f.evidence.push_back(fmt::format("{} times, {} each (the middle of them), {} in all",
                                     held.count, format_time(held.median),
                                     format_time(held.total)));
    f.advice = fmt::format(
        "Look for another process on that device ({}; two ranks on one device take turns in time "
        "slices of about 2 ms), else for power or thermal throttling",
        process_tool(list.job(), held.rank));
    f.place = FindingPlace{held.rank, held.worst_at, held.worst};
    const std::int64_t steps =
        std::max<std::int64_t>(1, list.job().steps.empty() ? 1 : std::ssize(list.job().steps));
    f.confidence = Confidence::low;
    list.add_bounded(std::move(f), held.total / steps, "those delays");
  }
}

void find_short_capture(FindingList& list) {
  const std::size_t steps = list.job().steps.size();
  if (steps >= threshold::enough_steps) return;
  Finding f;
  f.id = "too_few_steps";
  f.what = steps == 0 ? "No step was recorded by every rank"
           : is_window(list.job())
               ? "No step is marked: the whole recorded window counts as one"
               : fmt::format("Only {} recorded", steps == 1 ? "1 step is" : "2 steps are");
  const bool kineto = list.job().ranks.front().recording.format == "kineto";
  f.advice = fmt::format("Record at least three steps after a warm-up{}",
                         kineto ? " (torch.profiler.schedule)" : "");
  for (const MissingFact& m : missing_facts(list.job()))
    if (is_window(list.job()) && m.fact == Fact::steps && !m.record.empty())
      f.advice =
          fmt::format("Mark the steps ({}) and record at least three after a warm-up", m.record);
  list.add(std::move(f));
}

}  // namespace

void find_memory_and_capture(FindingList& list) {
  find_memory(list);
  find_shared_device(list);
  find_short_capture(list);
}

}  // namespace stepscope
