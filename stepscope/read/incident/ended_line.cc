// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/ended_line.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/event/signal_code.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/incident_line.h"
#include "stepscope/read/incident/signal_words.h"

namespace stepscope {
namespace {

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

IncidentEvent by_signal(std::int64_t signal, std::optional<std::int64_t> pid) {
  return {.kind = IncidentKind::signal, .follows = signal == 15, .pid = pid, .code = signal};
}

// "28:  8156 Killed      python3 main.py" of bash, behind "run.sh: line ".
std::optional<IncidentEvent> behind_line_of_script(std::string_view text) {
  if (!take_number<int>(text) || !text.starts_with(": ")) return std::nullopt;
  text = without_blanks(text.substr(2));
  const auto pid = take_number<std::int64_t>(text);
  if (!pid || !text.starts_with(' ')) return std::nullopt;
  const auto signal = signal_at(without_blanks(text));
  return signal ? std::optional(by_signal(*signal, pid)) : std::nullopt;
}

// "[1]+  Killed   python train.py" of bash, "[1]  + 8156 killed  python train.py" and "zsh: killed
// python train.py" of zsh.
std::optional<IncidentEvent> job_of_shell(std::string_view text) {
  std::optional<std::int64_t> pid;
  if (text.starts_with("zsh: ")) {
    text.remove_prefix(5);
  } else {
    if (!text.starts_with('[')) return std::nullopt;
    text.remove_prefix(1);
    if (!take_number<int>(text) || !text.starts_with(']')) return std::nullopt;
    text = without_blanks(text.substr(1));
    if (text.starts_with('+') || text.starts_with('-')) text = without_blanks(text.substr(1));
    pid = take_number<std::int64_t>(text);
    if (pid) text = without_blanks(text);
  }
  for (const SignalWords& s : signal_words)
    for (const std::string_view words : {s.words, s.zsh})
      if (text.starts_with(words) && text.substr(words.size()).starts_with("  "))
        return by_signal(s.number, pid);
  return std::nullopt;
}

// What a shell writes of a program that a signal ended. Behind a progress bar there is no line
// break: "… 1.23s/it]Killed".
std::optional<IncidentEvent> in_shell(std::string_view line) {
  if (const auto rest = behind(line, ": line "))
    if (auto event = behind_line_of_script(*rest)) return event;
  const std::string_view text = trimmed(without_launcher(line));
  if (auto event = job_of_shell(text)) return event;
  for (const SignalWords& s : signal_words)
    if (s.number != 6 &&
        (text == s.words ||
         (text.ends_with(s.words) && text.substr(0, text.size() - s.words.size()).ends_with("]") &&
          contains(text, "it"))))
      return by_signal(s.number, std::nullopt);
  return std::nullopt;
}

// Codes of shells, containers and launchers that stand for a signal: "exit code 137", "Exit Code:
// 137" of kubectl, "exitCode: 137", "exit status 139", "exits with return code = -9" of DeepSpeed,
// "exit code: -9", "Global rank 0 (PID 8) exited with code -11" of Composer. Other codes say too
// little to be looked for in all words.
std::optional<IncidentEvent> code_of_signal(std::string_view line) {
  constexpr std::array<std::string_view, 9> keys = {
      "exit code", "Exit Code",   "exitCode",    "exit status",     "exit_code",
      "exitcode",  "status code", "return code", "exited with code"};
  for (const std::string_view key : keys)
    for (auto rest = behind(line, key); rest; rest = behind(*rest, key)) {
      std::string_view text = *rest;
      while (!text.empty() && contains(" :='\"(", text.substr(0, 1))) text.remove_prefix(1);
      const auto code = leading_number<std::int64_t>(text);
      if (!code) continue;
      const auto rank = number_behind(line, "Global rank ");
      const bool composer = key == "exited with code" && rank && *rank >= 0 && *rank < 10'000'000;
      const bool launcher =
          composer || (key == "return code" && contains(line, "exits with return code"));
      IncidentEvent e{.kind = IncidentKind::exit, .code = code};
      if (*code < 0 && *code > -64 && signal_of_code(128 - *code))
        e = by_signal(-*code, std::nullopt);
      else if (!signal_of_code(*code) && (!launcher || *code < 1 || *code > 255))
        continue;
      e.follows = e.follows || *code == 128 + 15;
      if (composer) {
        e.rank = static_cast<int>(*rank);
        e.pid = number_behind(line, "(PID ");
      }
      return e;
    }
  return std::nullopt;
}

// "died with <Signals.SIGKILL: 9>" of subprocess, "process 1 terminated with signal SIGKILL" of
// torch.multiprocessing, "Signal 9 (SIGKILL) received by PID 812" of torchrun, and "Received 15
// death signal, shutting down workers", where torchrun itself got it.
std::optional<IncidentEvent> named_signal(std::string_view line) {
  const auto named = [&](std::string_view text) -> std::optional<int> {
    for (const SignalWords& s : signal_words)
      if (text.starts_with(s.name)) return s.number;
    return std::nullopt;
  };
  if (const auto rest = behind(line, "died with <Signals."))
    if (const auto signal = named(*rest)) return by_signal(*signal, std::nullopt);
  if (const auto rest = behind(line, " terminated with signal "))
    if (const auto signal = named(*rest)) {
      IncidentEvent e = by_signal(*signal, std::nullopt);
      if (const auto local = number_behind(line, "process "); local && *local < 1'000'000)
        e.local_rank = static_cast<int>(*local);
      return e;
    }
  if (const auto got = number_behind(line, "Received ");
      got && *got >= 1 && *got <= 64 && contains(line, " death signal")) {
    IncidentEvent e = by_signal(*got, std::nullopt);
    e.follows = false;
    return e;
  }
  const auto rest = behind(line, "ignal ");
  const auto pid = number_behind(line, " received by PID ");
  if (!rest || !pid) return std::nullopt;
  const auto signal = leading_number<std::int64_t>(*rest);
  if (!signal || *signal < 1 || *signal > 64) return std::nullopt;
  return by_signal(*signal, pid);
}

// Kubernetes' eviction, LSF, PBS, Slurm before cgroups, Ray's memory monitor.
std::optional<IncidentEvent> memory_limit(std::string_view line) {
  const std::size_t workers = line.find(" Workers (tasks / actors) killed due to memory pressure");
  const bool ray = contains(line, "killed due to the node running low on memory");
  const bool counted = workers != std::string_view::npos && workers > 0 &&
                       is_digit(line[workers - 1]) &&
                       (line[workers - 1] != '0' || (workers > 1 && is_digit(line[workers - 2])));
  const bool limit = contains_any(line, {"was low on resource: memory", "TERM_MEMLIMIT",
                                         "Exceeded job memory limit", "Exceeded step memory limit",
                                         "PBS: job killed: mem ", "PBS: job killed: vmem "}) ||
                     (contains(line, "exceeded memory limit (") && contains(line, "being killed"));
  if (!ray && !counted && !limit) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::host_memory};
  if (counted)
    if (const auto host = behind(line, "IP: "))
      e.host = host->substr(0, std::min(host->find_first_of(" ,)"), host->size()));
  return e;
}

// LSF and PBS; Slurm's is in incident_line.cc.
std::optional<IncidentEvent> time_limit(std::string_view line) {
  if (!contains_any(line, {"TERM_RUNLIMIT", "PBS: job killed: walltime "})) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::cancelled};
}

// Ray, which names no reason: whatever ended the worker may stand in another line.
std::optional<IncidentEvent> worker_of_ray(std::string_view line) {
  if (!contains_any(line, {"A worker died or was killed while executing a task",
                           "The actor died unexpectedly"}))
    return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::exit, .follows = true};
  e.pid = number_behind(line, "Worker PID: ");
  return e;
}

// "… Error for Training job NAME: Failed. Reason: AlgorithmError: ExecuteUserScriptError:" of
// SageMaker, for the end of a process of the job.
std::optional<IncidentEvent> job_of_sagemaker(std::string_view line) {
  const std::size_t at = line.find("Error for Training job ");
  if (at == std::string_view::npos || !contains(line, ": Failed. Reason: ")) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::exception,
                       .follows = true,
                       .text = std::string(trimmed(line.substr(at)))};
}

// "EI0002: The wait execution of the Notify register times out. Reason: … tag[AllReduce_10.0.0.1…]"
// of Ascend's HCCL, with "remote rank:[24]" of the group and "group:[group_name_1654]" behind it.
std::optional<IncidentEvent> wait_of_hccl(std::string_view line) {
  if (!contains(line, "The wait execution of the Notify register times out")) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::timeout, .text = "a collective of HCCL"};
  if (const auto tag = behind(line, "tag["))
    e.text = tag->substr(0, std::min(tag->find_first_of("_]"), tag->size()));
  if (const auto group = behind(line, "[group:["))
    e.text += ' ' + std::string(group->substr(0, std::min(group->find(']'), group->size())));
  if (const auto peer = number_behind(line, "remote rank:["); peer && *peer >= 0)
    e.where = std::to_string(*peer);
  return e;
}

// "srun: error: Task launch for StepId=36.0 failed on node n1: Job credential expired", "srun:
// error: Node failure on n1"; of Ray "… Owner Ip address: 10.0.0.1 … Owner's node has crashed."
std::optional<IncidentEvent> host_of_scheduler(std::string_view line) {
  const auto until = [](std::string_view text, std::string_view ends) {
    return std::string(text.substr(0, std::min(text.find_first_of(ends), text.size())));
  };
  if (const auto node = behind(line, "srun: error: Node failure on ")) {
    IncidentEvent e{.kind = IncidentKind::node};
    e.host = trimmed(node->substr(0, 200));
    return e;
  }
  if (const auto launch = behind(line, "srun: error: Task launch for ")) {
    const auto node = behind(*launch, " failed on node ");
    const auto reason = node ? behind(*node, ": ") : std::nullopt;
    if (!reason) return std::nullopt;
    IncidentEvent e{.kind = IncidentKind::not_started, .text = std::string(trimmed(*reason))};
    e.host = until(*node, ":");
    return e;
  }
  if (!contains_any(line, {"Owner's node has crashed", "died because its node has died"}))
    return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::node};
  if (const auto address = behind(line, "Owner Ip address: ")) e.host = until(*address, " ,");
  return e;
}

// "The node was low on resource: ephemeral-storage.", "The node had condition: [DiskPressure].",
// "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi." of Kubernetes.
std::optional<IncidentEvent> eviction(std::string_view line) {
  IncidentEvent e{.kind = IncidentKind::evicted};
  if (const auto resource = behind(line, "The node was low on resource: "))
    e.text = resource->substr(0, std::min(resource->find_first_of(". ,"), resource->size()));
  else if (contains(line, "The node had condition: [DiskPressure]"))
    e.text = "disk";
  else if (contains(line, "ephemeral local storage usage exceeds the total limit"))
    e.text = "ephemeral-storage";
  return e.text.empty() || e.text == "memory" ? std::nullopt : std::optional(e);
}

// "/job:jax_worker/replica:0/task:37 has been set to ERROR in coordination service: UNAVAILABLE:
// Task /job:jax_worker/replica:0/task:37 heartbeat timeout. This indicates …" of JAX.
std::optional<IncidentEvent> no_heartbeat(std::string_view line) {
  const std::size_t at = line.find(" heartbeat timeout. This indicates");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t task = line.substr(0, at).rfind("/task:");
  if (task == std::string_view::npos) return std::nullopt;
  const auto rank = leading_number<int>(line.substr(task + 6));
  if (!rank || *rank < 0 || *rank >= 10'000'000) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::stuck, .rank = rank};
}

// Warnings of NCCL that end the set-up of a communicator. Addresses that are not reached: "[3]
// misc/socket.cc:480 NCCL WARN socketStartConnect: Connect to 10.0.0.1<38007> failed : Connection
// refused", "Net : Connect to … failed : No route to host" before 2.13, "WARN Call to connect
// failed : Connection timed out" before 2.4. Ranks or devices that exist twice: "Bootstrap Root :
// rank 1 of 8 ranks has already checked in", "Duplicate GPU detected : rank 2 and rank 0 both on
// CUDA device 1000". Adapters: "Call to ibv_modify_qp failed with 110 Connection timed out".
std::optional<IncidentEvent> set_up(std::string_view line) {
  const auto said = behind(line, "WARN ");
  if (!said) return std::nullopt;
  const bool connects =
      contains_any(*said, {"onnect to ", "to connect "}) && contains(*said, " failed : ");
  // NCCL leaves out a device that it cannot open.
  const bool adapter = said->starts_with("Call to ibv_") && contains(*said, " failed") &&
                       !said->starts_with("Call to ibv_open_device");
  if (!connects && !adapter &&
      !contains_any(*said, {"has already checked in", "Duplicate GPU detected"}))
    return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::network, .text = std::string(trimmed(*said))};
}

// "NET/IB : mlx5_0:1 Got async event : local access violation work queue error", "… async fatal
// event on QP (0x7): invalid request local work queue error". Other events, such as "port active",
// are no errors.
std::optional<IncidentEvent> event_of_adapter(std::string_view line) {
  const auto said = behind(line, "WARN ");
  if (!said || !contains_any(*said, {"async event", "async fatal event"})) return std::nullopt;
  if (!contains_any(*said, {"error", "async fatal event"})) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::network, .text = std::string(trimmed(*said))};
}

// "Error: failed to extend /dev/shm/nccl-x to 9637892 bytes, error: No space left on device (28)",
// "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)", "Call to shm_open
// failed : Permission denied".
std::optional<IncidentEvent> no_shared_memory(std::string_view line) {
  const auto said = behind(line, "WARN ");
  if (!said ||
      !contains_any(*said, {"failed to extend /dev/shm/", "Error while creating shared memory",
                            "posix_fallocate failed", "shm_open failed"}))
    return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::shared_memory, .text = std::string(trimmed(*said))};
}

// "transport/p2p.cc:237 NCCL WARN Cuda failure 'invalid argument'": a GPU does not get at the
// memory of another one; of nvls.cc: the switches do not give it memory for multicast. Errors that
// any call returns after a kernel has failed say nothing of it.
std::optional<IncidentEvent> no_peer_access(std::string_view line) {
  const auto said = behind(line, "WARN ");
  const bool switches = contains(line, "transport/nvls.cc:");
  if (!said || (!switches && !contains(line, "transport/p2p.cc:"))) return std::nullopt;
  if (!contains_any(*said, {"failure 1 'invalid argument'", "failure 801 'operation not supported'",
                            "failure 'invalid argument'", "failure 'peer access",
                            "failure 'invalid device ordinal'", "failure 'mapping of buffer",
                            "failure 'operation not supported'", "failure 'API call is not"}))
    return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::network, .text = std::string(trimmed(*said))};
  e.where = switches ? "nvls.cc" : "p2p.cc";
  return e;
}

// "[PG ID 0 PG GUID 0 Rank 3] Process group watchdog thread terminated with exception: NCCL error:
// remote process exited or there was a network error". Timeouts and errors of the device have
// readers of their own.
std::optional<IncidentEvent> end_of_watchdog(std::string_view line) {
  const auto rest = behind(line, "thread terminated with exception: ");
  if (!rest || trimmed(*rest).empty()) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::exception, .follows = is_consequence(*rest)};
  e.text = trimmed(*rest);
  if (const auto rank = number_behind(line, "Rank "); rank && *rank >= 0 && *rank < 10'000'000)
    e.rank = static_cast<int>(*rank);
  return e;
}

}  // namespace

std::optional<IncidentEvent> parse_ended(std::string_view line) {
  constexpr std::array all = {
      in_shell,         code_of_signal,    named_signal,     memory_limit,
      time_limit,       host_of_scheduler, eviction,         worker_of_ray,
      no_heartbeat,     wait_of_hccl,      job_of_sagemaker, no_shared_memory,
      event_of_adapter, no_peer_access,    set_up,           end_of_watchdog};
  for (const auto& of : all)
    if (auto event = of(line)) return event;
  return std::nullopt;
}

}  // namespace stepscope
