// SPDX-License-Identifier: Apache-2.0
// Measured collectives from a table with the columns source, system, op, n_gpus, nodes,
// gpus_per_node, bytes, time_us, busbw_GBps (other columns are not read), joined with the machines
// of the catalogue.
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
  std::vector<Network> networks;  // of them
  std::vector<CollectiveRow> rows;
  std::map<std::string, std::size_t> left_out;  // reason, rows
};

// A row whose time is missing has it from busbw (nccl-tests' definition).
[[nodiscard]] Result<CollectiveRows> read_collectives(const std::string& path);

// Bytes that busbw counts.
[[nodiscard]] double bus_bytes(const CollectiveTiming& timing);

// The network of a machine with nothing measured on it: where a fit begins.
[[nodiscard]] Network unmeasured(const Machine& machine);

}  // namespace stepscope::bench
