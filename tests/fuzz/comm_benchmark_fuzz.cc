// SPDX-License-Identifier: Apache-2.0
// Any text as the output of a benchmark of collectives, and as a table of sizes and times. An
// accepted text has a collective, and points of positive size and time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "stepscope/read/nccl/read_comm_benchmark.h"
#include "stepscope/read/nccl/size_time_table.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void expect_measured(const CommBenchmark& read) {
  expect(!read.points.empty() && read.kind != CollectiveKind::unknown,
         "a benchmark is of something");
  expect(read.ranks >= 0 && read.hosts >= 0, "ranks and hosts are counted");
  for (const BenchmarkPoint& p : read.points)
    expect(p.bytes.value > 0 && p.time.count() > 0 && std::isfinite(p.time.count()),
           "a point has a size and a time");
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (looks_like_size_times(text)) {
    const auto tables = parse_size_times(text, "input");
    expect(tables || !tables.error().message().empty(), "an error says something");
    if (tables)
      for (const CommBenchmark& table : *tables) expect_measured(table);
  }
  const auto read = parse_comm_benchmark(text, "input");
  expect(read || !read.error().message().empty(), "an error says something");
  if (read) {
    expect(!read->empty(), "an accepted text has a table");
    for (const CommBenchmark& table : *read) expect_measured(table);
  }
  return 0;
}
