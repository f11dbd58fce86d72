// SPDX-License-Identifier: Apache-2.0
// A run of training of three steps and two ranks, for tests of its faces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/train/train_result.h"

namespace stepscope::train_test {

inline TrainRankStep rank_step(std::int64_t compute, std::int64_t wait, std::int64_t transfer) {
  TrainRankStep s;
  s.budget[static_cast<std::size_t>(BudgetCategory::compute)] = Ns{compute};
  s.budget[static_cast<std::size_t>(BudgetCategory::comm_exposed_wait)] = Ns{wait};
  s.budget[static_cast<std::size_t>(BudgetCategory::comm_exposed_transfer)] = Ns{transfer};
  s.wall = Ns{compute + wait + transfer};
  s.phases[static_cast<std::size_t>(Phase::forward)] = Ns{compute / 3};
  s.phases[static_cast<std::size_t>(Phase::backward)] = Ns{compute - compute / 3};
  s.phases[static_cast<std::size_t>(Phase::other)] = Ns{wait + transfer};
  s.tokens = 512;
  return s;
}

inline TrainResult run() {
  TrainResult r;
  r.version = "0";
  r.setup = {.model = "gpt2-tiny",
             .parameters = 3'200'000,
             .ranks = 2,
             .zero = 3,
             .precision = "f32",
             .batch = 4,
             .sequence = 128,
             .accumulation = 1,
             .recompute = "none",
             .transport = "shm"};
  r.peak = FlopRate{100e9};
  r.peak_source = "measured";
  r.model_flops = Flops{12e9};
  r.executed_flops = Flops{16e9};
  for (int i = 0; i < 3; ++i) {
    TrainStep s{.index = i, .loss = 5.0 - i, .learning_rate = 1e-3, .tokens = 1024};
    // The first step is slow, and warms up.
    s.wall = i == 0 ? Ns{400'000'000} : Ns{100'000'000};
    s.added = s.wall;
    s.ranks = {rank_step(90'000'000, 9'000'000, 1'000'001),
               rank_step(80'000'000, 18'000'000, 2'000'000)};
    r.steps.push_back(s);
  }
  return r;
}

inline TrainIsolation isolation() {
  TrainIsolation measured{.steps = 12};
  measured.ranks = {{.both = Ns{100'000'001},
                     .exposed = Ns{10'000'000},
                     .compute = Ns{80'000'000},
                     .communication = Ns{30'000'000}},
                    {.both = Ns{100'000'000},
                     .exposed = Ns{35'000'000},
                     .compute = Ns{60'000'000},
                     .communication = Ns{30'000'000}}};
  return measured;
}

}  // namespace stepscope::train_test
