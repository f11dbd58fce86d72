// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_isolation.h"

#include <algorithm>
#include <array>
#include <vector>

namespace stepscope {
namespace {

using zero::IsolatedTimes;

// Means of a rank, and the range of the means over ranks; `member` of each rank has the same number
// of steps.
Ns mean_over_steps(const std::vector<Ns>& steps) {
  Ns sum{};
  for (const Ns t : steps) sum += t;
  return sum / std::max<Ns::rep>(1, std::ssize(steps));
}

TrainIsolation::Range range_of(std::span<const IsolatedTimes> ranks,
                               std::vector<Ns> IsolatedTimes::* member) {
  TrainIsolation::Range range{Ns::max(), Ns::min()};
  for (std::size_t i = 0; i < (ranks[0].*member).size(); ++i) {
    Ns sum{};
    for (const IsolatedTimes& rank : ranks) sum += (rank.*member)[i];
    sum /= std::ssize(ranks);
    range.least = std::min(range.least, sum);
    range.most = std::max(range.most, sum);
  }
  return range;
}

constexpr std::array members = {&IsolatedTimes::both, &IsolatedTimes::exposed,
                                &IsolatedTimes::compute, &IsolatedTimes::communication};

Result<std::vector<IsolatedTimes>> of_all_ranks(Communicator& comm, const IsolatedTimes& own) {
  const auto n = static_cast<std::size_t>(comm.size());
  std::vector<IsolatedTimes> ranks(n);
  for (const auto member : members) {
    const std::vector<Ns>& times = own.*member;
    std::vector<std::int64_t> mine;
    for (const Ns t : times) mine.push_back(t.count());
    std::vector<std::int64_t> all(n * mine.size());
    auto told = wait_for(comm, all_gather(comm, mine, all, "isolated times"));
    if (!told) return told.error();
    for (std::size_t i = 0; i < all.size(); ++i)
      (ranks[i / mine.size()].*member).push_back(Ns{all[i]});
  }
  return ranks;
}

}  // namespace

TrainIsolation isolation_of(std::span<const IsolatedTimes> ranks) {
  TrainIsolation isolation{.steps = static_cast<int>(ranks[0].both.size())};
  for (const IsolatedTimes& rank : ranks)
    isolation.ranks.push_back({.both = mean_over_steps(rank.both),
                               .exposed = mean_over_steps(rank.exposed),
                               .compute = mean_over_steps(rank.compute),
                               .communication = mean_over_steps(rank.communication)});
  isolation.both = range_of(ranks, &IsolatedTimes::both);
  isolation.exposed = range_of(ranks, &IsolatedTimes::exposed);
  isolation.compute = range_of(ranks, &IsolatedTimes::compute);
  isolation.communication = range_of(ranks, &IsolatedTimes::communication);
  return isolation;
}

Result<TrainIsolation> isolate_training(zero::Engine& engine, Isolation& comm,
                                        RankRecorder& recorder, const zero::TokenData& data) {
  const zero::EngineConfig& config = engine.config();
  const auto micro_batches = static_cast<std::size_t>(config.micro_batches);
  const auto tokens = static_cast<std::size_t>(config.batch * config.tokens);
  std::vector<std::vector<std::int32_t>> texts(2 * micro_batches,
                                               std::vector<std::int32_t>(tokens));
  std::vector<nn::MicroBatch> step(micro_batches);
  for (std::size_t m = 0; m < micro_batches; ++m) {
    const std::int64_t place =
        engine.cursor().data_position +
        (static_cast<std::int64_t>(m) * comm.size() + comm.rank()) * config.batch;
    auto read = data.read(zero::Split::train, static_cast<std::uint64_t>(place), texts[2 * m],
                          texts[2 * m + 1]);
    if (!read) return read.error();
    step[m] = {.batch = config.batch,
               .tokens = config.tokens,
               .inputs = texts[2 * m],
               .targets = texts[2 * m + 1],
               .dropout_seed = static_cast<std::uint64_t>(place)};
  }
  auto own = zero::isolate(engine, comm, recorder, step);
  if (!own) return own.error();
  auto ranks = of_all_ranks(comm, *own);
  if (!ranks) return ranks.error();
  return isolation_of(*ranks);
}

}  // namespace stepscope
