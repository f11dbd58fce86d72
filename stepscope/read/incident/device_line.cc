// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/device_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/error_text.h"
#include "stepscope/read/incident/launcher_prefix.h"

namespace stepscope {
namespace {

// "0000:3b:00" of "PCI:0000:3b:00): 79, …".
std::string pci_address(std::string_view text) {
  if (text.starts_with("PCI:")) text.remove_prefix(4);
  std::size_t end = 0;
  while (end < text.size() && (std::isxdigit(static_cast<unsigned char>(text[end])) != 0 ||
                               text[end] == ':' || text[end] == '.'))
    ++end;
  std::string_view address = text.substr(0, end);
  while (address.ends_with(':') || address.ends_with('.')) address.remove_suffix(1);
  const bool whole = std::ranges::count(address, ':') == 2 && address.size() < 24;
  return whole ? std::string(address) : std::string();
}

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=…, GPU has fallen off the bus." of NVIDIA's driver.
std::optional<IncidentEvent> error_of_gpu(std::string_view line) {
  const auto rest = behind(line, "NVRM: Xid (");
  if (!rest) return std::nullopt;
  const auto code = number_behind(*rest, "): ");
  if (!code || *code < 1 || *code > 1000) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::device_error, .code = code};
  e.pid = number_behind(*rest, "pid=");
  e.where = pci_address(*rest);
  return e;
}

// "nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Severity 1 Engine instance 12 …", "…: 22013,
// Non-fatal, Link 4 …". A line with "Data {" goes on from the line before.
std::optional<IncidentEvent> error_of_switch(std::string_view line) {
  const auto rest = behind(line, ": SXid (");
  if (!rest) return std::nullopt;
  const auto code = number_behind(*rest, "): ");
  if (!code || *code < 1 || *code > 1'000'000) return std::nullopt;
  if (contains_any(*rest, {"Non-fatal", "Severity 0", ", Data {"})) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::device_error, .code = code};
  e.where = pci_address(*rest);
  return e;
}

// "NVRM: GPU at 0000:3b:00.0 has fallen off the bus.". The driver also writes it over three lines,
// and this is the last: "NVRM: fallen off the bus and is not responding to commands." NVML says
// "Unable to determine the device handle for GPU 0000:3b:00.0: GPU is lost." to nvidia-smi, which
// may also know no reason ("Unknown Error"), and "GPU is lost" to Slurm.
std::optional<IncidentEvent> lost_gpu(std::string_view line) {
  const bool driver = contains(line, "NVRM") && contains(line, "fallen off the bus");
  const bool nvml = contains_any(line, {"Unable to determine the device handle for GPU",
                                        "Failed to get usage(15): GPU is lost"});
  if (!driver && !nvml) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::device_error};
  e.where = address_of_gpu(line);
  return e;
}

// "/w/IndexKernel.cu:60: operator(): block: [0,0,0], thread: [52,0,0] Assertion `index < size`
// failed.": each thread writes the line.
std::optional<IncidentEvent> assertion_of_kernel(std::string_view line) {
  if (!contains(line, "block: [") || !contains(line, "thread: [")) return std::nullopt;
  const std::size_t at = line.find("Assertion `");
  const std::size_t end = line.find("` failed", at == std::string_view::npos ? line.size() : at);
  if (end == std::string_view::npos) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::device_error};
  e.text = std::string(line.substr(at, end + 1 - at)) + " failed";
  const std::string_view text = trimmed(without_launcher(line));
  const std::string_view place = text.substr(0, std::min(text.find(": "), text.size()));
  if (contains(place, ":")) e.where = place.substr(place.find_last_of("/\\") + 1);
  return e;
}

// An error of CUDA or HIP in "what():", in the exception that ends a watchdog's thread, or alone.
std::optional<IncidentEvent> error_of_runtime(std::string_view line) {
  const auto words = device_words(line);
  if (!words) return std::nullopt;
  const bool watchdog = contains(line, "terminated with exception: ");
  const bool alone = words->data() == trimmed(without_launcher(line)).data();
  if (!watchdog && !alone && !contains(line, "what():")) return std::nullopt;
  IncidentEvent e{.kind = IncidentKind::device_error, .text = std::string(*words)};
  if (const auto rank = number_behind(line, "Rank ");
      rank && watchdog && *rank >= 0 && *rank < 10'000'000)
    e.rank = static_cast<int>(*rank);
  return e;
}

// "EH9999: 2024-07-03-11:28:40.450.757  wait for compute device to finish failed, …", "EI0006:
// [PID: 7] 2024-… Getting socket times out. Reason: Remote Rank did not send the data in time."
std::optional<IncidentEvent> error_of_cann(std::string_view line) {
  const std::string_view text = trimmed(without_launcher(line));
  if (!is_cann_code(text) || contains(text, "Notify register times out")) return std::nullopt;
  std::string_view rest = trimmed(text.substr(7));
  if (rest.starts_with("[PID: "))
    rest = trimmed(rest.substr(std::min(rest.find(']'), rest.size() - 1) + 1));
  IncidentEvent e{.kind = IncidentKind::device_error};
  std::string stamp(rest.substr(0, 19));
  if (stamp.size() == 19 && stamp[10] == '-') {
    stamp[10] = ' ';
    e.time = written_time(stamp + ' ');
    if (e.time) rest = trimmed(rest.substr(std::min(rest.find(' '), rest.size())));
  }
  e.text = std::string(text.substr(0, 8)) + std::string(rest);
  // EI and EJ are of the communication.
  if (text[1] == 'I' || text[1] == 'J') e.kind = IncidentKind::exception;
  e.follows = e.kind == IncidentKind::exception && is_consequence(e.text);
  return e;
}

}  // namespace

std::optional<IncidentEvent> parse_device_error(std::string_view line) {
  constexpr std::array all = {error_of_gpu,        error_of_switch,  lost_gpu,
                              assertion_of_kernel, error_of_runtime, error_of_cann};
  for (const auto& of : all)
    if (auto event = of(line)) return event;
  return std::nullopt;
}

std::optional<std::string_view> device_words(std::string_view text) {
  for (const std::string_view key : {"CUDA error: ", "HIP error: ", "cuda runtime error ("})
    if (const std::size_t at = text.find(key); at != std::string_view::npos) return text.substr(at);
  return std::nullopt;
}

std::string address_of_gpu(std::string_view line) {
  for (const std::string_view key : {"GPU at ", "GPU ", "GPU"})
    for (auto rest = behind(line, key); rest; rest = behind(*rest, key))
      if (std::string address = pci_address(*rest); !address.empty()) return address;
  return {};
}

}  // namespace stepscope
