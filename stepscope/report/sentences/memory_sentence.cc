// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/memory_sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

std::string percent(Bytes part, Bytes whole) { return format_percent(share_of_bytes(part, whole)); }

std::string use_in_words(std::size_t use) {
  if (use == static_cast<std::size_t>(MemoryUse::optimizer)) return "optimizer states";
  if (use == static_cast<std::size_t>(MemoryUse::temporary)) return "temporary buffers";
  if (use == static_cast<std::size_t>(MemoryUse::unknown)) return "of unknown use";
  return std::string(memory_use_names[use]);
}

}  // namespace

std::string place_in_words(const AccountedSnapshot& s, int device) {
  std::string out = say(device_in_words(device));
  if (s.rank) out += fmt::format(" of rank {}", *s.rank);
  return out;
}

std::vector<std::size_t> uses_by_size(const MemoryInstant& at) {
  std::vector<std::size_t> order;
  for (std::size_t u = 0; u < memory_use_count; ++u)
    if (at.by_use[u].value > 0) order.push_back(u);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t u) { return at.by_use[u]; });
  return order;
}

std::string device_memory_sentence(const AccountedSnapshot& s, const DeviceMemoryAccount& d) {
  const MemoryFragments& peak = d.peak.fragments;
  if (peak.live().value == 0)
    return fmt::format("No tensor holds memory on {}; {} are reserved.",
                       place_in_words(s, d.device), format_bytes(peak.reserved));
  std::string out = fmt::format("{} {} {}", d.events > 0 ? "At its peak" : "At the snapshot",
                                place_in_words(s, d.device), "holds ") +
                    format_bytes(peak.live());
  const std::vector<std::size_t> order = uses_by_size(d.peak);
  const auto told = [](std::size_t u) { return u != static_cast<std::size_t>(MemoryUse::unknown); };
  std::string parts;
  for (const std::size_t u : order) {
    if (!told(u) || share_of_bytes(d.peak.by_use[u], peak.live()) < 0.1) continue;
    parts += (parts.empty() ? ": " : ", ") + percent(d.peak.by_use[u], peak.live()) + ' ' +
             use_in_words(u);
  }
  out += parts + '.';
  out += fmt::format(" {} are reserved, and {} of that ({}) is stranded between blocks.",
                     format_bytes(peak.reserved), format_bytes(peak.stranded),
                     percent(peak.stranded, peak.reserved));
  if (d.oom_count > 0)
    out += fmt::format(" {} failed for want of memory.", counted(d.oom_count, "allocation"));
  return out;
}

std::string memory_sentence(const MemoryResult& r) {
  const AccountedSnapshot* most = nullptr;
  const DeviceMemoryAccount* device = nullptr;
  for (const AccountedSnapshot& s : r.snapshots)
    for (const DeviceMemoryAccount& d : s.account.devices)
      if (device == nullptr || d.peak.fragments.live() > device->peak.fragments.live()) {
        most = &s;
        device = &d;
      }
  return device == nullptr ? "Nothing is allocated." : device_memory_sentence(*most, *device);
}

}  // namespace stepscope
