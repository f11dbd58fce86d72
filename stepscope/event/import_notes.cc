// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/import_notes.h"

#include <algorithm>

namespace stepscope {

void ImportNotes::add(const std::string& reason, std::uint64_t byte, std::uint64_t times) {
  counts[reason] += times;
  const auto [at, fresh] = first_byte.try_emplace(reason, byte);
  if (!fresh) at->second = std::min(at->second, byte);
}

void ImportNotes::merge(const ImportNotes& other) {
  events += other.events;
  truncated = truncated || other.truncated;
  cuts.insert(cuts.end(), other.cuts.begin(), other.cuts.end());
  for (const auto& [reason, times] : other.counts) add(reason, other.first_byte.at(reason), times);
}

}  // namespace stepscope
