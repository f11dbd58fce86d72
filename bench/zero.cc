// SPDX-License-Identifier: Apache-2.0
// The cost of sharding a model. Two ranks (processes, shared memory) train model A at ZeRO stages 1
// and 3. They are compared, in turns, with two ranks that train independently at the same time.
// Prints tokens/s of both ranks together and the ratio to the independent ranks: minimum, median,
// maximum over rounds.
//
//   build/release/bench/zero [ROUNDS [STEPS]]
//   build/release/bench/zero --serve STAGE
//
// --serve trains at one stage: each line "N" on standard input is answered, after N steps, with
// "<processor ms of both ranks> <wall ms>". bench/torch_zero_peer.py measures in turns.
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/comm/groups/shm_group.h"
#include "engine/comm/groups/thread_group.h"
#include "engine/zero/engine/engine.h"

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

// One rank's batch, the same in every step.
struct Tokens {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;

  explicit Tokens(int rank) : inputs(some_tokens(rank)), targets(some_tokens(rank + 7)) {}
};

// This rank's seconds for `steps`. All ranks of `world` begin together.
Result<double> train(Communicator& world, zero::Engine& engine, const Tokens& text, int steps) {
  const nn::MicroBatch micro{
      .batch = batch, .tokens = tokens, .inputs = text.inputs, .targets = text.targets};
  if (auto done = wait_for(world, barrier(world)); !done) return done.error();
  const Ns begin = monotonic_now();
  for (int s = 0; s < steps; ++s) {
    if (auto done = engine.step({&micro, 1}); !done) return done.error();
  }
  return seconds(monotonic_now() - begin).count();
}

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// -1 if the text is not a whole number.
int number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

// Returns 0 at the end of rank 0's standard input. The other ranks sleep until it has read a line.
Result<int> next_steps(Communicator& world) {
  std::array<std::int64_t, 1> steps = {0};
  std::string line;
  if (world.rank() == 0 && std::getline(std::cin, line)) steps[0] = number(line);
  if (auto done = wait_for(world, broadcast(world, steps, 0, "steps")); !done) return done.error();
  return static_cast<int>(steps[0]);
}

Result<Done> serve(Communicator& world, int stage) {
  auto made = contender("served", stage, world);
  if (!made) return made.error();
  const Tokens text(world.rank());
  world.set_deadline(std::chrono::hours(24));  // of waiting for a line
  for (;;) {
    const auto steps = next_steps(world);
    if (!steps) return steps.error();
    if (*steps < 1) return Done{};
    std::array<double, 1> processor = {processor_seconds()};
    const auto elapsed = train(world, *made->engine, text, *steps);
    if (!elapsed) return elapsed.error();
    processor[0] = processor_seconds() - processor[0];
    std::array<double, 1> wall = {*elapsed};
    auto done = wait_for(world, all_reduce(world, wall, "wall", Reduction::max));
    if (done) done = wait_for(world, all_reduce(world, processor, "processor"));
    if (!done) return done.error();
    if (world.rank() != 0) continue;
    std::printf("%.6f %.6f\n", processor[0] * 1e3, wall[0] * 1e3);
    std::fflush(stdout);
  }
}

Result<Done> compare(Communicator& world, int rounds, int steps) {
  auto single = make_thread_group(1);
  if (!single) return single.error();
  std::vector<Contender> contenders;
  for (const auto& [name, stage, comm] :
       {std::tuple<const char*, int, Communicator*>{"two independent ranks", 0, (*single)[0].get()},
        {"ZeRO-1", 1, &world},
        {"ZeRO-3", 3, &world}}) {
    auto made = contender(name, stage, *comm);
    if (!made) return made.error();
    contenders.push_back(*std::move(made));
  }
  const Tokens text(world.rank());
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    for (Contender& one : contenders) {
      const auto elapsed = train(world, *one.engine, text, steps);
      if (!elapsed) return elapsed.error();
      std::array<double, 1> rate = {static_cast<double>(steps * batch * tokens) / *elapsed};
      auto done = wait_for(world, all_reduce(world, rate, "tokens/s"));
      if (!done) return done.error();
      if (round >= 0) one.rates.push_back(rate[0]);
    }
  }
  if (world.rank() != 0) return Done{};
  std::printf("%-22s %10s %10s %8s %8s\n", "", "tokens/s", "ratio min", "median", "max");
  for (const Contender& one : contenders) print_row(one, contenders.front());
  return Done{};
}

struct Options {
  int rounds = 7;
  int steps = 5;
  std::optional<int> served_stage;

  [[nodiscard]] bool valid() const {
    const int stage = served_stage.value_or(0);
    return rounds > 0 && steps > 0 && stage >= 0 && stage <= 3;
  }
};

Options parse(std::span<char*> words) {
  Options o;
  if (words.size() == 3 && std::string_view(words[1]) == "--serve") {
    o.served_stage = number(words[2]);
    return o;
  }
  if (words.size() > 1) o.rounds = number(words[1]);
  if (words.size() > 2) o.steps = number(words[2]);
  return o;
}

int run_rank(const Options& o) {
  auto world = join_shm_group();
  if (!world) return fail(world.error());
  const auto done =
      o.served_stage ? serve(**world, *o.served_stage) : compare(**world, o.rounds, o.steps);
  return done ? 0 : fail(done.error());
}

}  // namespace

int main(int count, char** arguments) {
  const std::span<char*> words(arguments, static_cast<std::size_t>(count));
  const Options options = parse(words);
  if (!options.valid()) {
    std::fprintf(stderr, "usage: zero [ROUNDS [STEPS]] | zero --serve STAGE\n");
    return 2;
  }
  if (is_spawned_rank()) return run_rank(options);
  const auto report = spawn_ranks(std::vector<std::string>(words.begin(), words.end()), 2);
  if (!report) return fail(report.error());
  return report->first_failed ? 1 : 0;
}
