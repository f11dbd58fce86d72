// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/oom_line.h"

#include <algorithm>
#include <string>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/framework_oom.h"
#include "stepscope/read/incident/launcher_prefix.h"
#include "stepscope/read/incident/memory_size.h"

namespace stepscope {
namespace {

constexpr int lines_of_message = 6;
constexpr std::string_view tried = "ut of memory. Tried to allocate ";

// "CUDA" of "torch.OutOfMemoryError: CUDA out of memory. Tried …".
std::string backend_before(std::string_view head) {
  while (head.ends_with(' ')) head.remove_suffix(1);
  const std::size_t blank = head.find_last_of(" :]");
  const std::string_view word = blank == std::string_view::npos ? head : head.substr(blank + 1);
  const bool upper = !word.empty() && word.size() < 12 &&
                     std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  return upper ? std::string(word) : std::string();
}

// "PYTORCH_ALLOC_CONF" of "try setting PYTORCH_ALLOC_CONF=expandable_segments:True".
std::string variable_in(std::string_view text) {
  const std::size_t end = text.find("ALLOC_CONF=");
  const std::size_t begin = text.substr(0, end).rfind("PYTORCH_");
  if (end == std::string_view::npos || begin == std::string_view::npos || end - begin > 24)
    return {};
  return std::string(text.substr(begin, end + 10 - begin));
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

// "MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed:
// 27.20 GiB). Tried to allocate 292.50 MiB on private pool." Metal counts the other allocations of
// the process. Older versions of PyTorch write GB for GiB.
std::optional<OomMessage> of_mps(std::string_view line) {
  const auto list = behind(line, "MPS backend out of memory (MPS allocated: ");
  if (!list) return std::nullopt;
  constexpr SizeUnits units = SizeUnits::binary;
  return OomMessage{.framework = OomFramework::pytorch,
                    .backend = "MPS",
                    .request = size_behind(*list, "Tried to allocate ", units),
                    .allowed = size_behind(*list, "max allowed: ", units),
                    .allocated = size_at_front(*list, units),
                    .elsewhere = size_behind(*list, "other allocations: ", units)};
}

// "torch.OutOfMemoryError: Allocation on device" of other allocators, and the error without text.
// The name within a line is that of code.
std::optional<OomMessage> of_bare_error(std::string_view line) {
  const std::string_view text = trimmed(without_launcher(line));
  for (const std::string_view name : {"torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError"})
    if (text.starts_with(name) && (text == name || text[name.size()] == ':'))
      return OomMessage{.framework = OomFramework::pytorch};
  return std::nullopt;
}

}  // namespace

std::optional<OomMessage> parse_oom(std::string_view line) {
  if (auto mps = of_mps(line)) return mps;
  constexpr std::string_view larger = "NOT allocate memory block with size larger than ";  // IPEX
  const std::size_t at = line.find(tried);
  const auto limit = size_behind(line, larger);
  if (at == std::string_view::npos && !limit) {
    auto other = framework_oom(line);
    return other ? other : of_bare_error(line);
  }
  const auto words = behind(line, "Tried to allocate ");
  const auto request = words ? size_at_front(*words) : std::nullopt;
  if (!request) return std::nullopt;
  OomMessage out{.framework = OomFramework::pytorch, .request = request};
  out.at_once = limit;
  if (limit) out.backend = "XPU";
  if (!limit && at > 0) out.backend = backend_before(line.substr(0, at - 1));
  const std::string_view rest = *words;
  take_sentences(rest, out);
  if (!out.total) take_list(rest, out);
  out.variable = variable_in(rest);
  return out;
}

bool is_cut_oom(const OomMessage& message) {
  if (message.backend == "MPS") return !message.request;
  return message.framework == OomFramework::pytorch && message.request && !message.unallocated &&
         !message.at_once && !message.retried;
}

OomMessage whole_oom(OomMessage message, std::string_view line, std::string_view behind_it,
                     const std::function<std::string_view(std::string_view)>& plain) {
  const auto next_of = [&](std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view one = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return trimmed(plain(one));
  };
  std::string joined(line);
  std::string_view rest = behind_it;
  for (int i = 0; i < lines_of_message && is_cut_oom(message) && !rest.empty(); ++i) {
    const std::string_view more = next_of(rest);
    if (more.empty() || !contains_any(more, {"GPU", "free", "allocat", "capacity", "in use",
                                             "reserved", "of which", "Process", "PyTorch"}))
      break;
    joined += ' ';
    joined += more;
    auto whole = parse_oom(joined);
    if (!whole) break;
    message = std::move(*whole);
  }
  // "    arguments        15.90G" of a compiled program.
  rest = behind_it;
  for (int i = 0; i < lines_of_message && message.needed && !rest.empty(); ++i)
    if (const std::string_view row = next_of(rest); row.starts_with("arguments "))
      message.arguments = size_at_front(trimmed(row.substr(10)));
  return message;
}

}  // namespace stepscope
