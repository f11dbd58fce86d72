// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/incident_account.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace stepscope {
namespace {

bool waits_only(IncidentKind kind) {
  return kind == IncidentKind::timeout || kind == IncidentKind::stuck ||
         kind == IncidentKind::barrier;
}

bool may_be_cause(const IncidentEvent& e) { return !e.follows && !waits_only(e.kind); }

// Times with and without a year cannot be compared, and go apart.
struct Order {
  int group = 0;
  Ns time{};
  auto operator<=>(const Order&) const = default;
};
Order order_of(const IncidentEvent& e) {
  if (!e.time) return {.group = 2};
  return {.group = e.time->no_year ? 1 : 0, .time = e.time->time};
}

// Events that a row joins have the same key.
std::string row_key(const IncidentEvent& e) {
  std::string key(name_of(e.kind));
  key += e.follows ? " follows " : " ";
  key += std::to_string(e.kind == IncidentKind::timeout ? -1 : e.code.value_or(-1)) + ' ';
  switch (e.kind) {
    case IncidentKind::network:
      return key + e.where + (e.code ? "" : e.text.substr(0, e.text.find_first_of("<0123456789")));
    case IncidentKind::exit:
    case IncidentKind::signal:
    case IncidentKind::device_memory:
    case IncidentKind::host_memory:
    case IncidentKind::cancelled:
      return key + e.where;
    default:
      return key + e.where + ' ' + e.text.substr(0, 120);
  }
}

// Whether an event ends a process, once.
bool ends(IncidentKind kind) {
  return kind == IncidentKind::signal || kind == IncidentKind::exit ||
         kind == IncidentKind::exception || kind == IncidentKind::host_memory ||
         kind == IncidentKind::device_memory;
}

// Processes that end one by one are not one row: the first of them may be the reason.
constexpr Ns together{10'000'000'000};
bool at_once(const IncidentEvent& row, const IncidentEvent& event) {
  if (!ends(event.kind) || !row.time || !event.time) return true;
  return row.time->no_year != event.time->no_year || event.time->time - row.time->time <= together;
}

// The size of the job, if files state one, or the recorded default group of PyTorch shows it. The
// largest communicator of a log may be that of a part of the ranks.
std::optional<int> world_of(const CommRecords& records) {
  std::set<int> sizes;
  for (const auto& [size, file] : records.incident.world_sizes) sizes.insert(size);
  for (const RecordedGroup& g : records.groups)
    if (!g.from_log && g.members_recorded && g.name == "default_pg")
      sizes.insert(static_cast<int>(g.members.size()));
  return sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
}

std::set<int> named_ranks(const CommRecords& records) {
  std::set<int> named;
  for (const CommRank& r : records.ranks)
    if (r.number && (r.has_dump || r.has_log)) named.insert(*r.number);
  for (const auto& [rank, last] : records.incident.last_lines) named.insert(rank);
  for (const IncidentEvent& e : records.incident.events)
    if (e.rank) named.insert(*e.rank);
  return named;
}

}  // namespace

IncidentAccount account_incident(const CommRecords& records, const std::vector<int>& seen) {
  IncidentAccount out;
  const std::vector<IncidentEvent>& events = records.incident.events;
  std::vector<std::uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t e) { return order_of(events[e]); });
  std::map<std::string, std::size_t> rows;
  for (const std::uint32_t e : order) {
    const IncidentEvent& event = events[e];
    const auto [at, fresh] = rows.try_emplace(row_key(event), out.rows.size());
    const bool apart = !fresh && !at_once(events[out.rows[at->second].event], event);
    if (apart) at->second = out.rows.size();
    if (fresh || apart) out.rows.push_back({.event = e});
    IncidentRow& row = out.rows[at->second];
    row.events += event.times;
    if (event.time) row.last = event.time;
    if (!event.rank)
      ++row.unranked;
    else if (!std::ranges::binary_search(row.ranks, *event.rank))
      row.ranks.insert(std::ranges::upper_bound(row.ranks, *event.rank), *event.rank);
  }
  // What comes after a watchdog has given up is no reason of its wait.
  std::optional<Order> given_up;
  for (const IncidentEvent& e : events)
    if (e.kind == IncidentKind::timeout && e.time && !e.time->after &&
        (!given_up || order_of(e) < *given_up))
      given_up = order_of(e);
  const auto too_late = [&](const IncidentEvent& e) {
    const Order when = order_of(e);
    return given_up && when.group == given_up->group && *given_up < when;
  };
  std::size_t causes = 0;
  std::set<int> orders;  // of causes: with a date, without a year, without a time
  std::set<std::uint32_t> inputs;
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    const IncidentEvent& event = events[out.rows[i].event];
    if (!may_be_cause(event) || too_late(event)) continue;
    if (!out.cause) out.cause = i;
    ++causes;
    orders.insert(order_of(event).group);
    inputs.insert(event.input);
  }
  // Within one file the lines are in order as well.
  out.cause_is_first = causes == 1 || (orders.size() == 1 && !orders.contains(2)) ||
                       (orders.size() == 1 && inputs.size() == 1);
  out.world = world_of(records);
  std::set<int> named = named_ranks(records);
  named.insert(seen.begin(), seen.end());
  const int highest = named.empty() ? -1 : *named.rbegin();
  if (out.world && *out.world <= highest) out.world.reset();
  constexpr int most = 1 << 20;
  if (!named.empty())
    for (int r = 0; r < std::min(most, out.world.value_or(highest + 1)); ++r)
      if (!named.contains(r)) out.silent.push_back(r);
  return out;
}

const IncidentEvent* first_error_of(const Incident& incident, int rank) {
  const IncidentEvent* first = nullptr;
  for (const IncidentEvent& e : incident.events) {
    if (e.rank != rank || e.kind == IncidentKind::timeout || e.kind == IncidentKind::barrier)
      continue;
    if (first == nullptr || order_of(e) < order_of(*first)) first = &e;
  }
  return first;
}

}  // namespace stepscope
