// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/alpha_beta.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace stepscope {
namespace {

struct Protocol {
  double start_us;
  double gb_per_s;
};
// Times in us, sizes in bytes: 1 GB/s is 1e3 bytes a us.
double true_time(const std::vector<Protocol>& protocols, double size) {
  double best = INFINITY;
  for (const Protocol& p : protocols) best = std::min(best, p.start_us + size / (p.gb_per_s * 1e3));
  return best;
}

const std::vector<Protocol> three = {{12, 90}, {16, 300}, {34, 420}};

struct Sweep {
  double from = 1 << 12;
  double to = 1 << 30;
  int per_octave = 4;
  int calls = 50;
  double noise = 0.03;
  double outliers = 0.05;
  unsigned seed = 1;
};

std::vector<SizedTime> measured(const std::vector<Protocol>& protocols, const Sweep& sweep) {
  std::mt19937_64 random(sweep.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<SizedTime> calls;
  const int steps =
      static_cast<int>(std::lround(std::log2(sweep.to / sweep.from))) * sweep.per_octave;
  for (int k = 0; k <= steps; ++k) {
    const double size =
        std::round(sweep.from * std::exp2(static_cast<double>(k) / sweep.per_octave));
    for (int c = 0; c < sweep.calls; ++c) {
      double time = true_time(protocols, size) * (1 + sweep.noise * normal(random));
      if (uniform(random) < sweep.outliers) time *= 1 + 3 * uniform(random);
      calls.push_back({size, time});
    }
  }
  return calls;
}

double rate(const AlphaBetaPiece& p) { return 1e-3 / p.slope; }

TEST(AlphaBeta, RecoversThreeProtocolsUnderNoiseAndOutliers) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const AlphaBetaAnswer answer = fit_alpha_beta(measured(three, {.seed = seed}));
    ASSERT_TRUE(answer.fit);
    const AlphaBetaFit& fit = *answer.fit;
    ASSERT_EQ(fit.pieces.size(), 3U) << seed;
    for (std::size_t p = 0; p < 3; ++p) {
      const AlphaBetaPiece& piece = fit.pieces[p];
      EXPECT_NEAR(piece.start / three[p].start_us, 1, 0.02) << seed << " piece " << p;
      EXPECT_NEAR(rate(piece) / three[p].gb_per_s, 1, 0.02) << seed << " piece " << p;
      EXPECT_LE(piece.start_interval.low, piece.start);
      EXPECT_GE(piece.start_interval.high, piece.start);
      EXPECT_LE(piece.slope_interval.low, piece.slope);
      EXPECT_GE(piece.slope_interval.high, piece.slope);
      EXPECT_LT(piece.start_interval.high / piece.start_interval.low, 1.1);
    }
    EXPECT_LE(fit.mean_error, 0.01);
    // Compare with the truth, not only with the measurements.
    double error = 0;
    int count = 0;
    for (double size = fit.smallest(); size <= fit.largest(); size *= 1.37, ++count)
      error += std::abs(*predicted_time(fit, size) / true_time(three, size) - 1);
    EXPECT_LE(error / count, 0.01) << seed;
    if (seed == 1)
      for (std::size_t p = 0; p < 3; ++p)
        std::printf("truth %.0f us %.0f GB/s, fitted %.2f us %.1f GB/s\n", three[p].start_us,
                    three[p].gb_per_s, fit.pieces[p].start, rate(fit.pieces[p]));
    if (seed == 1)
      std::printf("mean error %.2f %%, max %.2f %%\n", 100 * fit.mean_error, 100 * fit.max_error);
  }
}

TEST(AlphaBeta, OneLineStaysOnePiece) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const auto answer = fit_alpha_beta(measured({{20, 100}}, {.calls = 10, .seed = seed}));
    ASSERT_TRUE(answer.fit);
    EXPECT_EQ(answer.fit->pieces.size(), 1U) << seed;
    EXPECT_NEAR(answer.fit->pieces[0].start, 20, 0.3);
    EXPECT_NEAR(rate(answer.fit->pieces[0]), 100, 2);
  }
}

TEST(AlphaBeta, ExactDataGiveExactParameters) {
  const auto answer =
      fit_alpha_beta(measured({{20, 100}}, {.calls = 1, .noise = 0, .outliers = 0}));
  ASSERT_TRUE(answer.fit);
  ASSERT_EQ(answer.fit->pieces.size(), 1U);
  EXPECT_NEAR(answer.fit->pieces[0].start, 20, 1e-9);
  EXPECT_NEAR(rate(answer.fit->pieces[0]), 100, 1e-9);
  EXPECT_LT(answer.fit->max_error, 1e-12);
}

// The textbook method: unweighted least squares over all calls.
TEST(AlphaBeta, UnweightedLeastSquaresIsOffWhereThisIsNot) {
  const auto calls = measured(three, {});
  double n = 0;
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  for (const SizedTime& c : calls) {
    n += 1;
    sx += c.size;
    sy += c.time;
    sxx += c.size * c.size;
    sxy += c.size * c.time;
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  const double start = (sy - slope * sx) / n;
  double error = 0;
  double ours = 0;
  const AlphaBetaFit fit = *fit_alpha_beta(calls).fit;
  for (const SizedTime& p : typical_times(calls)) {
    error += std::abs((start + slope * p.size) / true_time(three, p.size) - 1);
    ours += std::abs(*predicted_time(fit, p.size) / true_time(three, p.size) - 1);
  }
  EXPECT_GT(error, 20 * ours);
}

TEST(AlphaBeta, RefusesWhatTellsNoLine) {
  const auto refusal = [](const std::vector<SizedTime>& calls) {
    const auto answer = fit_alpha_beta(calls);
    EXPECT_FALSE(answer.fit);
    return answer.refusal;
  };
  EXPECT_EQ(refusal({}), FitRefusal::no_call);
  EXPECT_EQ(refusal({{0, 1}, {5, 0}, {NAN, 1}, {1, INFINITY}}), FitRefusal::no_call);
  EXPECT_EQ(refusal({{1024, 5}}), FitRefusal::one_call);
  EXPECT_EQ(refusal({{1024, 5}, {1024, 6}}), FitRefusal::too_few_sizes);
  EXPECT_EQ(refusal({{1024, 5}, {2048, 6}, {2048, 7}}), FitRefusal::too_few_sizes);
  EXPECT_EQ(refusal({{1024, 5}, {2048, 5}, {4096, 5}, {8192, 5}}), FitRefusal::no_growth);
  EXPECT_EQ(refusal({{1024, 9}, {2048, 7}, {4096, 5}}), FitRefusal::no_growth);
  EXPECT_TRUE(fit_alpha_beta(std::vector<SizedTime>{{1024, 5}, {2048, 6}, {4096, 8}}).fit);
}

TEST(AlphaBeta, RefusesToExtrapolateBeyondFourTimesTheRange) {
  const AlphaBetaFit fit = *fit_alpha_beta(measured(three, {})).fit;
  EXPECT_TRUE(predicted_time(fit, fit.smallest() / 4));
  EXPECT_FALSE(predicted_time(fit, fit.smallest() / 4.01));
  EXPECT_TRUE(predicted_time(fit, fit.largest() * 4));
  EXPECT_FALSE(predicted_time(fit, fit.largest() * 4.01));
  EXPECT_NEAR(*predicted_time(fit, fit.largest() * 2) / true_time(three, fit.largest() * 2), 1,
              0.02);
}

// 500 files of each kind: nccl-tests (two columns, whose noise may be of the size and not of the
// call), OSU (one column), a sweep with many calls of a size; one protocol or two.
TEST(AlphaBeta, NinetyFiveOfAHundredIntervalsHoldTheTruth) {
  struct Kind {
    const char* name;
    int columns;
    double own;     // noise of a call
    double shared;  // noise of a size
    int sizes;
    std::vector<Protocol> protocols;
  };
  const Protocol slow{20, 40};
  const Protocol fast{40, 200};
  const std::vector<Kind> kinds = {{"nccl-tests", 2, 0.02, 0, 20, {slow}},
                                   {"nccl-tests, two protocols", 2, 0.02, 0, 24, {slow, fast}},
                                   {"nccl-tests, equal columns", 2, 0, 0.02, 20, {slow}},
                                   {"nccl-tests, half shared", 2, 0.015, 0.015, 20, {slow}},
                                   {"OSU", 1, 0.02, 0, 20, {slow}},
                                   {"OSU, two protocols", 1, 0.05, 0, 24, {slow, fast}},
                                   {"OSU, few sizes", 1, 0.02, 0, 8, {slow}},
                                   {"sweep", 30, 0.05, 0.01, 20, {slow, fast}}};
  for (const Kind& kind : kinds) {
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    int starts = 0;
    int slopes = 0;
    constexpr int files = 500;
    for (int file = 0; file < files; ++file) {
      std::vector<SizedTime> calls;
      double size = 1024;
      for (int i = 0; i < kind.sizes; ++i, size *= 2) {
        const double all = kind.shared * normal(random);
        for (int c = 0; c < kind.columns; ++c)
          calls.push_back(
              {size, true_time(kind.protocols, size) * (1 + all + kind.own * normal(random))});
      }
      const AlphaBetaAnswer answer = fit_alpha_beta(calls);
      ASSERT_TRUE(answer.fit);
      const Interval start = answer.fit->pieces.front().start_interval;
      const Interval slope = answer.fit->pieces.back().slope_interval;
      const double true_start = kind.protocols.front().start_us;
      const double true_slope = 1e-3 / kind.protocols.back().gb_per_s;
      starts += start.low <= true_start && true_start <= start.high ? 1 : 0;
      slopes += slope.low <= true_slope && true_slope <= slope.high ? 1 : 0;
    }
    std::printf("%s: start %.1f %%, rate %.1f %%\n", kind.name, 100.0 * starts / files,
                100.0 * slopes / files);
    for (const int held : {starts, slopes}) {
      EXPECT_GE(held, files * 92 / 100) << kind.name;
      EXPECT_LE(held, files * 98 / 100) << kind.name;
    }
  }
}

TEST(AlphaBeta, AThousandSizesOfOneCallEach) {
  std::vector<SizedTime> calls;
  for (int mb = 1; mb <= 1024; ++mb) {
    const double size = mb * 1048576.0;
    calls.push_back({size, true_time({{100, 10}, {400, 22}}, size)});
  }
  const auto answer = fit_alpha_beta(calls);
  ASSERT_TRUE(answer.fit);
  EXPECT_LT(answer.fit->mean_error, 0.01);
  EXPECT_NEAR(rate(answer.fit->pieces.back()), 22, 0.2);
}

}  // namespace
}  // namespace stepscope
