// SPDX-License-Identifier: Apache-2.0
// Evaluations per second: GPT-3 on 1024 A100s, every plan complete (time, memory, all terms), as in
// a search within one shape: pipeline, schedule, ZeRO and recomputation vary.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {
namespace {

Transformer gpt3() {
  Transformer m = operations_test::gpt();
  m.layers = 96;
  return m;
}

Plan shape() {
  Plan plan;
  plan.devices = 1024;
  plan.tp = 8;
  plan.dp = 128;
  plan.tensor.sequence_parallel = true;
  plan.batch.global = 1536;
  return plan;
}

std::vector<Plan> plans() {
  std::vector<Plan> all;
  for (const std::int64_t pp : {1, 2, 4, 8, 16, 32}) {
    for (const auto schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zero_bubble_h1,
                                Schedule::interleaved}) {
      for (const int zero : {0, 1, 2, 3}) {
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          Plan plan = shape();
          plan.pp = pp;
          plan.dp = 128 / pp;
          plan.pipeline.schedule = schedule;
          if (schedule == Schedule::interleaved) plan.pipeline.virtual_stages = pp == 32 ? 3 : 2;
          plan.zero = zero;
          plan.memory.recompute = recompute;
          if (check_plan(gpt3(), plan)) all.push_back(plan);
        }
      }
    }
  }
  return all;
}

void evaluations(benchmark::State& state) {
  const Transformer model = gpt3();
  const Machine* machine = find_machine("NVIDIA A100-SXM4-80GB");
  const auto network = make_network(*machine);
  auto context = make_cost_context(model, *machine, *network, shape());
  check(context.has_value(), "the benchmark's machine is complete");
  const std::vector<Plan> all = plans();
  std::size_t next = 0;
  for (auto _ : state) {
    const auto cost = evaluate(*context, all[next]);
    benchmark::DoNotOptimize(cost->seconds[0]);
    next = next + 1 == all.size() ? 0 : next + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(evaluations);

void contexts(benchmark::State& state) {
  const Transformer model = gpt3();
  const Machine* machine = find_machine("NVIDIA A100-SXM4-80GB");
  const auto network = make_network(*machine);
  for (auto _ : state) {
    auto context = make_cost_context(model, *machine, *network, shape());
    benchmark::DoNotOptimize(context->input_bytes);
  }
}
BENCHMARK(contexts);

}  // namespace
}  // namespace stepscope

BENCHMARK_MAIN();
