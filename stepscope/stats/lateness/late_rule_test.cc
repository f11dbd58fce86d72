// SPDX-License-Identifier: Apache-2.0
// Jobs with a known truth. The work of a rank in a step has white noise, jitter that lasts for
// several steps (of the rank, and of all ranks of a host), a lasting difference between ranks, and
// rare long pauses with a heavy tail. Four collectives a step show how long each rank was in them,
// and nothing else.
#include "stepscope/stats/lateness/late_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace stepscope {
namespace {

constexpr int collectives = 4;

struct Setting {
  std::size_t ranks = 8;
  double step_ns = 200e6;
  double white = 0.01;        // of a step
  double lasting = 0.005;     // standard deviation of jitter over several steps
  double keeps = 0.7;         // its correlation with the step before
  double of_host = 0.005;     // the same, of all ranks of a host (8)
  double bias = 0.005;        // of a rank, for ever
  double pause_rate = 0.003;  // per rank and step
  std::size_t slow_rank = 0;
  std::size_t slow_from = std::numeric_limits<std::size_t>::max();
  double slow = 0;  // more work, as a share of the step
};

class SimulatedJob {
 public:
  SimulatedJob(const Setting& s, std::uint64_t seed)
      : s_(s), random_(seed), bias_(s.ranks), lasting_(s.ranks), host_((s.ranks + 7) / 8) {
    for (double& b : bias_) b = s.bias * normal_(random_);
    late_.resize(s.ranks);
    arrival_.resize(s.ranks);
    inside_.resize(s.ranks);
  }

  std::span<const float> next() {
    const double innovation = std::sqrt(1 - s_.keeps * s_.keeps);
    for (double& h : host_) h = s_.keeps * h + innovation * s_.of_host * normal_(random_);
    for (double& l : lasting_) l = s_.keeps * l + innovation * s_.lasting * normal_(random_);
    std::fill(late_.begin(), late_.end(), 0.0F);
    for (int c = 0; c < collectives; ++c) collective(c);
    ++step_;
    return late_;
  }

 private:
  void collective(int c) {
    double last = 0;
    for (std::size_t r = 0; r < s_.ranks; ++r) {
      double work = 1 + bias_[r] + lasting_[r] + host_[r / 8] +
                    s_.white * std::sqrt(double{collectives}) * normal_(random_);
      if (r == s_.slow_rank && step_ >= s_.slow_from) work += s_.slow;
      work = std::max(work, 0.1) / collectives;
      if (c == 0 && uniform_(random_) < s_.pause_rate)
        work += std::min(0.05 * std::pow(1 - uniform_(random_), -1 / 1.5), 20.0);
      arrival_[r] = work * s_.step_ns;
      last = std::max(last, arrival_[r]);
    }
    const double transfer = 0.05 * s_.step_ns / collectives;
    for (std::size_t r = 0; r < s_.ranks; ++r)
      inside_[r] =
          static_cast<float>(last - arrival_[r] + transfer * (1 + 0.02 * uniform_(random_)));
    sorted_ = inside_;
    const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(s_.ranks / 2);
    std::nth_element(sorted_.begin(), middle, sorted_.end());
    for (std::size_t r = 0; r < s_.ranks; ++r) late_[r] += *middle - inside_[r];
  }

  Setting s_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<double> bias_, lasting_, host_, arrival_;
  std::vector<float> late_, inside_, sorted_;
  std::size_t step_ = 0;
};

Setting setting(std::mt19937_64& random) {
  constexpr std::array<std::size_t, 6> sizes = {2, 4, 8, 16, 32, 64};
  Setting s;
  std::uniform_real_distribution<double> share(0, 1);
  s.ranks = sizes[random() % sizes.size()];
  s.step_ns = 50e6 * std::pow(100, share(random));
  s.white = 0.002 + 0.018 * share(random);
  s.lasting = 0.008 * share(random);
  s.of_host = 0.008 * share(random);
  s.keeps = 0.8 * share(random);
  s.bias = 0.006 * share(random);
  s.pause_rate = 0.005 * share(random);
  return s;
}

TEST(LateRule, NamesAnInjectedSlowRankWithinTenSteps) {
  const int jobs = 200;
  int named = 0;
  for (int job = 0; job < jobs; ++job) {
    std::mt19937_64 random(static_cast<std::uint64_t>(job) + 1);
    Setting s = setting(random);
    s.slow_rank = random() % s.ranks;
    s.slow_from = random() % 4 == 0 ? 0 : random() % 300;
    s.slow = 0.12 + 0.4 * std::uniform_real_distribution<double>(0, 1)(random);
    SimulatedJob simulated(s, random());
    LateRule rule(s.ranks);
    bool right = false, wrong = false;
    for (std::size_t step = 0; step < s.slow_from + 10; ++step) {
      rule.add(simulated.next(), s.step_ns);
      for (std::size_t r = 0; r < s.ranks; ++r)
        if (rule.named(r)) (r == s.slow_rank && step >= s.slow_from ? right : wrong) = true;
    }
    named += right && !wrong ? 1 : 0;
  }
  RecordProperty("named", named);
  EXPECT_GE(named, 196);
}

TEST(LateRule, NamesNobodyInCleanJobs) {
  const int jobs = 100;
  std::size_t false_alarms = 0;
  for (int job = 0; job < jobs; ++job) {
    std::mt19937_64 random(static_cast<std::uint64_t>(job) + 10'001);
    const Setting s = setting(random);
    SimulatedJob simulated(s, random());
    LateRule rule(s.ranks);
    bool alarm = false;
    for (std::size_t step = 0; step < 10'000 && !alarm; ++step) {
      rule.add(simulated.next(), s.step_ns);
      for (std::size_t r = 0; r < s.ranks; ++r) alarm |= rule.named(r);
    }
    false_alarms += alarm ? 1 : 0;
  }
  EXPECT_EQ(false_alarms, 0U);
}

// Two to sixteen ranks next to other programs: their work varies by 3 to 15 % of a step from one to
// the next, by up to 6 % for several steps. Half of the jobs are short, the others get a rank that
// is slower by more than this noise.
TEST(LateRule, OnABusyMachineNamesNobodyButARankThatIsSlowerThanTheNoise) {
  constexpr int jobs = 400;
  constexpr double step_ns = 200e6;
  int alarms = 0, named = 0;
  for (int job = 0; job < jobs; ++job) {
    std::mt19937_64 random(static_cast<std::uint64_t>(job) + 20'001);
    std::uniform_real_distribution<double> share(0, 1);
    std::normal_distribution<double> normal;
    const std::size_t ranks = job % 4 < 2 ? 2 + random() % 3 : 5 + random() % 12;
    const double white = 0.03 + 0.12 * share(random);
    const double lasting = 0.06 * share(random);
    const double keeps = 0.9 * share(random);
    const std::size_t slow_rank = random() % ranks;
    const bool faulty = job % 2 == 1;
    const std::size_t slow_from = faulty ? 100 : 400;
    std::vector<double> level(ranks);
    LateRule rule(ranks);
    bool right = false, wrong = false;
    for (std::size_t step = 0; step < slow_from + (faulty ? 20 : 0); ++step) {
      std::vector<float> late(ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        level[r] = keeps * level[r] + std::sqrt(1 - keeps * keeps) * lasting * normal(random);
        const double slow = r == slow_rank && step >= slow_from ? 0.2 + 5 * (white + lasting) : 0;
        late[r] = static_cast<float>(
            step_ns * (1 + level[r] + std::abs(1.3 * white * normal(random)) + slow));
      }
      std::vector<float> sorted = late;
      std::ranges::sort(sorted);
      for (float& own : late) own -= sorted[(ranks - 1) / 2];
      rule.add(late, step_ns);
      for (std::size_t r = 0; r < ranks; ++r)
        if (rule.named(r)) (r == slow_rank && step >= slow_from ? right : wrong) = true;
    }
    alarms += wrong ? 1 : 0;
    named += right ? 1 : 0;
  }
  EXPECT_LE(alarms, jobs / 100);
  EXPECT_GE(named, jobs / 2 * 98 / 100);
}

TEST(LateRule, ClearsARankThatIsNoLongerLate) {
  LateRule rule(4);
  const std::vector<float> even = {0, 0, 0, 0};
  const std::vector<float> one = {0, 0, 20e6F, 0};
  for (int i = 0; i < 40; ++i) rule.add(even, 100e6);
  for (int i = 0; i < 8; ++i) rule.add(one, 100e6);
  EXPECT_TRUE(rule.named(2));
  EXPECT_NEAR(rule.lateness(2), 20e6, 1);
  for (int i = 0; i < 5; ++i) rule.add(even, 100e6);
  EXPECT_TRUE(rule.named(2));
  rule.add(even, 100e6);
  EXPECT_FALSE(rule.named(2));
}

TEST(LateRule, NamesAllRanksOfASlowHost) {
  LateRule rule(64);
  std::vector<float> late(64);
  for (std::size_t r = 8; r < 16; ++r) late[r] = 30e6F;
  for (int i = 0; i < 10; ++i) rule.add(late, 100e6);
  for (std::size_t r = 0; r < 64; ++r) EXPECT_EQ(rule.named(r), r >= 8 && r < 16) << r;
}

TEST(LateRule, RoundsWithoutARankAreNoEvidence) {
  LateRule rule(8);
  std::vector<float> late(8);
  late[3] = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 20; ++i) rule.add(late, 100e6);
  late[3] = 30e6F;
  for (int i = 0; i < 5; ++i) rule.add(late, 100e6);
  EXPECT_FALSE(rule.named(3));
  rule.add(late, 100e6);
  EXPECT_TRUE(rule.named(3));
}

}  // namespace
}  // namespace stepscope
