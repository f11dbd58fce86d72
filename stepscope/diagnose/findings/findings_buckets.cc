// SPDX-License-Identifier: Apache-2.0
// Gradients in messages of another size.
#include <fmt/format.h>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

namespace stepscope {

bool find_bucket_size(FindingList& list) {
  if (!list.job().explanation || !list.job().explanation->buckets) return false;
  const BucketSearch& search = *list.job().explanation->buckets;
  const Bytes best = search.best.scenario.size.value_or(Bytes{});
  const bool larger = best > search.usual;
  const auto size = [](Bytes b) { return format_bytes(static_cast<double>(b.value)); };
  Finding f;
  f.id = larger ? "bucket_too_small" : "bucket_too_large";
  f.what = larger ? "Gradients go in messages so small that their latency costs more than it hides"
                  : "Gradients go in messages so large that they begin late";
  f.evidence.push_back(fmt::format(
      "{}: half of the bytes in messages of {} or more, {} messages over the recorded steps",
      collective_kind_names[static_cast<std::size_t>(search.kind)], size(search.usual),
      search.before));
  f.evidence.push_back(
      fmt::format("best of the sizes tried: {}, {} messages", size(best), search.after));
  for (const std::string& note : search.best.notes) f.evidence.push_back(note);
  f.advice = fmt::format(
      "{} about {}: bucket_cap_mb of DDP, reduce_bucket_size of DeepSpeed (elements), {} FSDP "
      "units, --bucket of stepscope train",
      larger ? "Fewer, larger messages of" : "Smaller messages of", size(best),
      larger ? "larger" : "smaller");
  f.place = list.place_on_path(collective_kind_names[static_cast<std::size_t>(search.kind)]);
  const bool counts = list.share(search.best.saved) >= threshold::least_gain;
  list.add_replayed(std::move(f), &search.best);
  return counts && larger;
}

}  // namespace stepscope
