// SPDX-License-Identifier: Apache-2.0
// Measured collectives from a table with the columns source, system, op, n_gpus, nodes,
// gpus_per_node, bytes, time_us, busbw_GBps, joined with the machines of the catalogue. Other
// columns are not read.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/fit/link_fit.h"

namespace stepscope::bench {

struct CollectiveRow {
  std::size_t line = 0;
  std::string source;
  std::size_t machine = 0;  // index into CollectiveRows::machines
  CollectiveTiming timing;
};

struct CollectiveRows {
  std::vector<const Machine*> machines;
  std::vector<Network> networks;  // of `machines`
  std::vector<CollectiveRow> rows;
  std::map<std::string, std::size_t> left_out;  // reason, rows
};

// If a row has no time, the time is computed from busbw (nccl-tests' definition).
[[nodiscard]] Result<CollectiveRows> read_collectives(const std::string& path);

// The bytes that busbw counts.
[[nodiscard]] double bus_bytes(const CollectiveTiming& timing);

// The network of a machine without measurements: the start of a fit.
[[nodiscard]] Network unmeasured(const Machine& machine);

}  // namespace stepscope::bench
