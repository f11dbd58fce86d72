// SPDX-License-Identifier: Apache-2.0
// Gradients in messages of another size.
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"

namespace stepscope {

bool find_bucket_size(FindingList& list) {
  if (!list.job().explanation || !list.job().explanation->buckets) return false;
  const BucketSearch& search = *list.job().explanation->buckets;
  const Bytes best = search.best.scenario.size.value_or(Bytes{});
  const bool larger = best > search.usual;
  Finding f;
  f.id = larger ? "bucket_too_small" : "bucket_too_large";
  f.what = larger ? msg::found_small_buckets() : msg::found_large_buckets();
  f.evidence.push_back(msg::usual_size(collective_kind_names[static_cast<std::size_t>(search.kind)],
                                       search.usual, search.before));
  f.evidence.push_back(msg::best_size(best, search.after));
  for (const std::string& note : search.best.notes) f.evidence.push_back(msg::plain(note));
  f.advice = msg::choose_bucket(larger, best);
  f.place = list.place_on_path(collective_kind_names[static_cast<std::size_t>(search.kind)]);
  const bool counts = list.share(search.best.saved) >= threshold::least_gain;
  list.add_replayed(std::move(f), &search.best);
  return counts && larger;
}

}  // namespace stepscope
