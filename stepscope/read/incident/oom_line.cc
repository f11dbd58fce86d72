// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/oom_line.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

constexpr std::string_view tried = "ut of memory. Tried to allocate ";

struct SizeUnit {
  std::string_view name;
  double bytes;
};
constexpr std::array<SizeUnit, 11> size_units = {{{"bytes", 1},
                                                  {"KiB", 1024},
                                                  {"MiB", 1048576},
                                                  {"GiB", 1073741824},
                                                  {"TiB", 1099511627776},
                                                  {"KB", 1e3},
                                                  {"MB", 1e6},
                                                  {"GB", 1e9},
                                                  {"K", 1024},  // of XLA
                                                  {"M", 1048576},
                                                  {"G", 1073741824}}};

std::optional<Bytes> size_behind(std::string_view text, std::string_view key) {
  const auto rest = behind(text, key);
  return rest ? size_at_front(*rest) : std::nullopt;
}

// The size in front of `key`: its two words.
std::optional<Bytes> size_before(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::string_view head = text.substr(0, at);
  for (int words = 0; words < 2; ++words) {
    const std::size_t blank = head.find_last_of(" (;");
    if (blank == std::string_view::npos) return size_at_front(text.substr(0, at));
    head = head.substr(0, blank);
  }
  return size_at_front(trimmed(text.substr(head.size() + 1, at - head.size() - 1)));
}

// "CUDA" of "torch.OutOfMemoryError: CUDA out of memory. Tried …".
std::string backend_before(std::string_view head) {
  while (head.ends_with(' ')) head.remove_suffix(1);
  const std::size_t blank = head.find_last_of(" :]");
  const std::string_view word = blank == std::string_view::npos ? head : head.substr(blank + 1);
  const bool upper = !word.empty() && word.size() < 12 &&
                     std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  return upper ? std::string(word) : std::string();
}

void take_processes(std::string_view text, OomMessage& out) {
  constexpr std::string_view key = "Process ";
  constexpr std::size_t most = 64;
  for (auto rest = behind(text, key); rest && out.processes.size() < most;
       rest = behind(*rest, key)) {
    std::string_view words = *rest;
    const auto pid = take_number<std::int64_t>(words);
    if (!pid || !words.starts_with(" has ")) continue;
    const auto size = size_at_front(words.substr(5));
    if (size) out.processes.push_back({.pid = *pid, .bytes = *size});
  }
}

// PyTorch 2.1 and later: "GPU 0 has a total capacity of 79.33 GiB …", then the free memory.
// PyTorch 2.1.0 writes "capacty".
void take_sentences(std::string_view text, OomMessage& out) {
  std::string_view capacity = " has a total capacity of ";
  std::size_t at = text.find(capacity);
  if (at == std::string_view::npos) {
    capacity = " has a total capacty of ";
    at = text.find(capacity);
  }
  if (at == std::string_view::npos) return;
  const std::string_view head = text.substr(0, at);
  const std::size_t blank = head.rfind(' ');
  if (blank != std::string_view::npos) out.device = leading_number<int>(head.substr(blank + 1));
  out.total = size_at_front(text.substr(at + capacity.size()));
  out.free = size_behind(text, " of which ");
  take_processes(text, out);
  out.own = size_behind(text, "this process has ");
  out.allowed = size_before(text, " allowed;");
  out.allocated = size_behind(text, "Of the allocated memory ");
  out.private_pools = size_before(text, " allocated in private pools");
  out.unallocated = size_before(text, " is reserved by PyTorch but unallocated");
}

// Before: "(GPU 0; 23.69 GiB total capacity; 21.34 GiB already allocated; 391.31 MiB free; 22.10
// GiB reserved in total by PyTorch)", and until PyTorch 1.4 "127.04 MiB cached".
void take_list(std::string_view text, OomMessage& out) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return;
  const std::string_view list = text.substr(open + 1);
  const std::size_t semicolon = list.find(';');
  if (semicolon == std::string_view::npos || semicolon > 16) return;
  const std::string_view device = list.substr(0, semicolon);
  if (const std::size_t blank = device.rfind(' '); blank != std::string_view::npos)
    out.device = leading_number<int>(device.substr(blank + 1));
  out.total = size_before(list, " total capacity");
  out.allocated = size_before(list, " already allocated");
  out.free = size_before(list, " free;");
  out.allowed = size_before(list, " allowed;");
  const auto reserved = size_before(list, " reserved in total");
  if (reserved && out.allocated && reserved->value >= out.allocated->value)
    out.unallocated = Bytes{reserved->value - out.allocated->value};
  if (!reserved) out.unallocated = size_before(list, " cached");
}

// "Ran out of memory in memory space hbm. Used 30.21G of 15.48G hbm. Exceeded hbm capacity by
// 14.73G." of XLA's compiler, for a TPU.
std::optional<OomMessage> of_program(std::string_view line) {
  const auto rest = behind(line, "Ran out of memory in memory space ");
  if (!rest) return std::nullopt;
  OomMessage out{.backend = "XLA", .needed = size_behind(*rest, "Used ")};
  out.total = size_behind(*rest, " of ");
  return out.needed && out.total ? std::optional(out) : std::nullopt;
}

// "expandable_segments: memory mapping failed with OOM on device 0 while trying to map 20971520
// bytes (free: 15663104, total: 33671348224).": a warning, after which PyTorch gives back what it
// does not use, and tries again.
std::optional<OomMessage> of_mapping(std::string_view line) {
  const auto rest = behind(line, "expandable_segments: memory mapping failed with OOM on device ");
  if (!rest) return std::nullopt;
  OomMessage out{.retried = true};
  if (contains(line, "CUDACaching")) out.backend = "CUDA";
  if (contains(line, "HIPCaching")) out.backend = "HIP";
  out.device = leading_number<int>(*rest);
  const auto bytes_behind = [&](std::string_view key) {
    const auto bytes = number_behind(*rest, key);
    return bytes && *bytes >= 0 ? std::optional(Bytes{*bytes}) : std::nullopt;
  };
  out.request = bytes_behind("trying to map ");
  out.free = bytes_behind("(free: ");
  out.total = bytes_behind("total: ");
  return out.request ? std::optional(out) : std::nullopt;
}

// "failed to allocate 7.81G (8387559424 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY" of the stream
// executor, and "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.60GiB" of the BFC
// allocator, which TensorFlow and XLA share.
std::optional<OomMessage> of_tensorflow(std::string_view line) {
  if (contains(line, "from device: ") && contains(line, "ERROR_OUT_OF_MEMORY"))
    if (const auto size = size_behind(line, "failed to allocate "))
      return OomMessage{.backend = "TensorFlow", .request = size, .retried = true};
  if (!contains(line, "Allocator (") || contains(line, "this is not a failure"))
    return std::nullopt;
  const auto size = size_behind(line, ") ran out of memory trying to allocate ");
  return size ? std::optional(OomMessage{.backend = "TensorFlow", .request = size}) : std::nullopt;
}

// "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::268435456
// (256)MB".
std::optional<OomMessage> of_gaudi(std::string_view line) {
  const auto size = number_behind(line, "MODULE:PT_DEVMEM Allocation failed for size::");
  if (!size || *size < 0) return std::nullopt;
  return OomMessage{.backend = "HPU", .request = Bytes{*size}};
}

// Errors of the driver and its libraries, which name no sizes.
std::optional<OomMessage> without_sizes(std::string_view line) {
  struct Words {
    std::string_view text;
    std::string_view backend;
  };
  for (const auto& of : {of_mapping, of_tensorflow, of_gaudi})
    if (auto message = of(line)) return message;
  constexpr std::array<Words, 10> all = {{{"CUDA error: out of memory", "CUDA"},
                                          {"CUDA driver error: out of memory", "CUDA"},
                                          {"HIP error: out of memory", "HIP"},
                                          {"hipErrorOutOfMemory", "HIP"},
                                          {"cudaErrorMemoryAllocation", "CUDA"},
                                          {"CUDA_ERROR_OUT_OF_MEMORY", "CUDA"},
                                          {"CUBLAS_STATUS_ALLOC_FAILED", "CUDA"},
                                          {"Cuda failure 2 'out of memory'", "CUDA"},
                                          {"Cuda failure 'out of memory'", "CUDA"},
                                          {"RESULT_ERROR_OUT_OF_DEVICE_MEMORY", "XPU"}}};
  for (const Words& words : all)
    if (contains(line, words.text)) return OomMessage{.backend = std::string(words.backend)};
  if (auto program = of_program(line)) return program;
  if (!contains(line, "RESOURCE_EXHAUSTED: ")) return std::nullopt;
  if (const auto size = size_behind(line, "Attempting to allocate "))
    return OomMessage{.backend = "XLA", .request = size, .free = size_behind(line, "There are ")};
  for (const std::string_view key :
       {"ut of memory while trying to allocate ", "ut of memory allocating ",
        "ut of memory trying to allocate "})
    if (const auto size = size_behind(line, key))
      return OomMessage{.backend = "XLA", .request = size};
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> size_at_front(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto number = take_number<double>(text);
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const SizeUnit& unit : size_units) {
    if (!text.starts_with(unit.name)) continue;
    const double bytes = *number * unit.bytes;
    if (bytes > 1e18) return std::nullopt;
    return Bytes{static_cast<std::int64_t>(std::llround(bytes))};
  }
  return std::nullopt;
}

std::optional<OomMessage> parse_oom(std::string_view line) {
  constexpr std::string_view larger = "NOT allocate memory block with size larger than ";  // IPEX
  const std::size_t at = line.find(tried);
  const auto limit = size_behind(line, larger);
  if (at == std::string_view::npos && !limit) return without_sizes(line);
  const auto words = behind(line, "Tried to allocate ");
  const auto request = words ? size_at_front(*words) : std::nullopt;
  if (!request) return std::nullopt;
  OomMessage out;
  out.request = request;
  out.at_once = limit;
  if (limit) out.backend = "XPU";
  if (!limit && at > 0) out.backend = backend_before(line.substr(0, at - 1));
  const std::string_view rest = *words;
  take_sentences(rest, out);
  if (!out.total) take_list(rest, out);
  return out;
}

bool is_cut_oom(const OomMessage& message) {
  const bool of_torch = message.backend != "XLA" && message.backend != "TensorFlow" &&
                        message.backend != "HPU" && !message.retried;
  return message.request && !message.unallocated && of_torch && !message.at_once;
}

}  // namespace stepscope
