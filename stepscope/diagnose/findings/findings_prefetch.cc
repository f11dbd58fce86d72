// SPDX-License-Identifier: Apache-2.0
// Parameters of sharded units that were not there when they were needed.
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/unit_fetches.h"

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

Message advice_for(UnitSource source, double ahead) {
  switch (source) {
    case UnitSource::stepscope:
      return msg::prefetch_stepscope(Digits{ahead});
    case UnitSource::fsdp1:
      return msg::prefetch_fsdp1();
    case UnitSource::fsdp2:
      return msg::prefetch_fsdp2(Digits{ahead});
    case UnitSource::deepspeed:
      return msg::prefetch_deepspeed();
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
  f.what = msg::found_late_fetches(Digits{best->scenario.factor});
  f.evidence.push_back(fetches_in_words(job));
  const UnitFetch& fetch = worst.worst.fetch;
  f.evidence.push_back(msg::worst_fetch(worst.unit,
                                        unit_pass_names[static_cast<std::size_t>(worst.pass)],
                                        fetch.late(), fetch.transfer));
  if (const auto ahead = recorded_prefetch(job.unit_waits))
    f.evidence.push_back(msg::usual_fetches(*ahead));
  f.place = FindingPlace{worst.worst.rank, fetch.needed, fetch.late()};
  f.advice = msg::prefetch_costs(advice_for(unit_source(job), best->scenario.factor));
  list.add_replayed(std::move(f), best);
}

}  // namespace stepscope
