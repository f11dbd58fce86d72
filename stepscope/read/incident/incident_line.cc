// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/incident_line.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/device_line.h"
#include "stepscope/read/incident/job_step.h"
#include "stepscope/read/incident/launcher_prefix.h"
#include "stepscope/read/incident/signal_words.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

std::string_view word_at(std::string_view text) {
  return text.substr(0, std::min(text.find_first_of(" ,;:)]"), text.size()));
}

IncidentEvent event_of(IncidentKind kind) { return {.kind = kind}; }

// "Out of memory: Killed process 123 (python) total-vm:…" of the kernel (mm/oom_kill.c), also
// "Memory cgroup out of memory: Killed process"; Slurm's "Detected 1 oom_kill event in StepId=…"
// and "task 3: Out Of Memory"; Kubernetes' "OOMKilled".
std::optional<IncidentEvent> host_memory(std::string_view line) {
  const bool kernel = contains(line, "ut of memory: Kill");
  const bool scheduler = (contains(line, "oom_kill event") || contains(line, "oom-kill event")) &&
                         contains(line, "etected");
  if (!kernel && !scheduler && !contains(line, "OOMKilled")) return std::nullopt;
  IncidentEvent e = event_of(IncidentKind::host_memory);
  if (kernel) {
    e.pid = number_behind(line, "illed process ");
    if (!e.pid) e.pid = number_behind(line, "ill process ");
    if (!e.pid) return std::nullopt;
  }
  return e;
}

// "NET/IB : Got completion from peer 10.0.0.2<1234> with status=12 opcode=0 …" of NCCL's
// net_ib.cc; "with error 12," before 2.21, "status=IBV_WC_RETRY_EXC_ERR(12)" since 2.29.
std::optional<IncidentEvent> adapter_error(std::string_view line) {
  const auto rest = behind(line, "Got completion from peer ");
  if (!rest) return std::nullopt;
  auto code = number_behind(*rest, "with error ");
  if (!code) code = number_behind(*rest, "status=");
  if (!code)
    if (const auto name = behind(*rest, "status=IBV_WC_")) code = number_behind(*name, "(");
  if (!code || *code < 0 || *code > 100) return std::nullopt;
  IncidentEvent e = event_of(IncidentKind::network);
  e.code = code;
  e.follows = *code == 5;  // flushed after an earlier error
  return e;
}

// The text behind "exitcode  : " of a table, whose fields stand in rows or on one line.
std::optional<std::string_view> field_of_table(std::string_view line, std::string_view name) {
  for (auto rest = behind(line, name); rest; rest = behind(*rest, name)) {
    const auto at = static_cast<std::size_t>(rest->data() - line.data()) - name.size();
    const std::string_view text =
        rest->substr(std::min(rest->find_first_not_of(' '), rest->size()));
    if ((at == 0 || line[at - 1] == ' ') && text.starts_with(": ")) return text.substr(2);
  }
  return std::nullopt;
}

// torchrun: "failed (exitcode: -9) local_rank: 3 (pid: 1234) of binary: …"; the table of its
// ChildFailedError: "  exitcode  : 1 (pid: 1234)". Some log services join the rows of the table:
// "[2]: time : 2026-11-30_12:00:00 host : n1 rank : 2 (local_rank: 2) exitcode : -6 (pid: 9) …".
std::optional<IncidentEvent> elastic_exit(std::string_view line) {
  const bool api = contains(line, "failed (exitcode: ");
  const auto rank = api ? std::nullopt : field_of_table(line, "rank");
  const bool row = trimmed(without_launcher(line)).starts_with("exitcode  : ");
  if (!api && !row && !rank) return std::nullopt;
  const auto field = api ? behind(line, "failed (exitcode: ") : field_of_table(line, "exitcode");
  const auto code = field ? leading_number<std::int64_t>(*field) : std::nullopt;
  if (!code || *code < -64 || *code > 255 || *code == 0) return std::nullopt;
  IncidentEvent e = event_of(*code < 0 ? IncidentKind::signal : IncidentKind::exit);
  e.code = *code < 0 ? -*code : *code;
  e.follows = e.kind == IncidentKind::signal && *e.code == 15;  // the launcher stops the others
  e.pid = number_behind(line, "(pid: ");
  if (const auto local = number_behind(line, "local_rank: "))
    e.local_rank = static_cast<int>(std::clamp<std::int64_t>(*local, 0, 1'000'000));
  if (!rank) return e;
  if (const auto number = leading_number<int>(*rank); number && *number >= 0) e.rank = number;
  if (const auto host = field_of_table(line, "host")) e.host = word_at(*host);
  if (const auto time = field_of_table(line, "time")) {
    std::string stamp(time->substr(0, 20));
    if (stamp.size() == 20 && stamp[10] == '_') stamp[10] = ' ';
    e.time = written_time(stamp);
  }
  return e;
}

// "mpirun noticed that process rank 3 with PID 99 on node n1 exited on signal 9 (Killed)."
std::optional<IncidentEvent> mpirun_exit(std::string_view line) {
  const auto rest = behind(line, "process rank ");
  if (!rest) return std::nullopt;
  const auto rank = leading_number<int>(*rest);
  const auto signal = number_behind(*rest, "exited on signal ");
  if (!rank || *rank < 0 || !signal || *signal < 1 || *signal > 64) return std::nullopt;
  IncidentEvent e = event_of(IncidentKind::signal);
  e.rank = rank;
  e.code = signal;
  e.pid = number_behind(*rest, "with PID ");
  if (const auto host = behind(*rest, " on node ")) e.host = word_at(*host);
  return e;
}

// "srun: error: n3: task 17: Killed", "…: tasks 0-7: Exited with exit code 1", "…: Out Of Memory".
// The rank is that of a single task.
std::optional<IncidentEvent> srun_exit(std::string_view line) {
  if (!is_end_of_tasks(line)) return std::nullopt;
  const std::string_view rest = *behind(line, "srun: error: ");
  const std::string_view tasks = *behind(rest, ": task");
  const std::string_view what = *behind(tasks, ": ");
  IncidentEvent e = event_of(IncidentKind::exit);
  e.host = rest.substr(0, rest.find(": task"));
  if (const std::vector<int> ended = ended_tasks(line); ended.size() == 1) e.rank = ended.front();
  if (what.starts_with("Out Of Memory")) {
    e.kind = IncidentKind::host_memory;
  } else if (const auto code = number_behind(what, "Exited with exit code ")) {
    e.code = code;
  } else if (const auto signal = signal_at(what)) {
    e.kind = IncidentKind::signal;
    e.code = signal;
    e.follows = *signal == 15;
  } else {
    return std::nullopt;
  }
  return e;
}

// "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT ***".
std::optional<IncidentEvent> cancelled(std::string_view line) {
  if (!contains(line, " CANCELLED AT ") || !contains(line, "***")) return std::nullopt;
  IncidentEvent e = event_of(IncidentKind::cancelled);
  if (const auto host = behind(line, " ON ")) e.host = word_at(*host);
  return e;
}

// "DataLoader worker (pid 7) is killed by signal: Killed."; "ERROR: Unexpected bus error
// encountered in worker." of DataLoader; "Fatal Python error: Segmentation fault"; a shell's "28:
// 8156 Segmentation fault (core dumped) …".
std::optional<IncidentEvent> ended_by_signal(std::string_view line) {
  IncidentEvent e = event_of(IncidentKind::signal);
  if (const auto rest = behind(line, "is killed by signal: ")) {
    const auto signal = signal_at(*rest);
    if (!signal) return std::nullopt;
    e.code = signal;
    e.pid = number_behind(line, "(pid ");
    return e;
  }
  if (const auto rest = behind(line, "Fatal Python error: ")) {
    const auto signal = signal_at(*rest);
    if (!signal) return std::nullopt;
    e.code = signal;
    return e;
  }
  constexpr std::array<std::pair<std::string_view, int>, 3> of_loader = {
      {{"nexpected bus error", 7},
       {"nexpected segmentation fault", 11},
       {"nexpected floating-point exception", 8}}};
  for (const auto& [words, signal] : of_loader)
    if (contains(line, words) && contains(line, " encountered in worker")) {
      e.code = signal;
      return e;
    }
  if (const std::size_t dumped = line.find("(core dumped)"); dumped != std::string_view::npos)
    for (std::size_t at = 0; at < dumped; ++at)
      if (const auto signal = signal_at(line.substr(at))) {
        e.code = signal;
        const std::string_view before = trimmed(line.substr(0, at));
        e.pid = leading_number<std::int64_t>(before.substr(before.find_last_of(" :") + 1));
        return e;
      }
  return std::nullopt;
}

// PyTorch's heartbeat monitor (ProcessGroupNCCL.cpp): "…watchdog got stuck for 600 seconds without
// making progress in monitoring enqueued collectives"; until PyTorch 2.4 first "Heartbeat monitor
// timed out!", which names no time.
std::optional<IncidentEvent> stuck_watchdog(std::string_view line) {
  if (contains(line, "] Heartbeat monitor timed out! "))
    return IncidentEvent{.kind = IncidentKind::stuck, .code = 0};
  const auto rest = behind(line, "watchdog got stuck for ");
  if (!rest) return std::nullopt;
  const auto seconds = leading_number<std::int64_t>(*rest);
  if (!seconds || *seconds < 0 || *seconds >= 100'000'000) return std::nullopt;
  IncidentEvent e = event_of(IncidentKind::stuck);
  e.code = *seconds * 1000;
  return e;
}

}  // namespace

void take_rows_of_table(IncidentEvent& event, std::span<const std::string_view> before) {
  for (const std::string_view field : before) {
    if (field.starts_with("rank      : ")) {
      event.rank = leading_number<int>(field.substr(12));
      if (const auto local = number_behind(field, "local_rank: "))
        event.local_rank = static_cast<int>(std::clamp<std::int64_t>(*local, 0, 1'000'000));
    } else if (field.starts_with("host      : ")) {
      event.host = field.substr(12, 200);
    } else if (field.starts_with("time      : ")) {
      std::string stamp(field.substr(12, 19));  // 2026-11-30_12:00:00
      if (stamp.size() > 10 && stamp[10] == '_') stamp[10] = ' ';
      event.time = written_time(stamp);
    } else {
      break;
    }
  }
}

std::optional<IncidentEvent> parse_incident(std::string_view line) {
  constexpr std::array all = {host_memory,  parse_device_error, adapter_error,
                              elastic_exit, mpirun_exit,        srun_exit,
                              cancelled,    ended_by_signal,    stuck_watchdog};
  for (const auto& of : all)
    if (auto event = of(line)) return event;
  return std::nullopt;
}

}  // namespace stepscope
