// SPDX-License-Identifier: Apache-2.0
// The tables of a benchmark's output (read_comm_benchmark.h): what stands before their rows, and
// which collective, ranks and hosts each is of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/comm_benchmark.h"
#include "stepscope/read/nccl/benchmark_figures.h"
#include "stepscope/read/nccl/benchmark_launch.h"

namespace stepscope {

// "all_reduce" from ".../all_reduce_perf": the first program of nccl-tests in a text; empty: none.
[[nodiscard]] std::string_view test_in(std::string_view text);

// What stands before the rows of a table.
struct TableContext {
  std::string test{};      // of nccl-tests, or OSU's title
  bool announced = false;  // by the test itself; else by a command or another text
  bool several = false;    // other names stood there, too
  bool osu = false;
  int listed = 0;      // the largest rank that nccl-tests lists, plus one
  bool whole = false;  // each of these ranks is listed
  int hosts = 0;       // of the listed ranks
  bool same_ranks_per_host = true;
  bool groups = false;
  std::string device{};
  std::optional<BenchmarkLaunch> launch{};
};

struct ReadTable {
  CommBenchmark out{};
  TableContext context{};
  BenchmarkFigures figures{};
  std::int64_t last_size = 0;
  std::uint64_t line = 0;  // of its first row
};

// Names the test of a benchmark of nccl-tests: `test` is that of test_in(), else the file's name
// says it, else `given`.
void name_test(std::string_view test, std::optional<CollectiveKind> given, CommBenchmark& out);

// Determines collective, ranks and hosts.
void settle_table(ReadTable& table, std::string_view path, std::optional<CollectiveKind> given);

// One benchmark for each collective and place. Errors: a table is of an unknown collective; two
// tests that differ name no hosts.
[[nodiscard]] Result<std::vector<CommBenchmark>> joined_tables(std::vector<ReadTable> tables,
                                                               std::string_view path);

}  // namespace stepscope
