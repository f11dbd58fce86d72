// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/host_communication.h"

#include <algorithm>
#include <string_view>

#include "stepscope/analysis/steps/backend_row.h"

namespace stepscope {
namespace {

struct NameFacts {
  bool candidate = false;  // communication of some kind; metadata may tell more
  bool backend = false;
  bool device = false;  // the backend is of the nccl family
  CollectiveKind kind = CollectiveKind::none;
};

std::vector<NameFacts> name_facts(const Trace& trace) {
  std::vector<NameFacts> facts(trace.strings.size());
  std::vector<bool> seen(facts.size());
  for (std::uint32_t row = 0; row < trace.slices.size(); ++row) {
    const std::uint32_t i = index(trace.slices.name[row]);
    if (seen[i] || trace.slices.kind[row] != NameClass::communication ||
        is_device_work(trace.slices.category[row]))
      continue;
    seen[i] = true;
    const std::string_view name = trace.strings[StringId{i}];
    const CollectiveKind kind = collective_kind(name);
    const bool params = name == "record_param_comms";
    facts[i] = {params || kind != CollectiveKind::none, is_backend_row(name),
                name.substr(0, name.find(':')).ends_with("ccl"), kind};
  }
  return facts;
}

CollectiveKind kind_of(const Trace& trace, const Collective& meta) {
  return collective_kind(trace.strings[meta.name]);
}

bool is_wait(const Trace& trace, const Collective& meta) {
  return trace.strings[meta.name] == "wait";
}

}  // namespace

HostCommunication find_host_communication(const Trace& trace, const std::vector<TrackId>& threads) {
  const std::vector<NameFacts> facts = name_facts(trace);
  const Slices& s = trace.slices;
  HostCommunication found;
  for (const TrackId thread : threads) {
    const Track& track = trace.track(thread);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const NameFacts& fact = facts[index(s.name[i])];
      if (!fact.candidate) continue;
      HostRow row;
      row.slice = SliceId{i};
      row.meta = trace.collective(row.slice);
      if (row.meta != nullptr && is_wait(trace, *row.meta)) continue;
      row.kind = fact.kind;
      if (row.meta != nullptr) {
        row.form = HostForm::params;
        const CollectiveKind recorded = kind_of(trace, *row.meta);
        if (recorded != CollectiveKind::none) row.kind = recorded;
      } else if (fact.backend) {
        row.form = HostForm::backend;
        row.enqueues = fact.device;
      }
      found.rows.push_back(row);
    }
  }
  std::ranges::sort(found.rows, {}, [](const HostRow& row) { return index(row.slice); });
  return found;
}

std::vector<std::uint32_t> HostCommunication::around(const Trace& trace, TrackId thread,
                                                     Ns t) const {
  // Communication rows nest only a few levels. The bound keeps overlapping rows from a long walk.
  constexpr std::size_t walk = 16;
  const Slices& s = trace.slices;
  const Track& track = trace.track(thread);
  const auto begin = std::ranges::lower_bound(rows, track.first, {},
                                              [](const HostRow& r) { return index(r.slice); });
  const auto end = std::ranges::lower_bound(rows, track.first + track.count, {},
                                            [](const HostRow& r) { return index(r.slice); });
  auto after = std::upper_bound(
      begin, end, t, [&](Ns at, const HostRow& row) { return at < s.start[index(row.slice)]; });
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < walk && after != begin; ++i) {
    --after;
    if (s.end(after->slice) >= t) found.push_back(static_cast<std::uint32_t>(after - rows.begin()));
  }
  return found;
}

}  // namespace stepscope
