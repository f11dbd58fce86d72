// SPDX-License-Identifier: Apache-2.0
// Results of a benchmark of collectives (read/nccl/read_comm_benchmark.h): one operation and one
// group of ranks. A file may have several.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

struct BenchmarkPoint {
  Bytes bytes{};   // S, the total buffer, if the file's size is that; else as printed
  Seconds time{};  // of one call, above 0
  bool in_place = false;
};

struct CommBenchmark {
  std::string path;
  std::string tool;  // "nccl-tests", "OSU"
  std::string test;  // "all_reduce_perf", "OSU MPI Allreduce Latency Test v7.4"
  CollectiveKind kind = CollectiveKind::unknown;
  bool per_rank = false;      // sizes are one rank's; the total is this times the ranks
  bool many_at_once = false;  // a bandwidth test: its times are for one of many messages in flight
  int ranks = 0;              // 0: not in the file
  int hosts = 0;
  bool same_ranks_per_host = true;  // equal number of ranks on each host
  std::string device;               // of the first rank; may be empty
  std::vector<BenchmarkPoint> points;
  std::optional<double> best_rate;  // bytes/s of a bandwidth test
  std::map<std::string, std::uint64_t> notes;
};

}  // namespace stepscope
