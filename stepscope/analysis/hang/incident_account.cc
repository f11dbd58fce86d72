// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/incident_account.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "stepscope/base/ascii.h"
#include "stepscope/event/signal_code.h"

namespace stepscope {
namespace {

bool waits_only(IncidentKind kind) {
  return kind == IncidentKind::timeout || kind == IncidentKind::stuck ||
         kind == IncidentKind::barrier || kind == IncidentKind::absent ||
         kind == IncidentKind::idle_device;
}

bool may_be_cause(const IncidentEvent& e) {
  return !e.follows && !e.earlier_step && !waits_only(e.kind);
}

bool is_abort(const IncidentEvent& e) {
  return e.code == (e.kind == IncidentKind::exit ? 128 + 6 : 6) &&
         (e.kind == IncidentKind::exit || e.kind == IncidentKind::signal);
}

// Whether an end always has a reason, which another line may name: a program exits with a code and
// aborts after an error of its own, and a scheduler or a launcher stops what has failed.
bool has_a_reason(const IncidentEvent& e) {
  if (is_abort(e)) return true;
  if (e.kind == IncidentKind::exit) return !signal_of_code(e.code.value_or(0));
  if (e.kind == IncidentKind::signal) return e.code == 15;
  // A failure of a task or a host may stand in a line of its own.
  return e.kind == IncidentKind::cancelled &&
         (!contains(e.text, "DUE TO ") ||
          contains_any(e.text, {"DUE TO TASK FAILURE", "DUE TO NODE FAILURE"}));
}

// Times with and without a year cannot be compared, and go apart.
struct Order {
  int group = 0;
  Ns time{};
  auto operator<=>(const Order&) const = default;
};
constexpr int no_time = 2;  // a group
Order order_of(const IncidentEvent& e) {
  if (!e.time) return {.group = no_time};
  return {.group = e.time->no_year ? 1 : 0, .time = e.time->time};
}

bool has_own_time(const IncidentEvent& e) { return e.time && !e.time->after; }

// An event without a time of its own is not later than the lines behind it in its file. Requires
// events in the order of files and lines.
std::vector<Order> orders_of(const std::vector<IncidentEvent>& events) {
  std::vector<Order> orders(events.size());
  std::optional<Order> behind;  // the earliest time that a later line of the file writes
  for (std::size_t e = events.size(); e-- > 0;) {
    if (e + 1 < events.size() && events[e + 1].input != events[e].input) behind.reset();
    orders[e] = order_of(events[e]);
    if (has_own_time(events[e]))
      behind = std::min(behind.value_or(orders[e]), orders[e]);
    else if (behind)
      orders[e] = std::min(orders[e], *behind);
  }
  return orders;
}

// Events that a row joins have the same key.
std::string row_key(const IncidentEvent& e) {
  std::string key(name_of(e.kind));
  key += e.earlier_step ? " earlier " : e.follows ? " follows " : " ";
  key += std::to_string(e.kind == IncidentKind::timeout ? -1 : e.code.value_or(-1)) + ' ';
  switch (e.kind) {
    case IncidentKind::stuck:
      return std::string(name_of(e.kind)) + (e.code ? " watchdog" : "");
    case IncidentKind::network:
      return key + e.where + (e.code ? "" : e.text.substr(0, e.text.find_first_of("<0123456789")));
    case IncidentKind::exit:
    case IncidentKind::signal:
    case IncidentKind::device_memory:
    case IncidentKind::host_memory:
    case IncidentKind::shared_memory:
      return key + e.where;
    case IncidentKind::cancelled:
      return key + e.text.substr(std::min(e.text.find("DUE TO "), e.text.size()));
    case IncidentKind::device_error:
      if (e.code) return key + e.where + (contains(e.text, "SXid (") ? " switch" : "");
      return key + e.where + ' ' + e.text.substr(0, 120);
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
  const bool once = ends(event.kind) || event.kind == IncidentKind::cancelled;
  if (!once || !row.time || !event.time) return true;
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

// A task that a launcher stopped may be one of another step, as that of a tool.
bool stopped_by_another(const IncidentEvent& e) {
  return e.follows && e.kind == IncidentKind::signal && e.code == 15;
}

std::set<int> named_ranks(const CommRecords& records) {
  std::set<int> named;
  for (const CommRank& r : records.ranks)
    if (r.number && (r.has_dump || r.has_log)) named.insert(*r.number);
  for (const auto& [rank, last] : records.incident.last_lines) named.insert(rank);
  for (const IncidentEvent& e : records.incident.events)
    if (e.rank && e.kind != IncidentKind::absent && !stopped_by_another(e)) named.insert(*e.rank);
  return named;
}

void add_to(IncidentRow& row, const IncidentEvent& event) {
  row.events += event.times;
  if (event.time) row.last = event.time;
  if (event.rank) {
    if (!std::ranges::binary_search(row.ranks, *event.rank))
      row.ranks.insert(std::ranges::upper_bound(row.ranks, *event.rank), *event.rank);
    return;
  }
  ++row.unranked;
  if (event.pid && std::ranges::find(row.pids, *event.pid) == row.pids.end())
    row.pids.push_back(*event.pid);
}

bool is_kill(const IncidentEvent& e) {
  return (e.kind == IncidentKind::signal && e.code == 9) ||
         (e.kind == IncidentKind::exit && e.code == 128 + 9);
}

// An exception of NCCL that names no reason: a warning of NCCL may name it.
bool is_general(const IncidentEvent& e) {
  return e.kind == IncidentKind::exception && contains(e.text, "NCCL error") &&
         contains(e.text, "unhandled system error") && !contains(e.text, "Last error");
}

// Whether `a` is the reason of `b` wherever the files write it.
bool is_reason_of(const IncidentEvent& a, const IncidentEvent& b) {
  if (a.kind == IncidentKind::node && b.kind == IncidentKind::cancelled) return true;
  if (a.kind == IncidentKind::host_memory && is_kill(b))
    return a.input == b.input ? !a.pid || !b.pid || a.pid == b.pid : a.pid && a.pid == b.pid;
  const bool warning = a.kind == IncidentKind::network || a.kind == IncidentKind::shared_memory;
  return warning && is_general(b) && a.input == b.input;
}

// What is known of two events: an order by the times, or by the lines of one file.
bool comparable(const IncidentEvent& a, const IncidentEvent& b) {
  if (a.input == b.input) return true;
  const Order x = order_of(a);
  const Order y = order_of(b);
  return x.group == y.group && x.group != no_time;
}

// Requires rows in order.
void find_cause(const CommRecords& records, const std::vector<Order>& orders,
                IncidentAccount& out) {
  const std::vector<IncidentEvent>& events = records.incident.events;
  // What comes after a watchdog has given up is no reason of its wait.
  std::optional<Order> given_up;
  for (const IncidentEvent& e : events)
    if (e.kind == IncidentKind::timeout && has_own_time(e) &&
        (!given_up || order_of(e) < *given_up))
      given_up = order_of(e);
  // PyTorch's watchdog aborts the process that it gave up for.
  std::set<std::pair<std::uint32_t, int>> gave_up;  // files and ranks
  for (const IncidentEvent& e : events)
    if (e.kind == IncidentKind::timeout && e.rank) gave_up.emplace(e.input, *e.rank);
  std::vector<std::size_t> candidates;  // rows
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    const std::uint32_t e = out.rows[i].event;
    const bool too_late = given_up && orders[e].group == given_up->group && *given_up < orders[e];
    // Calls that PyTorch compared are a finding, and not said twice.
    const bool compared =
        !records.compared.empty() &&
        (has_a_reason(events[e]) || contains(events[e].text, "mismatch between collectives"));
    const bool by_watchdog = is_abort(events[e]) && !out.rows[i].ranks.empty() &&
                             std::ranges::all_of(out.rows[i].ranks, [&](int rank) {
                               return gave_up.contains({events[e].input, rank});
                             });
    if (may_be_cause(events[e]) && !too_late && !compared && !by_watchdog) candidates.push_back(i);
  }
  const auto event_at = [&](std::size_t candidate) -> const IncidentEvent& {
    return events[out.rows[candidates[candidate]].event];
  };
  // Whether candidate `error` may be the reason of candidate `end`.
  const auto explains = [&](std::size_t error, std::size_t end) {
    const IncidentEvent& a = event_at(error);
    const IncidentEvent& b = event_at(end);
    if (is_reason_of(a, b)) return true;
    if (has_a_reason(a) || !has_a_reason(b)) return false;
    if (error < end || !comparable(a, b)) return true;
    // A process aborts, and srun says that a task ended, before the lines of its error have gone
    // through the launcher. A scheduler writes of the end that it makes before the processes can.
    constexpr std::uint64_t lines_of_error = 40;
    const bool by_srun = b.kind == IncidentKind::exit && contains(b.text, "srun: error: ") &&
                         a.line < b.line + lines_of_error;
    return (is_abort(b) || by_srun) && a.kind != IncidentKind::signal &&
           a.kind != IncidentKind::cancelled && a.input == b.input &&
           !(has_own_time(a) && has_own_time(b));
  };
  const auto explained = [&](std::size_t end) {
    // A process says of its own end before it exits with a code, and before its job is stopped.
    const bool code = has_a_reason(event_at(end)) && !is_abort(event_at(end));
    for (std::size_t row = 0; code && row < candidates[end]; ++row) {
      const IncidentEvent& said = events[out.rows[row].event];
      if (said.kind == IncidentKind::exception && said.follows && comparable(said, event_at(end)))
        return true;
    }
    for (std::size_t error = 0; error < candidates.size(); ++error)
      if (explains(error, end)) return true;
    return false;
  };
  for (std::size_t c = 0; c < candidates.size() && !out.cause; ++c) {
    if (explained(c)) continue;
    out.cause = candidates[c];
    // The scheduler saw another end before.
    // Lines of the kernel about other programs are left out, and a task failed before that.
    out.cause_is_first = event_at(c).kind != IncidentKind::blocked &&
                         !contains(event_at(c).text, "DUE TO TASK FAILURE");
    for (std::size_t other = 0; other < candidates.size(); ++other)
      if (!comparable(event_at(c), event_at(other))) out.cause_is_first = false;
  }
}

}  // namespace

IncidentAccount account_incident(const CommRecords& records, const std::vector<int>& seen) {
  IncidentAccount out;
  const std::vector<IncidentEvent>& events = records.incident.events;
  const std::vector<Order> orders = orders_of(events);
  std::vector<std::uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t e) { return orders[e]; });
  std::map<std::string, std::size_t> rows;
  for (const std::uint32_t e : order) {
    const IncidentEvent& event = events[e];
    const auto [at, fresh] = rows.try_emplace(row_key(event), out.rows.size());
    const bool apart = !fresh && !at_once(events[out.rows[at->second].event], event);
    if (apart) at->second = out.rows.size();
    if (fresh || apart) out.rows.push_back({.event = e});
    add_to(out.rows[at->second], event);
  }
  find_cause(records, orders, out);
  out.world = world_of(records);
  std::set<int> named = named_ranks(records);
  named.insert(seen.begin(), seen.end());
  const int highest = named.empty() ? -1 : *named.rbegin();
  if (out.world && *out.world <= highest) out.world.reset();
  for (const IncidentEvent& e : events)
    if (e.rank && stopped_by_another(e)) named.insert(*e.rank);
  // A process that only its number names may be any of the ranks.
  std::set<std::int64_t> numbers;
  for (const IncidentEvent& e : events)
    if (!e.rank && e.pid && ends(e.kind)) numbers.insert(*e.pid);
  constexpr int most = 1 << 20;
  if (!named.empty())
    for (int r = 0; r < std::min(most, out.world.value_or(highest + 1)); ++r)
      if (!named.contains(r)) out.silent.push_back(r);
  if (out.silent.size() <= numbers.size()) out.silent.clear();
  return out;
}

const IncidentEvent* first_error_of(const Incident& incident, int rank) {
  const std::vector<Order> orders = orders_of(incident.events);
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const IncidentEvent& e = incident.events[i];
    if (e.rank != rank || e.kind == IncidentKind::timeout || e.kind == IncidentKind::barrier ||
        e.kind == IncidentKind::absent)
      continue;
    if (!first || orders[i] < orders[*first]) first = i;
  }
  return first ? &incident.events[*first] : nullptr;
}

}  // namespace stepscope
