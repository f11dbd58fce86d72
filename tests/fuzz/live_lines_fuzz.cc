// SPDX-License-Identifier: Apache-2.0
// Any lines as a file of a running job, by their own kind: Inspector's, the NCCL plugin's,
// torchtitan's, a training log's. The state keeps its sums, and its account can be made.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "stepscope/live/engine_metrics.h"
#include "stepscope/live/line_source.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void look(JobState& state, const LineSource& source) {
  std::uint64_t waiting = 0;
  for (const auto& c : state.communicators()) {
    const CommunicatorCounts& counts = c->counts();
    expect(counts.matched + counts.unmatched <= counts.records, "a record is counted once");
    expect(c->ranks_seen() <= c->ranks(), "no more ranks than there are");
    expect(std::isfinite(c->transfer()) && std::isfinite(c->mean_wait()), "sums are finite");
    waiting += counts.records;
  }
  expect(state.coverage().records >= waiting, "forgotten communicators count");
  expect(source.not_understood() <= source.lines(), "a line is counted once");
  for (const CurvePoint& p : state.curve().points())
    expect(p.steps > 0 && p.sum_ns > 0 && p.least_ns <= p.most_ns, "a point has a time");
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto metrics = parse_engine_metrics(text)) {
    for (const auto& [rank, own] : metrics->own_s)
      expect(rank >= 0 && std::isfinite(own), "own work is of a rank");
    expect(!steps_between(*metrics, *metrics), "no step is between a reading and itself");
  }
  JobState state;
  LineSource source("file");
  double now = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    source.take(line, state, now);
    now += 0.5;
    source.flush(state, now);
    if (line.size() % 3 == 0) state.settle(now);
  }
  state.close_all(now);
  state.settle(now + 700);
  look(state, source);
  return 0;
}
