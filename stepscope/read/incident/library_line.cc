// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/library_line.h"

#include <algorithm>
#include <array>
#include <string>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/error_text.h"
#include "stepscope/read/incident/kernel_line.h"

namespace stepscope {
namespace {

constexpr std::string_view peer_lost = "communication peer process has unexpectedly disconnected";
constexpr std::array<std::string_view, 2> nccl_tests = {": Test NCCL failure ",
                                                        ": Test CUDA failure "};
constexpr std::string_view mpi_process = "Process name: [";
constexpr std::string_view julia_error = "ERROR: LoadError: ";

// "[n1:77]" of Open MPI, "[n1:77:0:78]" of UCX, which ends at `close`.
void set_process_in_brackets(IncidentEvent& event, std::string_view line, std::size_t close) {
  const std::size_t open = line.substr(0, close).rfind('[');
  if (open == std::string_view::npos) return;
  const std::string_view inside = line.substr(open + 1, close - open - 1);
  const std::size_t colon = inside.find(':');
  if (colon == std::string_view::npos || colon == 0) return;
  const auto pid = leading_number<std::int64_t>(inside.substr(colon + 1));
  if (!pid || *pid <= 0) return;
  event.host = inside.substr(0, std::min<std::size_t>(colon, 200));
  event.pid = pid;
}

// "[n1:77] Signal: Aborted (6)" of Open MPI; "[n1:77:0:78] Caught signal 11 (Segmentation fault:
// …)" of UCX.
std::optional<IncidentEvent> caught_signal(std::string_view line) {
  const std::size_t mpi = line.find("] Signal: ");
  const auto ucx = behind(line, "aught signal ");
  std::optional<std::int64_t> signal;
  if (mpi != std::string_view::npos)
    signal = number_behind(line.substr(mpi), " (");
  else if (ucx && contains(*ucx, "("))
    signal = leading_number<std::int64_t>(*ucx);
  if (!signal || *signal < 1 || *signal > 64) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::signal, .follows = *signal == 15, .code = signal};
  set_process_in_brackets(e, line, mpi != std::string_view::npos ? mpi : line.find("] Caught"));
  if (mpi != std::string_view::npos && !e.pid) return std::nullopt;
  return e;
}

// Messages of glibc (malloc.c, fortify) behind which it aborts the process.
std::optional<IncidentEvent> heap_of_c(std::string_view line) {
  constexpr std::array<std::string_view, 12> words = {"free(): invalid",
                                                      "double free or corruption",
                                                      "corrupted size vs. prev_size",
                                                      "malloc(): ",
                                                      "munmap_chunk(): invalid",
                                                      "realloc(): invalid",
                                                      "corrupted double-linked",
                                                      "malloc_consolidate(): ",
                                                      "*** stack smashing detected",
                                                      "*** buffer overflow",
                                                      "free(): double free",
                                                      "malloc: top chunk is corrupt"};
  for (const std::string_view word : words) {
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos) continue;
    // A sentence may quote the message.
    const std::string_view front = trimmed(line.substr(0, at));
    if (!front.empty() && !front.ends_with(':')) return std::nullopt;
    return IncidentEvent{.kind = IncidentKind::error,
                         .text = std::string(trimmed(line.substr(at)))};
  }
  return std::nullopt;
}

// "2026:11:30-12:00:00:(77) |CCL_ERROR| atl_ofi.cpp:162 init: can't find suitable provider".
std::optional<IncidentEvent> error_of_oneccl(std::string_view line) {
  constexpr std::string_view mark = " |CCL_ERROR| ";
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view front = line.substr(0, at);
  IncidentEvent e{.kind = IncidentKind::error, .pid = number_behind(front, ":(")};
  e.text = "oneCCL: " + std::string(trimmed(line.substr(at + mark.size())));
  const std::size_t dash = front.find('-');
  if (dash != std::string_view::npos && dash >= 10) {
    std::string stamp(front.substr(dash - 10, 19));
    if (stamp.size() == 19 && stamp[4] == ':' && stamp[7] == ':') {
      stamp[4] = stamp[7] = '-';
      stamp[10] = ' ';
      e.time = written_time(stamp + ' ');
    }
  }
  return e;
}

// "n1: Test NCCL failure common.cu:1285 'internal error / …'" of nccl-tests and rccl-tests, which
// write the number of the process in the next line.
std::optional<IncidentEvent> failure_of_nccl_tests(std::string_view line) {
  for (const std::string_view key : nccl_tests) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) continue;
    const std::string_view front = line.substr(0, at);
    const std::string_view rest = line.substr(at + key.size());
    const std::size_t quote = rest.find('\'');
    if (quote == std::string_view::npos) return std::nullopt;
    const bool nccl = contains(key, "NCCL");
    IncidentEvent e{.kind = nccl ? IncidentKind::error : IncidentKind::device_error};
    e.text = nccl ? "NCCL: " : "CUDA error: ";
    e.text += rest.substr(quote + 1, rest.rfind('\'') - quote - 1);
    e.where = trimmed(rest.substr(0, quote));
    e.host = front.substr(front.find_last_of(" \t>") + 1).substr(0, 200);  // npos + 1 is 0
    return e;
  }
  return std::nullopt;
}

// "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD" of Open MPI; "Abort(1) on node 3
// (rank 3 in comm 0): Fatal error in PMPI_Init" of MPICH.
std::optional<IncidentEvent> abort_of_mpi(std::string_view line) {
  const bool open_mpi = contains(line, "MPI_ABORT was invoked on rank ");
  const bool mpich = contains(line, "Abort(") && contains(line, " in comm ");
  if (!open_mpi && !mpich) return std::nullopt;
  const auto rank = number_behind(line, open_mpi ? " on rank " : "(rank ");
  if (!rank || *rank < 0 || *rank >= 10'000'000) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::error, .rank = static_cast<int>(*rank)};
  e.text = line.substr(open_mpi ? line.find("MPI_ABORT") : line.find("Abort("));
  return e;
}

// "Process name: [[29973,1],3]" of mpirun, whose exit code is on the next line.
std::optional<IncidentEvent> process_of_mpirun(std::string_view line) {
  const auto name = behind(line, mpi_process);
  if (!name) return std::nullopt;
  const std::string_view inside = name->substr(0, std::min(name->rfind(']'), name->size()));
  const std::size_t comma = inside.rfind(',');
  const auto rank =
      comma == std::string_view::npos ? std::nullopt : number_of<int>(inside.substr(comma + 1));
  if (!rank || *rank < 0 || *rank >= 10'000'000) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::exit, .rank = rank};
}

// Open MPI's text of a program that srun started: "but OMPI was not built with SLURM's PMI support
// and therefore cannot execute.".
std::optional<IncidentEvent> start_of_mpi(std::string_view line) {
  if (!contains(line, "but OMPI was not built with SLURM's PMI support")) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::error,
                       .text = "Open MPI was not built with Slurm's PMI, and srun started it"};
}

// The peer and this process are on the next lines.
std::optional<IncidentEvent> peer_of_mpi(std::string_view line) {
  if (!contains(line, peer_lost)) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::peer, .follows = true};
}

// "Coordination service agent in error status: DEADLINE_EXCEEDED: Deadline Exceeded".
std::optional<IncidentEvent> agent_of_jax(std::string_view line) {
  const std::size_t at = line.find("Coordination service agent in error status: ");
  if (at == std::string_view::npos) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::error, .text = std::string(trimmed(line.substr(at)))};
  e.follows = is_consequence(e.text);
  return e;
}

// "n1: rank 2 died from signal 6 and dumped core", "n1: rank 2 exited with code 1" of PALS, the
// mpiexec of HPE Cray.
std::optional<IncidentEvent> end_by_pals(std::string_view line) {
  const bool named = !line.starts_with("rank ");  // a host may have been taken off
  const std::size_t at = named ? line.find(": rank ") : 0;
  if (at == std::string_view::npos || contains(line.substr(0, at), " ")) return std::nullopt;
  const std::string_view rest = line.substr(at + (named ? 7 : 5));
  const auto rank = leading_number<int>(rest);
  const auto signal = number_behind(rest, " died from signal ");
  const auto code = number_behind(rest, " exited with code ");
  if (!rank || *rank < 0 || *rank >= 10'000'000 || (!signal && !code)) return std::nullopt;
  if (signal.value_or(1) < 1 || signal.value_or(1) > 64) return std::nullopt;
  IncidentEvent e{.kind = signal ? IncidentKind::signal : IncidentKind::exit, .rank = rank};
  e.code = signal ? signal : code;
  e.follows = signal == 15;
  e.host = line.substr(0, std::min<std::size_t>(at, 200));
  return e;
}

// "[n1:77:0:77] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 …)" of
// UCX: the status 12 of an adapter.
std::optional<IncidentEvent> transport_of_ucx(std::string_view line) {
  const std::size_t at = line.find("] ib_mlx5_log.c:");
  if (at == std::string_view::npos || !contains(line, "Transport retry count exceeded"))
    return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::network, .code = 12};
  set_process_in_brackets(e, line, at);
  return e.pid ? std::optional(e) : std::nullopt;
}

// "… ProcessGroupGloo.cpp:143] Gloo connectFullMesh failed with [pair.cc:144] no error".
std::optional<IncidentEvent> mesh_of_gloo(std::string_view line) {
  const auto said = behind(line, "ProcessGroupGloo.cpp:");
  const std::size_t at = line.find("Gloo connectFullMesh failed");
  if (!said || at == std::string_view::npos) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::error, .text = std::string(trimmed(line.substr(at)))};
}

// "[19:08:34.165016][SYN_API       ][error][tid:44F8A] compileGraph: Failed …" of Gaudi's
// SynapseAI.
std::optional<IncidentEvent> error_of_synapse(std::string_view line) {
  const auto said = behind(line, "][error][tid:");
  const auto text = said ? behind(*said, "] ") : std::nullopt;
  if (!text || !line.starts_with('[')) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::error,
                       .text = "SynapseAI: " + std::string(trimmed(*text))};
}

// "rtGetDevMsg execute failed, reason=[driver error:internal error][FUNC:…]" of Ascend's runtime.
std::optional<IncidentEvent> error_of_ascend(std::string_view line) {
  const std::size_t at = line.find(" execute failed, reason=[");
  const std::size_t end = line.find("][FUNC:");
  if (at == std::string_view::npos || end == std::string_view::npos || end < at)
    return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::error,
                       .text = "Ascend: " + std::string(trimmed(line.substr(0, end + 1)))};
}

// "ERROR: LoadError: Out of GPU memory" of Julia, which names the line of the program behind its
// stack.
std::optional<IncidentEvent> error_of_julia(std::string_view line) {
  if (!line.starts_with(julia_error)) return std::nullopt;
  return IncidentEvent{.kind = IncidentKind::exception,
                       .text = std::string(trimmed(line.substr(julia_error.size())))};
}

}  // namespace

std::optional<IncidentEvent> parse_library_error(std::string_view line) {
  constexpr std::array all = {
      caught_signal,     heap_of_c,    error_of_oneccl,  peer_of_mpi,           abort_of_mpi,
      process_of_mpirun, agent_of_jax, start_of_mpi,     failure_of_nccl_tests, end_by_pals,
      transport_of_ucx,  mesh_of_gloo, error_of_synapse, error_of_ascend,       error_of_julia};
  for (const auto& of : all)
    if (auto event = of(line)) return event;
  return std::nullopt;
}

bool has_fields_behind(const IncidentEvent& event, std::string_view line) {
  return event.kind == IncidentKind::peer || event.kind == IncidentKind::blocked ||
         (event.kind == IncidentKind::exit && !event.code && !event.pid) ||
         line.starts_with(julia_error) || contains_any(line, nccl_tests);
}

void take_fields(IncidentEvent& event, std::string_view line,
                 std::span<const std::string_view> behind_it) {
  const bool actor = event.kind == IncidentKind::exit && !event.code && !event.pid;
  const bool test = contains_any(line, nccl_tests);
  struct Field {
    bool wanted;
    std::string_view key;
    std::string* text;
    std::optional<std::int64_t>* number;
  };
  const bool peer = event.kind == IncidentKind::peer;
  const bool mpirun = contains(line, mpi_process);
  const std::array<Field, 7> fields = {{{peer, "Local host:", &event.host, nullptr},
                                        {peer, "Local PID:", nullptr, &event.pid},
                                        {peer, "Peer host:", &event.where, nullptr},
                                        {mpirun, "Exit code:", nullptr, &event.code},
                                        {actor && !mpirun, "pid: ", nullptr, &event.pid},
                                        {actor && !mpirun, "ip: ", &event.host, nullptr},
                                        {test, ".. ", nullptr, nullptr}}};
  for (const std::string_view text : behind_it) {
    for (const Field& field : fields) {
      if (!field.wanted || !text.starts_with(field.key)) continue;
      const std::string_view rest = trimmed(text.substr(field.key.size()));
      if (field.text != nullptr) *field.text = rest.substr(0, 200);
      if (field.number != nullptr) *field.number = leading_number<std::int64_t>(rest);
      if (field.text == nullptr && field.number == nullptr)
        event.pid = number_behind(rest, " pid ");
    }
    if (mpirun && event.code) break;
  }
  for (const std::string_view text : behind_it)
    if (const auto place = line.starts_with(julia_error)
                               ? behind(text, "in expression starting at ")
                               : std::nullopt)
      event.where = place->substr(place->rfind('/') + 1);  // npos + 1 is 0
  if (event.kind == IncidentKind::blocked) event.where = module_of_frames(behind_it);
}

}  // namespace stepscope
