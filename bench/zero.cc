// SPDX-License-Identifier: Apache-2.0
// What sharing a model costs: two ranks (processes, shared memory) that train model A at ZeRO
// stages 1 and 3, beside two ranks that train alone at the same time, in turns. Prints tokens/s of
// both ranks together and the ratio to the independent ones: minimum, median, maximum over rounds.
//
//   build/release/bench/zero [ROUNDS [STEPS]]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/comm/shm_group.h"
#include "stepscope/comm/thread_group.h"
#include "stepscope/zero/engine.h"

namespace {

using namespace stepscope;

constexpr std::int64_t batch = 8;
constexpr std::int64_t tokens = 128;

// L4 H4 C256 T128 V4096 B8.
zero::EngineConfig model_a(int stage) {
  zero::EngineConfig config;
  config.network = {.family = nn::NetworkFamily::gpt2,
                    .layers = 4,
                    .heads = 4,
                    .kv_heads = 4,
                    .channels = 256,
                    .hidden = 1024,
                    .vocab = 4096,
                    .padded_vocab = 4096,
                    .context = tokens};
  config.batch = batch;
  config.tokens = tokens;
  config.stage = stage;
  return config;
}

// One way of training, set up once.
struct Contender {
  std::string name;
  std::unique_ptr<RankRecorder> recorder;
  std::unique_ptr<zero::Engine> engine;
  std::vector<double> rates;  // tokens/s of both ranks, by round
};

Result<Contender> contender(std::string name, int stage, Communicator& comm) {
  const auto config = model_a(stage);
  RecorderOptions options{
      .rank = comm.rank(), .world = comm.size(), .groups = {{"world", comm.size()}}};
  for (const auto& unit : nn::network_units(config.network)) options.units.push_back(unit.name);
  Contender made{.name = std::move(name),
                 .recorder = std::make_unique<RankRecorder>(options),
                 .engine = nullptr,
                 .rates = {}};
  auto engine = zero::Engine::create(config, comm, *made.recorder);
  if (!engine) return engine.error();
  made.engine = *std::move(engine);
  return made;
}

std::vector<std::int32_t> some_tokens(int seed) {
  std::vector<std::int32_t> text(static_cast<std::size_t>(batch * tokens));
  std::uint32_t state = 12345U + static_cast<std::uint32_t>(seed);
  for (auto& token : text) {
    state = state * 1664525U + 1013904223U;
    token = static_cast<std::int32_t>(state >> 20U);
  }
  return text;
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

void print_row(const Contender& of, const Contender& alone) {
  std::vector<double> rates = of.rates;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rates.size(); ++i) ratios.push_back(rates[i] / alone.rates[i]);
  std::ranges::sort(rates);
  std::ranges::sort(ratios);
  const std::size_t middle = rates.size() / 2;
  std::printf("%-22s %10.0f %10.3f %8.3f %8.3f\n", of.name.c_str(), rates[middle], ratios.front(),
              ratios[middle], ratios.back());
}

int run_rank(int rounds, int steps) {
  auto world = join_shm_group();
  if (!world) return fail(world.error());
  auto single = make_thread_group(1);
  if (!single) return fail(single.error());
  std::vector<Contender> contenders;
  for (const auto& [name, stage, comm] :
       {std::tuple<const char*, int, Communicator*>{"two independent ranks", 0, (*single)[0].get()},
        {"ZeRO-1", 1, world->get()},
        {"ZeRO-3", 3, world->get()}}) {
    auto made = contender(name, stage, *comm);
    if (!made) return fail(made.error());
    contenders.push_back(*std::move(made));
  }
  const int rank = (*world)->rank();
  const auto inputs = some_tokens(rank);
  const auto targets = some_tokens(rank + 7);
  const nn::MicroBatch micro{
      .batch = batch, .tokens = tokens, .inputs = inputs, .targets = targets};
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    for (Contender& one : contenders) {
      if (auto done = wait_for(**world, barrier(**world)); !done) return fail(done.error());
      const Ns begin = monotonic_now();
      for (int s = 0; s < steps; ++s) {
        if (auto done = one.engine->step({&micro, 1}); !done) return fail(done.error());
      }
      const double elapsed = seconds(monotonic_now() - begin).count();
      std::array<double, 1> rate = {static_cast<double>(steps * batch * tokens) / elapsed};
      auto done = wait_for(**world, all_reduce(**world, rate, "tokens/s"));
      if (!done) return fail(done.error());
      if (round >= 0) one.rates.push_back(rate[0]);
    }
  }
  if (rank != 0) return 0;
  std::printf("%-22s %10s %10s %8s %8s\n", "", "tokens/s", "ratio min", "median", "max");
  for (const Contender& one : contenders) print_row(one, contenders.front());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 7;
  const int steps = count > 2 ? std::atoi(arguments[2]) : 5;
  if (rounds < 1 || steps < 1) return 2;
  if (is_spawned_rank()) return run_rank(rounds, steps);
  const std::vector<std::string> argv = {arguments[0], std::to_string(rounds),
                                         std::to_string(steps)};
  const auto report = spawn_ranks(argv, 2);
  if (!report) return fail(report.error());
  return report->first_failed ? 1 : 0;
}
