// SPDX-License-Identifier: Apache-2.0
// Events that a reader could not use or had to mend, counted by reason. One bad event never ends an
// import, and nothing is dropped in silence.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

// A file that ends too early (capture_cut.h).
struct CaptureCut {
  Ns end{};          // last end of its rows
  Ns complete_to{};  // rows that begin before are all there; Ns::min(): none is known to be
};

struct ImportNotes {
  std::uint64_t events = 0;                     // complete elements of traceEvents
  bool truncated = false;                       // the file ends in the middle
  std::map<std::string, std::uint64_t> counts;  // reason → count, e.g. "negative_duration"
  std::vector<CaptureCut> cuts;                 // of a rank: one for each file that was cut
  std::map<std::string, std::uint64_t>
      first_byte;  // reason → byte (of the inflated text) of its first case

  void add(const std::string& reason, std::uint64_t byte, std::uint64_t times = 1);
  void merge(const ImportNotes& other);
};

}  // namespace stepscope
