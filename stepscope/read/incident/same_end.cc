// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/same_end.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "stepscope/event/signal_code.h"

namespace stepscope {
namespace {

// Hosts of several nodes may have processes of one number.
using Process = std::pair<std::string, std::int64_t>;

// The rank of each process that any line names with its rank. A line without a host stands for each
// host of the file.
std::map<Process, int> ranks_of_processes(const std::vector<IncidentEvent>& events,
                                          std::size_t first) {
  std::map<Process, int> ranks;
  std::map<Process, bool> certain;
  const auto note = [&](const std::string& host, std::int64_t pid, int rank) {
    const auto [at, fresh] = ranks.try_emplace({host, pid}, rank);
    certain[at->first] = fresh || (certain[at->first] && at->second == rank);
  };
  for (std::size_t i = first; i < events.size(); ++i) {
    const IncidentEvent& e = events[i];
    if (!e.rank || !e.pid || e.earlier_step) continue;
    note({}, *e.pid, *e.rank);
    if (!e.host.empty()) note(e.host, *e.pid, *e.rank);
  }
  std::erase_if(ranks, [&](const auto& r) { return !certain[r.first]; });
  return ranks;
}

// The signal that ended the process of an event; 0: none.
std::int64_t signal_of(const IncidentEvent& e) {
  if (e.kind == IncidentKind::signal) return e.code.value_or(0);
  if (e.kind == IncidentKind::exit) return signal_of_code(e.code.value_or(0)).value_or(0);
  return 0;
}

}  // namespace

void join_same_ends(std::vector<IncidentEvent>& events, std::size_t first) {
  const std::map<Process, int> ranks = ranks_of_processes(events, first);
  for (std::size_t i = first; i < events.size(); ++i) {
    IncidentEvent& e = events[i];
    if (e.rank || !e.pid || e.earlier_step) continue;
    auto at = ranks.find({e.host, *e.pid});
    if (at == ranks.end()) at = ranks.find({{}, *e.pid});
    if (at != ranks.end()) e.rank = at->second;
  }
  // A process ends once: by one signal, or with one code.
  using End = std::tuple<int, std::int64_t, std::int64_t>;  // rank, signal, code
  std::map<End, std::size_t> known;
  std::size_t kept = first;
  for (std::size_t i = first; i < events.size(); ++i) {
    IncidentEvent& e = events[i];
    const bool ends = e.kind == IncidentKind::signal || e.kind == IncidentKind::exit;
    if (ends && e.rank && e.code && !e.earlier_step) {
      const std::int64_t signal = signal_of(e);
      const auto [at, fresh] =
          known.try_emplace(End{*e.rank, signal, signal == 0 ? *e.code : 0}, kept);
      IncidentEvent& same = events[at->second];
      // Another end of the rank is one of a later attempt of the job.
      const bool another = !fresh && same.pid && e.pid && same.pid != e.pid;
      if (!fresh && !another) {
        same.times += e.times;
        if (!same.pid) same.pid = e.pid;
        if (same.host.empty()) same.host = e.host;
        if (!same.time) same.time = e.time;
        continue;
      }
      if (another) at->second = kept;
    }
    if (kept != i) events[kept] = std::move(e);
    ++kept;
  }
  events.resize(kept);
}

}  // namespace stepscope
