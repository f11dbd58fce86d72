// SPDX-License-Identifier: Apache-2.0
// Parameters of sharded units that were not there when they were needed.
#include <fmt/format.h>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// The fewest units ahead that give back nearly all that prefetching can.
const WhatIf* best_prefetch(const JobResult& job) {
  if (!job.explanation) return nullptr;
  Ns most{};
  for (const WhatIf& w : job.explanation->what_ifs)
    if (w.scenario.change == Change::prefetch) most = std::max(most, w.saved);
  const WhatIf* best = nullptr;
  for (const WhatIf& w : job.explanation->what_ifs) {
    if (w.scenario.change != Change::prefetch || w.saved <= Ns{0}) continue;
    if (static_cast<double>(w.saved.count()) <
        threshold::enough_prefetch * static_cast<double>(most.count()))
      continue;
    if (best == nullptr || w.scenario.factor < best->scenario.factor) best = &w;
  }
  return best;
}

std::string advice_for(UnitSource source, double ahead) {
  switch (source) {
    case UnitSource::stepscope:
      return fmt::format("stepscope train --prefetch {}", ahead);
    case UnitSource::fsdp1:
      return "forward_prefetch=True and backward_prefetch=BackwardPrefetch.BACKWARD_PRE of FSDP; "
             "limit_all_gathers=False where memory allows";
    case UnitSource::fsdp2:
      return fmt::format(
          "set_modules_to_forward_prefetch and set_modules_to_backward_prefetch with the next {} "
          "units of each",
          ahead);
    case UnitSource::deepspeed:
      return "Raise stage3_prefetch_bucket_size (and stage3_max_live_parameters with it) so that "
             "it holds that many modules, and look for \"Invalidate trace cache\" in the log: "
             "after it nothing is prefetched";
    case UnitSource::none:
      break;
  }
  return {};
}

}  // namespace

void find_prefetch(FindingList& list) {
  const JobResult& job = list.job();
  const WhatIf* best = best_prefetch(job);
  if (best == nullptr || job.units.empty() || job.units.front().late_time <= Ns{0}) return;
  const UnitRow& worst = job.units.front();
  Finding f;
  f.id = "prefetch_miss";
  f.sort = FindingSort::fault;
  f.what = fmt::format("Parameters are fetched too late: {} unit{} ahead would do",
                       best->scenario.factor, best->scenario.factor == 1 ? "" : "s");
  f.evidence.push_back(fetches_in_words(job));
  const UnitFetch& fetch = worst.worst.fetch;
  f.evidence.push_back(fmt::format("{} ({}): {} after it was needed, of a transfer of {}",
                                   worst.unit,
                                   unit_pass_names[static_cast<std::size_t>(worst.pass)],
                                   format_time(fetch.late()), format_time(fetch.transfer)));
  if (const auto ahead = recorded_prefetch(job.unit_waits))
    f.evidence.push_back(
        fmt::format("most fetches are issued {} unit{} ahead", *ahead, *ahead == 1 ? "" : "s"));
  f.place = FindingPlace{worst.worst.rank, fetch.needed, fetch.late()};
  f.advice = advice_for(unit_source(job), best->scenario.factor) +
             "; it takes the memory of so many more units";
  list.add_replayed(std::move(f), best);
}

}  // namespace stepscope
