// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/stray_rows.h"

#include <algorithm>

namespace stepscope {
namespace {

using Kept = std::vector<bool>;  // by row

Kept kept_of(const std::vector<Ns>& times, bool epoch) {
  Kept kept(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) kept[i] = (times[i] > earliest_epoch) == epoch;
  return kept;
}

bool all(const Kept& kept) { return std::ranges::find(kept, false) == kept.end(); }

template <class... Column>
void keep_rows(const Kept& kept, Column&... columns) {
  const auto keep = [&](auto& column) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i]) column[to++] = column[i];
    column.resize(to);
  };
  (keep(columns), ...);
}

// Removes slices and maps the ids of the remaining ones.
void drop_slices(Trace& trace, const Kept& kept) {
  std::vector<SliceId> place(kept.size(), no_slice);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) place[i] = SliceId{next++};
  Slices& s = trace.slices;
  keep_rows(kept, s.start, s.dur, s.name, s.track, s.category, s.correlation, s.external_id,
            s.detail);
  std::erase_if(trace.collectives, [&](const Collective& c) { return !kept[index(c.slice)]; });
  for (Collective& c : trace.collectives) c.slice = place[index(c.slice)];
  Counters& counters = trace.counters;
  Kept readings(counters.size());
  for (std::size_t i = 0; i < readings.size(); ++i)
    readings[i] = counters.slice[i] == no_slice || kept[index(counters.slice[i])];
  keep_rows(readings, counters.time, counters.metric, counters.value, counters.slice);
  for (SliceId& id : counters.slice)
    if (id != no_slice) id = place[index(id)];
}

}  // namespace

void drop_strays(Trace& trace) {
  const auto late =
      std::ranges::count_if(trace.slices.start, [](Ns t) { return t > earliest_epoch; });
  const bool epoch = 2 * static_cast<std::size_t>(late) > trace.slices.size();
  trace.metadata.clock = epoch ? Clock::unix_epoch : Clock::relative;
  if (trace.slices.size() == 0) return;  // no row shows which side is right
  const std::size_t before = trace.slices.size() + trace.memory.size() + trace.counters.size();
  if (const Kept kept = kept_of(trace.slices.start, epoch); !all(kept)) drop_slices(trace, kept);
  MemoryEvents& m = trace.memory;
  if (const Kept kept = kept_of(m.time, epoch); !all(kept))
    keep_rows(kept, m.time, m.track, m.address, m.bytes, m.total_allocated, m.total_reserved,
              m.device);
  Counters& c = trace.counters;
  if (const Kept kept = kept_of(c.time, epoch); !all(kept))
    keep_rows(kept, c.time, c.metric, c.value, c.slice);
  const std::size_t after = trace.slices.size() + trace.memory.size() + trace.counters.size();
  if (after < before)
    trace.notes.add("timestamp_out_of_range", trace.metadata.text_bytes, before - after);
}

}  // namespace stepscope
