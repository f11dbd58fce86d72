// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace stepscope {
namespace {

// One pass in a device's order: chunk, micro-batch, and direction.
struct Turn {
  bool forward = true;
  std::size_t chunk = 0;
  std::size_t micro_batch = 0;
};

struct Size {
  std::size_t p = 1;
  std::size_t v = 1;
  std::size_t m = 1;
};

// Megatron's order of chunks: p micro-batches of each chunk in turn.
Turn nth(const Size& n, std::size_t i, bool forward) {
  const std::size_t chunk = i % (n.p * n.v) / n.p;
  return {.forward = forward,
          .chunk = forward ? chunk : n.v - 1 - chunk,
          .micro_batch = i / (n.p * n.v) * n.p + i % n.p};
}

std::vector<Turn> order(Schedule schedule, const Size& n, std::size_t device) {
  const std::size_t total = n.m * n.v;
  const std::size_t after = n.p - 1 - device;
  std::size_t warm_up = after;
  if (schedule == Schedule::gpipe) warm_up = total;
  if (schedule == Schedule::interleaved && n.v > 1) warm_up = 2 * after + (n.v - 1) * n.p;
  warm_up = std::min(warm_up, total);
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < warm_up; ++i) turns.push_back(nth(n, i, true));
  for (std::size_t i = warm_up; i < total; ++i) {
    turns.push_back(nth(n, i, true));
    turns.push_back(nth(n, i - warm_up, false));
  }
  for (std::size_t i = total - warm_up; i < total; ++i) turns.push_back(nth(n, i, false));
  return turns;
}

// Runs every pass of every device in its order, as early as its inputs allow.
class Simulator {
 public:
  Simulator(const Pipeline& pipeline, const Size& n)
      : pipeline_(pipeline), n_(n), forward_end_(n.p * n.v * n.m), backward_end_(n.p * n.v * n.m) {}

  double run() {
    std::vector<std::vector<Turn>> orders;
    for (std::size_t d = 0; d < n_.p; ++d) orders.push_back(order(pipeline_.schedule, n_, d));
    std::vector<std::size_t> next(n_.p, 0);
    std::vector<double> clock(n_.p, 0.0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < n_.p; ++d) {
        while (next[d] < orders[d].size() && step(d, orders[d][next[d]], clock[d])) {
          ++next[d];
          held_ = std::max(held_, d == 0 ? forwards_ - backwards_ : 0);
          moved = true;
        }
      }
    }
    for (std::size_t d = 0; d < n_.p; ++d) EXPECT_EQ(next[d], orders[d].size()) << "a deadlock";
    return *std::ranges::max_element(clock);
  }

  // Largest number of chunk activations on the first device.
  [[nodiscard]] int held() const { return held_; }

 private:
  std::optional<double>& end(bool forward, std::size_t stage, std::size_t micro_batch) {
    return (forward ? forward_end_ : backward_end_)[stage * n_.m + micro_batch];
  }

  bool step(std::size_t device, const Turn& turn, double& clock) {
    const std::size_t stage = turn.chunk * n_.p + device;
    const bool first = turn.forward && stage == 0;
    const bool turns_round = !turn.forward && stage + 1 == n_.p * n_.v;
    double ready = 0;
    if (!first) {
      const std::size_t from = turns_round ? stage : turn.forward ? stage - 1 : stage + 1;
      const auto& input = end(turn.forward || turns_round, from, turn.micro_batch);
      if (!input) return false;
      ready = *input + (turns_round || n_.p == 1 ? 0 : pipeline_.send.count());
    }
    const StageTime& t = pipeline_.stages[stage];
    clock = std::max(clock, ready) + (turn.forward ? t.forward : t.backward).count();
    end(turn.forward, stage, turn.micro_batch) = clock;
    if (device == 0) (turn.forward ? forwards_ : backwards_) += 1;
    return true;
  }

  const Pipeline& pipeline_;
  Size n_;
  std::vector<std::optional<double>> forward_end_;
  std::vector<std::optional<double>> backward_end_;
  int forwards_ = 0;
  int backwards_ = 0;
  int held_ = 0;
};

Size size_of(const Pipeline& pipeline) {
  const auto v = static_cast<std::size_t>(pipeline.virtual_stages);
  return {pipeline.stages.size() / v, v, static_cast<std::size_t>(pipeline.micro_batches)};
}

double simulate(const Pipeline& pipeline) { return Simulator(pipeline, size_of(pipeline)).run(); }

// predicted / simulated - 1.
double distance(const Pipeline& pipeline) {
  return pipeline_time(pipeline).step.count() / simulate(pipeline) - 1;
}

std::vector<StageTime> even_stages(std::size_t count, double f, double b, double w = 0) {
  return std::vector<StageTime>(count, {Seconds{f}, Seconds{b}, Seconds{w}});
}

class Random {
 public:
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  std::size_t whole(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(engine_);
  }
  // Layers of different kinds: forward 1 to 1 + spread, backward about twice as long.
  std::vector<StageTime> uneven(std::size_t count, double spread) {
    std::vector<StageTime> stages;
    for (std::size_t s = 0; s < count; ++s) {
      const double f = 1 + real(0, spread);
      stages.push_back({Seconds{f}, Seconds{f * (2 + real(-0.5, 0.5) * spread)}, Seconds{0}});
    }
    return stages;
  }
  // A first stage with an embedding, a last one with a head.
  std::vector<StageTime> with_ends(std::size_t count, double spread) {
    auto stages = even_stages(count, 1, 2);
    const double embedding = real(0, spread);
    const double head = real(0, spread);
    stages.front().forward += Seconds{embedding};
    stages.front().backward += Seconds{embedding};
    stages.back().forward += Seconds{head};
    stages.back().backward += Seconds{2 * head};
    return stages;
  }

 private:
  std::mt19937_64 engine_{7};
};

TEST(Pipeline, EvenStagesIdleAsTheTextbooksSay) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const std::size_t p = random.whole(1, 16);
    const std::size_t v = random.whole(2, 4);
    const auto m = static_cast<std::int64_t>(p * random.whole(2, 6));
    const double f = random.real(0.5, 2);
    const double w = random.real(0.2, 1);
    const double b = w * random.real(2, 3);  // H1 and H2 assume that W is no longer than B
    const auto stages = even_stages(p, f, b, w);
    const auto chunks = even_stages(p * v, f / static_cast<double>(v), b / static_cast<double>(v));
    const double before = static_cast<double>(p) - 1;
    const auto bubble = [&](Schedule schedule) {
      return pipeline_time({.schedule = schedule, .micro_batches = m, .stages = stages})
          .bubble.count();
    };
    EXPECT_NEAR(bubble(Schedule::gpipe), before * (f + b), 1e-9);
    EXPECT_NEAR(bubble(Schedule::one_f_one_b), before * (f + b), 1e-9);
    EXPECT_NEAR(bubble(Schedule::zero_bubble_h1), before * (f + b - 2 * w), 1e-9);
    EXPECT_NEAR(bubble(Schedule::zero_bubble_h2), std::max(0.0, before * (f + b - 3 * w)), 1e-9);
    const PipelineTime interleaved = pipeline_time({.schedule = Schedule::interleaved,
                                                    .virtual_stages = static_cast<std::int64_t>(v),
                                                    .micro_batches = m,
                                                    .stages = chunks});
    EXPECT_NEAR(interleaved.bubble.count(), before * (f + b) / static_cast<double>(v), 1e-9);
  }
}

TEST(Pipeline, FractionsOfKnownExamplesComeOut) {
  const auto four = even_stages(4, 1, 2);
  const auto eight = even_stages(8, 1, 2);
  const PipelineTime small = pipeline_time({.micro_batches = 8, .stages = four});
  EXPECT_NEAR(small.bubble / small.step, 3.0 / 11, 1e-12);
  EXPECT_NEAR(small.bubble / small.busy, 3.0 / 8, 1e-12);
  const PipelineTime sends =
      pipeline_time({.micro_batches = 32, .send = Seconds{0.1}, .stages = eight});
  EXPECT_NEAR(sends.bubble / sends.busy, 7.0 / 32, 1e-12);
  EXPECT_NEAR((sends.step - sends.busy) / sends.busy, 0.28958333333333333, 1e-12);
}

TEST(Pipeline, PartsSumToTheStep) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const std::size_t p = random.whole(1, 9);
    const auto stages = random.uneven(p, 0.5);
    for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b,
                                    Schedule::zero_bubble_h1, Schedule::zero_bubble_h2}) {
      const PipelineTime t = pipeline_time({.schedule = schedule,
                                            .micro_batches = 12,
                                            .send = Seconds{random.real(0, 0.2)},
                                            .stages = stages});
      EXPECT_NEAR((t.busy + t.bubble + t.exposed_send).count(), t.step.count(), 1e-12);
      EXPECT_GE(t.bubble.count(), 0);
      EXPECT_GE(t.exposed_send.count(), 0);
    }
  }
}

TEST(Pipeline, GpipeIsExactForAnyStages) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const auto stages = random.uneven(random.whole(1, 12), 1);
    const Pipeline pipeline{.schedule = Schedule::gpipe,
                            .micro_batches = static_cast<std::int64_t>(random.whole(1, 30)),
                            .send = Seconds{random.real(0, 0.3)},
                            .stages = stages};
    EXPECT_NEAR(distance(pipeline), 0, 1e-12);
  }
}

TEST(Pipeline, OneForwardOneBackwardIsExactForAnyStagesWithoutSends) {
  Random random;
  for (int i = 0; i < 1000; ++i) {
    const auto stages = random.uneven(random.whole(1, 12), random.real(0, 3));
    const Pipeline pipeline{.micro_batches = static_cast<std::int64_t>(random.whole(1, 30)),
                            .stages = stages};
    ASSERT_NEAR(distance(pipeline), 0, 1e-12) << stages.size() << " " << pipeline.micro_batches;
  }
}

TEST(Pipeline, OneForwardOneBackwardIsExactForEvenStagesWithSends) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const auto stages = even_stages(random.whole(1, 12), 1, random.real(1, 3));
    const Pipeline pipeline{.micro_batches = static_cast<std::int64_t>(random.whole(1, 40)),
                            .send = Seconds{random.real(0, 0.5)},
                            .stages = stages};
    EXPECT_NEAR(distance(pipeline), 0, 1e-12);
  }
}

TEST(Pipeline, OneForwardOneBackwardWithSendsIsALowerBoundWithinFourPercent) {
  Random random;
  double furthest = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto stages = random.uneven(random.whole(1, 12), random.real(0, 1));
    const Pipeline pipeline{.micro_batches = static_cast<std::int64_t>(random.whole(1, 40)),
                            .send = Seconds{random.real(0, 0.2)},
                            .stages = stages};
    const double d = distance(pipeline);
    ASSERT_LE(d, 1e-12);
    furthest = std::min(furthest, d);
  }
  EXPECT_GE(furthest, -0.04);
}

TEST(Pipeline, AnEmbeddingAndAHeadAtTheEndsKeepOneForwardOneBackwardWithinHalfAPercent) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    const auto stages = random.with_ends(random.whole(2, 12), 1);
    const Pipeline pipeline{.micro_batches = static_cast<std::int64_t>(random.whole(1, 40)),
                            .send = Seconds{random.real(0, 0.2)},
                            .stages = stages};
    EXPECT_NEAR(distance(pipeline), 0, 5e-3);
  }
}

Pipeline interleave(Random& random, std::size_t p, std::size_t v, std::span<const StageTime> stages,
                    double send) {
  return {.schedule = Schedule::interleaved,
          .virtual_stages = static_cast<std::int64_t>(v),
          .micro_batches = static_cast<std::int64_t>(p * random.whole(1, 8)),
          .send = Seconds{random.real(0, send)},
          .stages = stages};
}

TEST(Pipeline, InterleavedIsExactForEvenStages) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const std::size_t p = random.whole(2, 8);
    const std::size_t v = random.whole(2, 4);
    const auto stages = even_stages(p * v, 1, 2);
    EXPECT_NEAR(distance(interleave(random, p, v, stages, 0.3)), 0, 1e-12);
  }
}

TEST(Pipeline, InterleavedWithUnevenStagesIsNear) {
  Random random;
  double sum = 0;
  const int n = 400;
  for (int i = 0; i < n; ++i) {
    const std::size_t p = random.whole(2, 8);
    const std::size_t v = random.whole(2, 4);
    const auto stages = i % 2 == 0 ? random.uneven(p * v, 0.5) : random.with_ends(p * v, 0.5);
    const double d = std::abs(distance(interleave(random, p, v, stages, 0.1)));
    EXPECT_LE(d, 0.08);
    sum += d;
  }
  EXPECT_LE(sum / n, 0.01);
}

TEST(Pipeline, HoldsAsManyMicroBatchesAsTheScheduleLeavesOpen) {
  Random random;
  for (int i = 0; i < 100; ++i) {
    const std::size_t p = random.whole(2, 8);
    const std::size_t v = random.whole(2, 4);
    for (const Schedule schedule :
         {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved}) {
      const std::size_t chunks = schedule == Schedule::interleaved ? v : 1;
      const auto stages = even_stages(p * chunks, 1, 2);
      const Pipeline pipeline{.schedule = schedule,
                              .virtual_stages = static_cast<std::int64_t>(chunks),
                              .micro_batches = static_cast<std::int64_t>(p * random.whole(1, 4)),
                              .stages = stages};
      Simulator simulator(pipeline, size_of(pipeline));
      (void)simulator.run();
      EXPECT_NEAR(micro_batches_in_flight(schedule, static_cast<std::int64_t>(p), 0,
                                          pipeline.virtual_stages, pipeline.micro_batches),
                  simulator.held() / static_cast<double>(chunks), 1e-12);
    }
  }
}

// Zero-bubble by hand: forwards and input gradients in 1F1B's order (H2 warms up twice as far), and
// a weight gradient whenever nothing else can start and no more than `limit` are open.
class ZeroBubbleSimulator {
 public:
  ZeroBubbleSimulator(std::span<const StageTime> stages, std::size_t m, std::size_t depth)
      : stages_(stages), m_(m), limit_(depth * stages.size() - depth + 1), state_(stages.size()) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      state_[s].warm_up = std::min(m, depth * (stages.size() - 1 - s));
      state_[s].forward_end.resize(m, never);
      state_[s].input_end.resize(m, never);
    }
  }

  double run() {
    for (std::size_t left = 3 * m_ * stages_.size(); left > 0; --left) {
      std::size_t best = 0;
      Move move;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        const Move candidate = next(s);
        if (candidate.start < move.start) {
          move = candidate;
          best = s;
        }
      }
      play(best, move);
    }
    double end = 0;
    for (const Stage& stage : state_) end = std::max(end, stage.clock);
    return end;
  }

 private:
  static constexpr double never = 1e300;
  enum class Pass { forward, input, weight };
  struct Stage {
    std::size_t warm_up = 0;
    std::size_t forwards = 0;
    std::size_t inputs = 0;
    std::size_t weights = 0;
    double clock = 0;
    std::vector<double> forward_end;
    std::vector<double> input_end;
  };
  struct Move {
    double start = never;
    Pass pass = Pass::weight;
  };

  Move next(std::size_t s) const {
    const Stage& x = state_[s];
    const bool forward = x.forwards < m_ && x.forwards <= x.inputs + x.warm_up;
    Move move;
    if (forward && x.forwards - x.weights < limit_) {
      const double ready = s == 0 ? 0 : state_[s - 1].forward_end[x.forwards];
      move = {std::max(x.clock, ready), Pass::forward};
    } else if (!forward && x.inputs < m_) {
      const bool last = s + 1 == stages_.size();
      const double ready = last ? x.forward_end[x.inputs] : state_[s + 1].input_end[x.inputs];
      move = {std::max(x.clock, ready), Pass::input};
    }
    if (x.weights < x.inputs && move.start > x.clock + 1e-9) return {x.clock, Pass::weight};
    return move;
  }

  void play(std::size_t s, const Move& move) {
    Stage& x = state_[s];
    const StageTime& t = stages_[s];
    if (move.pass == Pass::forward) {
      x.clock = x.forward_end[x.forwards++] = move.start + t.forward.count();
    } else if (move.pass == Pass::input) {
      x.clock = x.input_end[x.inputs++] = move.start + (t.backward - t.weight).count();
    } else {
      x.clock = move.start + t.weight.count();
      ++x.weights;
    }
  }

  std::span<const StageTime> stages_;
  std::size_t m_;
  std::size_t limit_;
  std::vector<Stage> state_;
};

TEST(Pipeline, ZeroBubbleTakesAsLongAsItsHandMadeSchedule) {
  Random random;
  for (int i = 0; i < 100; ++i) {
    const std::size_t p = random.whole(1, 8);
    const std::size_t m = random.whole(2 * p, 5 * p);
    // Greedy filling is optimal if the passes are multiples of one another.
    const bool multiples = i % 2 == 0;
    const double w = multiples ? (i % 4 == 0 ? 1 : 0.5) : random.real(0.3, 1);
    const auto stages = even_stages(p, 1, 1 + w, w);
    const auto predicted = [&](Schedule schedule) {
      return pipeline_time({.schedule = schedule,
                            .micro_batches = static_cast<std::int64_t>(m),
                            .stages = stages})
          .step.count();
    };
    const double h1 = ZeroBubbleSimulator(stages, m, 1).run();
    EXPECT_LE(predicted(Schedule::zero_bubble_h1), h1 + 1e-9);
    EXPECT_GE(predicted(Schedule::zero_bubble_h1), h1 * (multiples ? 1 - 1e-12 : 0.96));
    // A single step also waits until its first forward reaches the last stage; H2 has no gap to
    // fill there. Over many steps this overlaps the previous step.
    const double h2 = ZeroBubbleSimulator(stages, m, 2).run();
    EXPECT_LE(predicted(Schedule::zero_bubble_h2), h2 + 1e-9);
    EXPECT_GE(predicted(Schedule::zero_bubble_h2), h2 - static_cast<double>(p - 1) - 1e-9);
  }
}

TEST(Pipeline, ZeroBubbleH2HoldsAlmostTwiceAsMuch) {
  EXPECT_EQ(micro_batches_in_flight(Schedule::zero_bubble_h1, 8, 0, 1, 64), 8);
  EXPECT_EQ(micro_batches_in_flight(Schedule::zero_bubble_h2, 8, 0, 1, 64), 15);
  EXPECT_EQ(micro_batches_in_flight(Schedule::zero_bubble_h2, 8, 0, 1, 4), 4);
}

// DeepSeek-AI 2024, table 2: (p/2 - 1)(F&B + B - 3W), with the pair F&B in the time of both.
TEST(Pipeline, DualPipeIdlesAsItsPaperSays) {
  for (const std::size_t p : {2U, 4U, 8U, 16U}) {
    const std::vector<StageTime> stages(p, {Seconds{1.0}, Seconds{2.2}, Seconds{0.9}});
    const auto time = pipeline_time({.schedule = Schedule::dualpipe,
                                     .micro_batches = static_cast<std::int64_t>(4 * p),
                                     .stages = stages});
    const double half = static_cast<double>(p) / 2;
    EXPECT_NEAR(time.bubble.count(), (half - 1) * (1.0 + 2.2 + 2.2 - 3 * 0.9), 1e-12);
    EXPECT_NEAR(time.busy.count(), static_cast<double>(4 * p) * 3.2, 1e-9);
  }
}

TEST(Pipeline, DualPipeSharesUnevenStagesWithTheirMirrorImages) {
  std::vector<StageTime> stages(4, {Seconds{1.0}, Seconds{2.0}, Seconds{0.5}});
  stages[0] = {Seconds{2.0}, Seconds{4.0}, Seconds{1.0}};
  const auto time =
      pipeline_time({.schedule = Schedule::dualpipe, .micro_batches = 8, .stages = stages});
  EXPECT_NEAR(time.busy.count(), 8 * (6.0 + 3.0) / 2, 1e-12);
  EXPECT_EQ(time.busiest % 3, 0);  // device 0 or its mirror image, 3
  EXPECT_GT(time.bubble.count(), 0);
  // A device holds p + 1 micro-batches of a stage: half of each of its two stages.
  EXPECT_EQ(micro_batches_in_flight(Schedule::dualpipe, 4, 0, 1, 8), 2.5);
}

}  // namespace
}  // namespace stepscope
