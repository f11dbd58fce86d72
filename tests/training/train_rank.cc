// SPDX-License-Identifier: Apache-2.0
// train_rank STAGE BUCKET DEPTH RECOMPUTE STEPS FILE: one rank of a group of processes trains the
// tiny network and writes its state to FILE.RANK.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "stepscope/comm/shm_group.h"
#include "stepscope/zero/engine_test_run.h"

namespace {

using stepscope::zero::StateExtent;

void write(std::ofstream& out, const void* data, std::size_t bytes) {
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

int train(char** arguments) {
  auto comm = stepscope::join_shm_group();
  if (!comm) return fail(comm.error().message());
  auto config = stepscope::zero::tiny_engine();
  config.stage = std::atoi(arguments[1]);
  config.bucket_bytes = {std::atoll(arguments[2])};
  config.prefetch_depth = std::atoi(arguments[3]);
  config.recompute.kind = static_cast<stepscope::nn::Recompute>(std::atoi(arguments[4]));
  stepscope::RankRecorder recorder(stepscope::zero::recorder_options(config, **comm));
  auto engine = stepscope::zero::Engine::create(config, **comm, recorder);
  if (!engine) return fail(engine.error().message());
  const int steps = std::atoi(arguments[5]);
  for (int s = 0; s < steps; ++s) {
    auto result = stepscope::zero::test_step(**engine, **comm, true);
    if (!result) return fail(result.error().message());
  }
  auto state = (*engine)->state();
  if (!state) return fail(state.error().message());
  std::ofstream out(std::string(arguments[6]) + "." + std::to_string((*comm)->rank()),
                    std::ios::binary);
  for (const StateExtent& extent : state->extents) {
    const auto unit = static_cast<std::int64_t>(extent.unit);
    const auto count = static_cast<std::int64_t>(extent.master.size());
    write(out, &unit, sizeof unit);
    write(out, &extent.first, sizeof extent.first);
    write(out, &count, sizeof count);
    for (const auto values : {extent.master, extent.m, extent.v}) {
      write(out, values.data(), values.size_bytes());
    }
  }
  return out.flush() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) { return count == 7 ? train(arguments) : 2; }
