// SPDX-License-Identifier: Apache-2.0
// The example of docs/reference/zero3-statistics.md: a loop that is not stepscope's fills the
// statistics. One argument: the number of steps.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "engine/stepscope_engine.h"

using namespace stepscope;

int main(int argc, char** argv) {
  constexpr int parameters = 1 << 20;
  constexpr int tokens = 4096;
  std::vector<float> weights(parameters, 1.0F);
  std::vector<float> gradients(parameters);
  Zero3PerformanceStats stats(/*rank=*/0, /*world=*/1);
  const auto must = [](const Result<Done>& recorded) {
    if (recorded) return;
    std::fprintf(stderr, "%s\n", recorded.error().message().c_str());
    std::exit(1);
  };
  must(stats.set_references({.peak = FlopRate{50e9}, .peak_source = "data sheet"}));
  for (int step = 0; step < (argc > 1 ? std::atoi(argv[1]) : 10); ++step) {
    const Ns start = host_now();
    const float loss = std::accumulate(weights.begin(), weights.end(), 0.0F);
    const Ns forward = host_now();
    must(stats.record_forward_pass(forward - start, tokens));
    for (float& gradient : gradients) gradient = 2 * loss / parameters;
    const Ns backward = host_now();
    must(stats.record_backward_pass(backward - forward, tokens));
    must(stats.record_flops(Flops{2.0 * parameters}, Flops{2.0 * parameters}));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 1e-3F * gradients[i];
    must(stats.record_optimizer_step(host_now() - backward, parameters));  // ends the step
  }
  std::puts(stats_json(stats.performance_summary()).c_str());
}
