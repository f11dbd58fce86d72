// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/unit_fetches.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope {

UnitSource unit_source(const JobResult& job) {
  UnitSource source = UnitSource::none;
  for (const UnitWaits& w : job.unit_waits) source = std::max(source, w.marks.source);
  return source;
}

std::string fetches_in_words(const JobResult& job) {
  std::uint64_t all = 0;
  std::uint64_t late = 0;
  std::uint64_t misses = 0;
  for (const UnitRow& u : job.units) {
    all += u.fetches();
    late += u.late;
    misses += u.misses;
  }
  if (late + misses == 0)
    return fmt::format("all {} fetches had arrived when their unit was needed", all);
  return fmt::format(
      "{} of {} fetches came after their unit was needed: {} issued too late, {} only "
      "when nothing was left to compute",
      late + misses, all, late, misses);
}

std::optional<std::string> unit_waits_warning(const JobResult& job) {
  std::uint64_t unknown = 0;
  for (const UnitWaits& w : job.unit_waits) unknown += w.unknown;
  // Tensor, sequence and context parallelism gather activations: they have no units.
  const auto gathers_units = [](const CollectiveRow& row) {
    return row.kind == CollectiveKind::all_gather && row.dimension != Dimension::tp &&
           row.dimension != Dimension::sp && row.dimension != Dimension::cp;
  };
  if (unknown == 0 || unit_source(job) != UnitSource::none ||
      std::ranges::none_of(job.collectives.rows, gathers_units))
    return std::nullopt;
  return fmt::format(
      "{} all-gathers beside reduce-scatters belong to no unit that the traces name, so nothing is "
      "said about prefetching: FSDP writes its units as annotations (record ProfilerActivity.CPU, "
      "without torch.compile around them), DeepSpeed into stacks (with_stack=True)",
      unknown);
}

}  // namespace stepscope
