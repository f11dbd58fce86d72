// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/unit_fetches.h"

#include <algorithm>

namespace stepscope {

UnitSource unit_source(const JobUnits& units) {
  UnitSource source = UnitSource::none;
  for (const UnitWaits& w : units.waits) source = std::max(source, w.marks.source);
  return source;
}

Message fetches_in_words(const JobUnits& units) {
  std::uint64_t all = 0;
  std::uint64_t late = 0;
  std::uint64_t misses = 0;
  for (const UnitRow& u : units.rows) {
    all += u.fetches();
    late += u.late;
    misses += u.misses;
  }
  return late + misses == 0 ? msg::fetches_in_time(all)
                            : msg::fetches_late(late + misses, all, late, misses);
}

Message unit_waits_warning(const JobUnits& units, const Collectives& collectives) {
  std::uint64_t unknown = 0;
  for (const UnitWaits& w : units.waits) unknown += w.unknown;
  // Tensor, sequence and context parallelism gather activations: they have no units.
  const auto gathers_units = [](const CollectiveRow& row) {
    return row.kind == CollectiveKind::all_gather && row.dimension != Dimension::tp &&
           row.dimension != Dimension::sp && row.dimension != Dimension::cp;
  };
  if (unknown == 0 || unit_source(units) != UnitSource::none ||
      std::ranges::none_of(collectives.rows, gathers_units))
    return {};
  return msg::units_unknown(unknown);
}

}  // namespace stepscope
