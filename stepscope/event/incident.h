// SPDX-License-Identifier: Apache-2.0
// What the processes of a job, its launcher, its scheduler and the kernels of its hosts wrote as it
// stood still or ended: errors, signals, exits, with the times as the files write them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/oom_message.h"

namespace stepscope {

enum class IncidentKind : std::uint8_t {
  timeout,        // a watchdog gave up on a collective
  stuck,          // a watchdog thread itself made no progress
  barrier,        // ranks did not reach a monitored barrier
  device_memory,  // a device had no room for an allocation
  host_memory,    // the kernel or the scheduler killed a process for its memory
  device_error,   // an Xid of the driver, an error of CUDA or HIP
  network,        // an adapter reports a failed transfer
  signal,         // a process was ended by a signal
  exit,           // a process ended with a code
  exception,      // a Python exception ended it
  cancelled,      // the scheduler ended the job
  shared_memory,  // a process did not get shared memory of its host
  error,          // a library reports an error, and the line does not say that a process ended
  peer,           // a process lost the one that it talked to, on the host `where`
  blocked,        // a process stands in a call of the kernel; `code` has the milliseconds
  node,           // a host failed, by its scheduler or by Ray
  not_started,    // a host did not start its tasks
  evicted,        // Kubernetes ended a pod for a resource other than memory
  absent,         // a rank did not come to a collective, by a library that waits for it
  idle_device     // GPUs `text` of a host have no work, where its GPUs `where` have
};
inline constexpr auto incident_kind_names = enum_names<IncidentKind::idle_device>;
[[nodiscard]] constexpr std::string_view name_of(IncidentKind kind) {
  return incident_kind_names[static_cast<std::size_t>(kind)];
}

// A time as a file writes it: on the calendar of its writer, since 1970.
struct WrittenTime {
  Ns time{};
  bool no_year = false;  // the year is not written; 1972 stands for it
  bool after = false;    // of an earlier line: the line itself lacks it
};

struct IncidentEvent {
  IncidentKind kind = IncidentKind::exception;
  bool follows = false;             // the line says that something else ended first
  bool earlier_step = false;        // of a step of the job's script, behind which another one began
  std::optional<int> rank{};        // of the job
  std::optional<int> local_rank{};  // on its host
  std::string host{};
  std::optional<std::int64_t> pid{};
  std::optional<WrittenTime> time{};
  std::optional<std::int64_t> code{};  // signal, exit code, Xid, status of the adapter, or the
                                       // milliseconds of a timeout
  std::string text{};                  // of the line, at most 300 bytes
  std::string where{};                 // "train.py:120", of an exception; the PCI address of an Xid
  std::uint32_t input = 0;             // in CommRecords::inputs
  std::uint64_t line = 0;              // from 1
  std::uint64_t times = 1;
};

// The last line that names a rank, or the last line of a file whose name gives the rank.
struct LastLine {
  std::optional<WrittenTime> time{};
  std::string text{};
  std::uint32_t input = 0;
  std::uint64_t line = 0;
};

struct Incident {
  std::vector<IncidentEvent> events{};       // in the order of files and lines
  std::map<int, LastLine> last_lines{};      // by rank of the job
  std::map<int, std::string> world_sizes{};  // that files state → file
  // Arguments of the job that logs print, by Megatron's and DeepSpeed's names.
  std::map<std::string, std::string, std::less<>> settings{};
  std::vector<OomMessage> ooms{};
  std::uint64_t left_out = 0;  // events beyond those kept
};

}  // namespace stepscope
