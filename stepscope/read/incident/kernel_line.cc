// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/kernel_line.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

struct Fault {
  std::string_view words;
  int signal;
};
constexpr std::array<Fault, 4> faults = {{{"]: segfault at ", 11},
                                          {"] general protection", 11},
                                          {"] trap invalid opcode", 4},
                                          {"] trap divide error", 8}}};

// Whether a program, or the library of a fault, may be one of a training job: hosts have many other
// programs that wait and fail.
bool may_be_of_job(std::string_view name) {
  return contains_any(name, {"python", "pt_", "torch", "ray", "train", "mpi", "julia", "nccl",
                             "rccl", "cuda", "libhip", "libhsa"});
}

// "python[77]: segfault at 7f… ip 7f… sp 7f… error 4 in libnccl.so.2[7f…+d3d000]", "traps:
// python[77] general protection fault ip:7f… sp:7f… error:0 in libc.so.6[…]".
std::optional<IncidentEvent> fault_of_program(std::string_view line) {
  for (const Fault& fault : faults) {
    const std::size_t close = line.find(fault.words);
    if (close == std::string_view::npos) continue;
    const std::size_t open = line.substr(0, close).rfind('[');
    if (open == std::string_view::npos) return std::nullopt;
    const auto pid = number_of<std::int64_t>(line.substr(open + 1, close - open - 1));
    if (!pid || *pid <= 0) return std::nullopt;
    IncidentEvent e{.kind = IncidentKind::signal, .pid = pid, .code = fault.signal};
    const std::string_view front = line.substr(0, open);
    const std::string program(front.substr(front.rfind(' ') + 1).substr(0, 100));  // npos + 1 is 0
    if (const auto in = behind(line.substr(close), " in "))
      e.where = std::string(in->substr(0, std::min(in->find('['), in->size())).substr(0, 100));
    if (!may_be_of_job(program) && !may_be_of_job(e.where)) return std::nullopt;
    if (!program.empty()) e.where += (e.where.empty() ? "program " : " of program ") + program;
    return e;
  }
  return std::nullopt;
}

// "INFO: task python:77 blocked for more than 120 seconds.", "watchdog: BUG: soft lockup - CPU#3
// stuck for 22s! [python:77]".
std::optional<IncidentEvent> blocked_task(std::string_view line) {
  const auto task = behind(line, "INFO: task ");
  const auto cpu = behind(line, "BUG: soft lockup - CPU#");
  if (!task && !cpu) return std::nullopt;
  std::string_view name;
  std::optional<std::int64_t> seconds;
  if (task) {
    const std::size_t end = task->find(" blocked for more than ");
    if (end == std::string_view::npos) return std::nullopt;
    name = task->substr(0, end);
    seconds = number_behind(*task, " blocked for more than ");
  } else {
    const std::size_t open = cpu->find('[');
    if (open == std::string_view::npos) return std::nullopt;
    name = cpu->substr(open + 1, cpu->find(']', open) - open - 1);
    seconds = number_behind(*cpu, "stuck for ");
  }
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || !seconds || *seconds < 0 || *seconds > 100'000'000)
    return std::nullopt;
  const auto pid = number_of<std::int64_t>(name.substr(colon + 1));
  if (!pid || *pid <= 0 || !may_be_of_job(name.substr(0, colon))) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::blocked, .pid = pid, .code = *seconds * 1000};
  // The kernel repeats it, with a longer time.
  e.text = name.substr(0, 100);
  return e;
}

// "BUG: unable to handle kernel NULL pointer dereference at …", "Kernel panic - not syncing: Fatal
// exception", "VFS: file-max limit 1000000 reached".
std::optional<IncidentEvent> fault_of_kernel(std::string_view line) {
  for (const std::string_view words :
       {"BUG: unable to handle ", "Kernel panic - not syncing", "VFS: file-max limit "}) {
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos) continue;
    const std::string_view front = line.substr(0, at);
    // A sentence may quote the message.
    if (!front.empty() && !front.ends_with("] ") && !front.ends_with(": ") &&
        !front.ends_with("+00:00 "))
      return std::nullopt;
    IncidentEvent e{.kind = IncidentKind::error, .where = "kernel"};
    // Addresses stand in columns.
    for (const char c : line.substr(at))
      if (c != ' ' || !e.text.ends_with(' ')) e.text += c;
    return e;
  }
  return std::nullopt;
}

}  // namespace

std::optional<IncidentEvent> parse_kernel_line(std::string_view line) {
  auto event = fault_of_program(line);
  if (!event) event = blocked_task(line);
  if (!event) event = fault_of_kernel(line);
  if (event) event->host = host_of_syslog(line);
  return event;
}

std::string module_of_frames(std::span<const std::string_view> behind_it) {
  for (const std::string_view text : behind_it) {
    if (contains(text, "INFO: task ")) break;
    const std::size_t offset = text.find("+0x");
    const std::size_t open = text.rfind(" [");
    if (offset == std::string_view::npos || open == std::string_view::npos || open < offset)
      continue;
    if (text.ends_with(']')) return std::string(text.substr(open + 2, text.size() - open - 3));
  }
  return {};
}

std::string_view host_of_syslog(std::string_view line) {
  const std::size_t at = line.substr(0, 200).find(" kernel: ");
  if (at == std::string_view::npos) return {};
  const std::string_view front = line.substr(0, at);
  const std::size_t blank = front.rfind(' ');
  return blank == std::string_view::npos ? std::string_view() : front.substr(blank + 1);
}

}  // namespace stepscope
