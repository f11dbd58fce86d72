// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/incident_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "stepscope/analysis/memory/oom_account.h"
#include "stepscope/base/ascii.h"
#include "stepscope/diagnose/oom_findings.h"
#include "stepscope/event/signal_code.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/hang/incident_meanings.h"

namespace stepscope {
namespace {

constexpr std::size_t most_timeline_lines = 18;  // below its title and head
constexpr std::size_t most_suspects = 4;
constexpr std::size_t most_set_up_waits = 4;
constexpr std::size_t most_listed = 8;  // numbers of processes

using Calendar = std::chrono::year_month_day;

Calendar day_of(const WrittenTime& t) {
  return std::chrono::floor<std::chrono::days>(std::chrono::sys_time<Ns>(t.time));
}

// "12:00:01", with its date if several are in the files.
std::string clock_text(const WrittenTime& t, bool dates) {
  const Calendar day = day_of(t);
  const Ns of_day = std::chrono::sys_time<Ns>(t.time) - std::chrono::sys_days(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(of_day));
  std::string out = fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(),
                                clock.seconds().count());
  if (dates)
    out = fmt::format("{:02}-{:02} {}", static_cast<unsigned>(day.month()),
                      static_cast<unsigned>(day.day()), out);
  return out;
}

bool several_days(const HangResult& r) {
  std::set<Calendar> days;
  for (const IncidentEvent& e : r.records.incident.events)
    if (e.time) days.insert(day_of(*e.time));
  return days.size() > 1;
}

std::string place_text(const HangResult& r, std::uint32_t input, std::uint64_t line) {
  if (input >= r.records.inputs.size()) return {};
  const std::string& path = r.records.inputs[input].path;
  return printable(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
}

std::string without_stop(std::string text) {
  while (text.ends_with('.') || text.ends_with(':') || text.ends_with(' ')) text.pop_back();
  return text;
}

bool is_lost_gpu(const IncidentEvent& e) {
  return e.kind == IncidentKind::device_error && !e.code &&
         contains_any(e.text, {"fallen off the bus", "GPU is lost"});
}
bool is_unreached_gpu(const IncidentEvent& e) {
  return e.kind == IncidentKind::device_error && contains(e.text, "determine the device handle");
}
bool is_error_of_switch(const IncidentEvent& e) { return e.code && contains(e.text, "SXid ("); }
bool is_of_kernel(const IncidentEvent& e) {
  return e.kind == IncidentKind::error && e.where == "kernel";
}
// The number of GPUs of "0, 3".
std::size_t devices_in(const IncidentEvent& e) {
  return static_cast<std::size_t>(std::ranges::count(e.text, ',')) + 1;
}
bool stopped_the_launcher(const IncidentEvent& e) {
  return e.kind == IncidentKind::signal && contains(e.text, " death signal");
}

Message network_in_words(const IncidentEvent& e, std::size_t processes) {
  const std::string text = printable(e.text);
  if (e.code) return msg::event_network(e.code, meaning_of_status(*e.code));
  if (contains(text, "Duplicate GPU")) return msg::event_duplicate_gpu(text, processes);
  if (e.where == "p2p.cc") return msg::event_peer_access(text);
  if (e.where == "nvls.cc") return msg::event_multicast(text);
  if (contains_any(text, {"Call to ibv_", "async "})) return msg::event_adapter(text, processes);
  return msg::event_set_up(text, contains(text, "has already checked in"));
}

Message device_error_in_words(const IncidentEvent& e) {
  if (is_lost_gpu(e)) return msg::event_gpu_lost();
  if (is_unreached_gpu(e))
    return msg::event_gpu_unreached(without_stop(printable(e.text.substr(e.text.rfind(": ") + 2))));
  if (is_error_of_switch(e)) return msg::event_sxid(*e.code);
  if (e.code) return msg::event_xid(*e.code, meaning_of_xid(*e.code));
  return msg::event_device_error(shorten(printable(e.text), 120),
                                 value_if(!e.where.empty(), printable(e.where)));
}

// What happened, behind the name of who it happened to.
Message event_in_words(const IncidentEvent& e, bool dates, std::size_t processes = 1) {
  switch (e.kind) {
    case IncidentKind::timeout: {
      Value since;
      if (e.time && !e.time->after && e.code) {
        WrittenTime begin = *e.time;
        begin.time -= Ns(*e.code * 1'000'000);
        since = clock_text(begin, dates || day_of(begin) != day_of(*e.time));
      }
      return msg::event_timeout(printable(e.text),
                                value_if(e.code.has_value(), Ns(e.code.value_or(0) * 1'000'000)),
                                since, value_if(!e.where.empty(), printable(e.where)));
    }
    case IncidentKind::stuck:
      if (!e.code) return msg::event_no_heartbeat();
      return msg::event_stuck(value_if(*e.code > 0, Ns(*e.code * 1'000'000)), processes);
    case IncidentKind::barrier:
      return msg::event_barrier(printable(e.text));
    case IncidentKind::device_memory:
      return msg::event_device_memory(value_if(e.code.has_value(), Bytes{e.code.value_or(0)}),
                                      value_if(!e.where.empty(), printable(e.where)));
    case IncidentKind::host_memory:
      return msg::event_host_memory(e.rank ? Value(e.pid) : Value(), processes);
    case IncidentKind::shared_memory:
      return msg::event_shared_memory(printable(e.text), contains(e.text, "No space left"));
    case IncidentKind::absent:
      return msg::event_absent(printable(e.text));
    case IncidentKind::idle_device:
      return msg::event_idle_device(printable(e.where), devices_in(e));
    case IncidentKind::device_error:
      return device_error_in_words(e);
    case IncidentKind::network:
      return network_in_words(e, processes);
    case IncidentKind::signal:
      if (stopped_the_launcher(e))
        return msg::event_launcher_stopped(e.code, signal_name(e.code.value_or(-1)));
      return msg::event_signal(e.code, signal_name(e.code.value_or(-1)),
                               value_if(!e.where.empty(), printable(e.where)), processes);
    case IncidentKind::exit: {
      const auto signal = signal_of_code(e.code.value_or(0));
      return msg::event_exit(e.code, signal, signal_name(signal.value_or(-1)));
    }
    case IncidentKind::exception:
      return msg::event_exception(without_stop(shorten(printable(e.text), 220)),
                                  value_if(!e.where.empty(), printable(e.where)));
    case IncidentKind::error:
      return msg::event_error(without_stop(shorten(printable(e.text), 220)),
                              value_if(!e.where.empty() && !is_of_kernel(e), printable(e.where)),
                              processes);
    case IncidentKind::peer:
      return msg::event_peer_lost(value_if(!e.where.empty(), printable(e.where)));
    case IncidentKind::blocked:
      return msg::event_blocked(Ns(e.code.value_or(0) * 1'000'000),
                                value_if(!e.where.empty(), printable(e.where)),
                                file_system_of(e.where), processes);
    case IncidentKind::node:
      return msg::event_node_failed(!contains(e.text, "srun: "));
    case IncidentKind::not_started:
      return msg::event_not_started(printable(e.text));
    case IncidentKind::evicted:
      return msg::event_evicted(printable(e.text), contains_any(e.text, {"storage", "nodefs"}));
    case IncidentKind::cancelled: {
      const std::size_t due = e.text.find("DUE TO ");
      const std::size_t stars = e.text.find(" ***", due);
      return msg::event_cancelled(
          due == std::string::npos ? Value() : Value(printable(e.text.substr(due, stars - due))));
    }
  }
  return {};
}

Message row_in_words(const HangResult& r, const IncidentRow& row, bool dates) {
  const std::size_t processes = row.ranks.empty() ? row.pids.size() : row.ranks.size();
  const IncidentEvent& e = r.records.incident.events[row.event];
  Message words = event_in_words(e, dates, std::max<std::size_t>(processes, 1));
  return e.earlier_step ? msg::event_of_earlier_step(std::move(words)) : words;
}

// Who it happened to: ranks, else what the line names.
Value who_of(const HangResult& r, const IncidentRow& row) {
  const IncidentEvent& e = r.records.incident.events[row.event];
  if (!row.ranks.empty()) return row.ranks;
  const Value host = value_if(!e.host.empty(), printable(e.host));
  if (e.kind == IncidentKind::cancelled) return msg::the_job();
  if (e.kind == IncidentKind::evicted) return msg::a_pod();
  if (stopped_the_launcher(e)) return msg::the_launcher();
  if (is_of_kernel(e)) return msg::a_kernel(host);
  if (e.kind == IncidentKind::idle_device)
    return msg::idle_gpus(printable(e.text), host, devices_in(e));
  const Value address = value_if(!e.where.empty(), printable(e.where));
  if (is_error_of_switch(e)) return msg::a_switch(host, address);
  if (is_lost_gpu(e) || is_unreached_gpu(e) || (e.kind == IncidentKind::device_error && e.code))
    return msg::a_gpu(host, address);
  // Their hosts may differ.
  if (row.pids.size() > most_listed) return msg::processes(row.pids.size());
  if (row.pids.size() > 1) return msg::processes_numbered(row.pids);
  if (e.local_rank) return msg::local_rank_of(*e.local_rank, host);
  if (e.pid.value_or(0) > 0) return msg::process_numbered(*e.pid, host);
  if (e.host.empty()) return msg::unknown_process();
  const bool of_host = e.kind == IncidentKind::network || e.kind == IncidentKind::device_error ||
                       e.kind == IncidentKind::node || e.kind == IncidentKind::not_started;
  return of_host ? msg::host_named(host) : msg::process_on(host);
}

Value ranks_or_count(const RasCounts::Level& level) {
  if (static_cast<int>(level.listed.size()) == level.ranks) return level.listed;
  return msg::ranks_counted(level.ranks);
}

// Ranks of a level that the status does not list are those that no other level lists.
void complete_levels(RasCounts& counts) {
  std::vector<RasCounts::Level*> open;
  std::set<int> listed;
  int total = 0;
  for (RasCounts::Level& level : counts.levels) {
    total += level.ranks;
    listed.insert(level.listed.begin(), level.listed.end());
    if (static_cast<int>(level.listed.size()) != level.ranks) open.push_back(&level);
  }
  if (open.size() != 1 || counts.size <= 0 || total != counts.size || counts.size > 1 << 20) return;
  std::vector<int> rest;
  for (int rank = 0; rank < counts.size; ++rank)
    if (!listed.contains(rank)) rest.push_back(rank);
  if (static_cast<int>(rest.size()) == open.front()->ranks) open.front()->listed = std::move(rest);
}

Message communicator_of(const std::string& id, int size) {
  return msg::communicator(printable(id.substr(0, id.find(' '))), value_if(size > 0, size));
}

// Ranks whose absence a finding states, with the worst first.
std::vector<int> absent_ranks(const HangResult& r) {
  std::vector<int> out;
  for (const HangFinding& f : r.account.findings) {
    if (f.follows) continue;
    if (f.kind != HangKind::missing && f.kind != HangKind::no_record && f.kind != HangKind::barrier)
      continue;
    for (const std::uint32_t rank : f.ranks)
      if (r.records.ranks[rank].number) out.push_back(*r.records.ranks[rank].number);
    out.insert(out.end(), f.unrecorded.begin(), f.unrecorded.end());
    if (!f.of_group) out.insert(out.end(), f.numbers.begin(), f.numbers.end());
  }
  for (const SetUpWait& w : r.records.set_up)
    if (w.awaited && !w.of_group) out.push_back(*w.awaited);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Message set_up_wait(const SetUpWait& w) {
  const std::vector<int> ranks(w.ranks.begin(), w.ranks.end());
  const Value place = printable(w.place);
  switch (w.kind) {
    case SetUpKind::unique_id:
      return msg::waits_for_id(ranks, w.awaited, w.limit);
    case SetUpKind::store_barrier:
      if (w.came > w.size) return msg::store_barrier_crowded(w.came, w.size, place);
      return msg::store_barrier_waits(w.came, w.size, place, value_if(!ranks.empty(), ranks),
                                      w.limit);
    case SetUpKind::address:
      return msg::address_not_reached(place, value_if(!ranks.empty(), ranks), w.limit);
    case SetUpKind::store_clients:
      return msg::store_joined(w.came, w.size, w.limit);
    case SetUpKind::store_key:
      return msg::store_key_missing(place, value_if(!ranks.empty(), ranks), w.limit);
    case SetUpKind::monitored_barrier:
      return msg::barrier_not_answered(ranks, w.awaited);
  }
  return {};
}

// What processes wait for as they join the job. The rank that counts at a monitored barrier knows
// more than those that it does not answer.
Messages set_up_in_words(const HangResult& r) {
  Messages out;
  for (const SetUpWait& w : r.records.set_up)
    if (w.kind != SetUpKind::monitored_barrier || r.records.barriers.empty())
      out.push_back(set_up_wait(w));
  return out;
}

}  // namespace

Message cause_in_words(const HangResult& r) {
  if (!r.incident.cause) return {};
  const IncidentRow& row = r.incident.rows[*r.incident.cause];
  const IncidentEvent& e = r.records.incident.events[row.event];
  const bool dates = several_days(r);
  return msg::first_error(
      who_of(r, row), row_in_words(r, row, dates),
      value_if(e.time && !e.time->after, e.time ? clock_text(*e.time, dates) : std::string()),
      r.incident.cause_is_first);
}

Message first_event_in_words(const HangResult& r) {
  if (r.incident.rows.empty()) return {};
  const IncidentRow& row = r.incident.rows.front();
  return msg::sentence(msg::who_does(who_of(r, row), row_in_words(r, row, several_days(r))));
}

Messages ras_in_words(const HangResult& r) {
  Messages out;
  for (const RasAbsence& a : r.records.ras_absences) {
    const Value ranks = value_if(static_cast<int>(a.ranks.size()) == a.count, a.ranks);
    const Value of =
        a.communicator.empty() ? Value() : Value(communicator_of(a.communicator, a.size));
    const Value processes = a.processes.empty() ? Value() : Value(a.processes);
    const auto said = [&](MessageMaker<4> maker) {
      out.push_back(maker(ranks, a.count, of, processes));
    };
    if (a.what == "DEAD")
      said(msg::ras_dead);
    else if (a.what == "ERROR")
      said(msg::ras_failed);
    else
      said(msg::ras_unreachable);
  }
  for (RasCounts counts : r.records.ras_counts) {
    complete_levels(counts);
    const RasCounts::Level& last = counts.levels.back();
    const RasCounts::Level& first = counts.levels.front();
    out.push_back(msg::ras_behind(
        ranks_or_count(last), communicator_of(counts.communicator, counts.size), last.count,
        value_if(!counts.operation.empty(), counts.operation), ranks_or_count(first), first.count));
  }
  return out;
}

Message standing_in_words(const HangResult& r) {
  Messages parts = set_up_in_words(r);
  if (parts.size() > most_set_up_waits) parts.resize(most_set_up_waits);
  if (r.standing.empty()) return joined(msg::clauses, std::move(parts));
  struct Class {
    std::vector<const StandingProcess*> processes;
  };
  std::map<std::string, Class> by_label;
  for (const StandingProcess& p : r.standing) by_label[p.label].processes.push_back(&p);
  std::vector<const Class*> classes;
  for (const auto& [label, c] : by_label) classes.push_back(&c);
  std::ranges::stable_sort(classes, std::ranges::greater{},
                           [](const Class* c) { return c->processes.size(); });
  for (const Class* c : classes) {
    std::vector<int> numbers;
    std::vector<std::string> names;
    std::set<std::string> frames;
    for (const StandingProcess* p : c->processes) {
      if (p->rank) numbers.push_back(*p->rank);
      // The name of a file has its own first letter, at the begin of a sentence too.
      names.push_back((p->rank ? "" : "process ") + printable(p->name));
      frames.insert(printable(p->frame));
    }
    std::ranges::sort(numbers);
    parts.push_back(msg::stands_in(
        numbers.size() == names.size() ? Value(numbers) : Value(names), c->processes.front()->label,
        value_if(frames.size() == 1 && !frames.begin()->empty(), *frames.begin())));
  }
  return msg::clauses(std::move(parts));
}

Messages suspects_in_words(const HangResult& r) {
  Messages out;
  const bool dates = several_days(r);
  const auto time_text = [&](const std::optional<WrittenTime>& t) {
    return t && !t->after ? Value(clock_text(*t, dates)) : Value();
  };
  const Incident& incident = r.records.incident;
  const std::vector<int> absent = absent_ranks(r);
  std::size_t shown = 0;
  for (const int rank : absent) {
    const IncidentEvent* error = first_error_of(incident, rank);
    const auto last = incident.last_lines.find(rank);
    if (error == nullptr && last == incident.last_lines.end()) continue;
    if (shown++ == most_suspects) break;
    if (error != nullptr)
      out.push_back(msg::first_error_of(std::vector<int>{rank}, time_text(error->time),
                                        place_text(r, error->input, error->line),
                                        event_in_words(*error, dates)));
    else
      out.push_back(msg::last_line_of(std::vector<int>{rank}, time_text(last->second.time),
                                      place_text(r, last->second.input, last->second.line),
                                      shorten(printable(last->second.text), 120)));
  }
  std::vector<int> silent;
  for (const int rank : r.incident.silent)
    if (!std::ranges::binary_search(absent, rank)) silent.push_back(rank);
  // Calls that PyTorch compared name their ranks without a line of each.
  const bool compared = std::ranges::any_of(
      r.account.findings, [](const HangFinding& f) { return !f.numbers.empty(); });
  if (!silent.empty() && (r.incident.world || !compared))
    out.push_back(msg::no_line_of(silent, r.incident.world));
  return out;
}

Messages ooms_in_words(const HangResult& r) {
  Messages out;
  if (r.records.incident.ooms.empty()) return out;
  const auto& messages = r.records.incident.ooms;
  const OomMessage& first = messages[leading_oom(messages)];
  const OomAccount account = account_oom(first);
  out.push_back(oom_sentence(first, account));
  append(out, oom_advice(first, account));
  const std::string command =
      predict_command(r.records.incident.settings, r.incident.world.value_or(0));
  if (!command.empty()) out.push_back(msg::predict_job(command));
  return out;
}

std::string timeline_text(const HangResult& r, std::size_t width) {
  const auto& rows = r.incident.rows;
  if (rows.size() < 2) return {};
  constexpr std::size_t wide = 150;  // room for the place of each line as well
  const bool dates = several_days(r);
  std::vector<std::vector<std::string>> cells;
  std::vector<Column> columns = {
      {"time", false}, {"who", false, 28}, {.title = "what", .right = false, .wraps = true}};
  if (width >= wide) columns.push_back({"where", false, 40});
  for (const IncidentRow& row : rows) {
    if (cells.size() == most_timeline_lines) break;
    const IncidentEvent& e = r.records.incident.events[row.event];
    std::string time = "-";
    if (e.time) time = (e.time->after ? "after " : "") + clock_text(*e.time, dates);
    cells.push_back({std::move(time), shorten(say(msg::plain(who_of(r, row))), 28),
                     say(row_in_words(r, row, dates))});
    if (width >= wide) cells.back().push_back(place_text(r, e.input, e.line));
  }
  std::string out = "\nTimeline, as the files write their times:\n" +
                    text_table(std::move(columns), std::move(cells), width);
  if (rows.size() > most_timeline_lines)
    out += fmt::format("  and {} more\n", rows.size() - most_timeline_lines);
  return out;
}

namespace {

Json time_json(const std::optional<WrittenTime>& t) {
  if (!t) return nullptr;
  std::string text = clock_text(*t, false);
  const Calendar day = day_of(*t);
  const std::string date = fmt::format("{:02}-{:02}", static_cast<unsigned>(day.month()),
                                       static_cast<unsigned>(day.day()));
  text =
      (t->no_year ? date : fmt::format("{}-{}", static_cast<int>(day.year()), date)) + " " + text;
  return {{"written", text}, {"of_an_earlier_line", t->after}};
}

Json optional_bytes(const std::optional<Bytes>& bytes) {
  return bytes ? Json(bytes->value) : Json(nullptr);
}

Json oom_json(const OomMessage& m) {
  const OomAccount a = account_oom(m);
  return {{"sentence", say_stopped(oom_sentence(m, a))},
          {"advice", say_all(oom_advice(m, a))},
          {"cause", name_of(a.cause)},
          {"rank", value(m.rank)},
          {"device", value(m.device)},
          {"request_bytes", optional_bytes(m.request)},
          {"device_bytes", optional_bytes(m.total)},
          {"free_bytes", optional_bytes(m.free)},
          {"allocated_bytes", optional_bytes(m.allocated)},
          {"unallocated_bytes", optional_bytes(m.unallocated)},
          {"missing_bytes", a.missing.value},
          {"input", m.input},
          {"line", m.line},
          {"times", m.times}};
}

}  // namespace

Json incident_json(const HangResult& r) {
  Json rows = Json::array();
  for (const IncidentRow& row : r.incident.rows) {
    const IncidentEvent& e = r.records.incident.events[row.event];
    rows.push_back({{"kind", name_of(e.kind)},
                    {"sentence", say(msg::who_does(who_of(r, row), row_in_words(r, row, true)))},
                    {"ranks", row.ranks},
                    {"host", text_or_null(e.host)},
                    {"time", time_json(e.time)},
                    {"code", value(e.code)},
                    {"text", e.text},
                    {"events", row.events},
                    {"follows", e.follows},
                    {"input", e.input},
                    {"line", e.line}});
  }
  Json ooms = Json::array();
  for (const OomMessage& m : r.records.incident.ooms) ooms.push_back(oom_json(m));
  Json last = Json::array();
  for (const auto& [rank, line] : r.records.incident.last_lines)
    last.push_back({{"rank", rank},
                    {"time", time_json(line.time)},
                    {"text", line.text},
                    {"input", line.input},
                    {"line", line.line}});
  Json standing = Json::array();
  for (const StandingProcess& p : r.standing)
    standing.push_back({{"name", p.name},
                        {"rank", value(p.rank)},
                        {"phase", p.phase},
                        {"label", p.label},
                        {"frame", text_or_null(p.frame)}});
  return {{"cause", r.incident.cause ? Json(*r.incident.cause) : Json(nullptr)},
          {"cause_is_first", r.incident.cause_is_first},
          {"timeline", std::move(rows)},
          {"left_out", r.records.incident.left_out},
          {"world", value(r.incident.world)},
          {"silent_ranks", r.incident.silent},
          {"last_lines", std::move(last)},
          {"out_of_memory", std::move(ooms)},
          {"ras", say_all(ras_in_words(r))},
          {"set_up", say_all(set_up_in_words(r))},
          {"standing", std::move(standing)}};
}

}  // namespace stepscope
