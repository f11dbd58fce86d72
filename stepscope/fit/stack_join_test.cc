// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/stack_join.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "stepscope/say/say.h"
#include "stepscope/stack/profile_builder.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// Two threads, in ns: one waits for the GIL within forward, the other computes.
constexpr std::string_view two_threads =
    R"({"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[)"
    R"({"name":"forward","file":"m.py"},{"name":"take_gil"},{"name":"at::mm"}]},"profiles":[)"
    R"({"type":"evented","name":"main","unit":"nanoseconds","startValue":0,"endValue":400,)"
    R"("events":[{"type":"O","at":20,"frame":0},{"type":"O","at":50,"frame":1},)"
    R"({"type":"C","at":320,"frame":1},{"type":"C","at":330,"frame":0}]},)"
    R"({"type":"sampled","name":"other","unit":"nanoseconds","startValue":90,"endValue":130,)"
    R"("samples":[[0,2],[0,2]],"weights":[20,20]}]})";

const std::vector<BudgetPiece> some_pieces = {{Ns{0}, Ns{100}, compute, 0},
                                              {Ns{100}, Ns{150}, idle_host, 0},
                                              {Ns{150}, Ns{200}, comm_exposed_wait, 0},
                                              {Ns{300}, Ns{400}, compute, 1}};

template <class T>
T got(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

struct Read {
  Profile profile;
  PhaseRules rules;
  NodePhases phases;
  explicit Read(std::string_view text)
      : profile(got(test::profile_of(text, {.keep_samples = true}))),
        rules(got(make_phase_rules())),
        phases(phases_of(profile, rules)) {}
  [[nodiscard]] const JoinedThread& thread(const StackJoin& join, std::string_view name) const {
    for (const JoinedThread& t : join.threads)
      if (profile.threads[t.thread].name == name) return t;
    throw std::runtime_error("no such thread");
  }
  [[nodiscard]] const JoinedPhase& phase(const JoinedThread& t, std::string_view name) const {
    for (const JoinedPhase& p : t.phases)
      if (rules.phases[p.phase].name == name) return p;
    throw std::runtime_error("no such phase");
  }
};

double of(const DeviceMeanwhile& m, BudgetCategory c) {
  return m.device[static_cast<std::size_t>(c)];
}

TEST(StackJoin, DividesATimeByWhatTheDeviceDidInIt) {
  const Read read(two_threads);
  const StackJoin join = join_stacks(read.profile, read.phases, 0, Ns{0}, some_pieces);
  EXPECT_EQ(join.first, Ns{20});
  EXPECT_EQ(join.last, Ns{330});
  const JoinedThread& main = read.thread(join, "main");
  EXPECT_EQ(main.weight, 310);
  const JoinedPhase& lock = read.phase(main, "gil");  // [50, 320)
  EXPECT_EQ(read.rules.passes[lock.pass].name, "forward");
  EXPECT_EQ(lock.weight, 270);
  EXPECT_EQ(of(lock.meanwhile, compute), 70);
  EXPECT_EQ(of(lock.meanwhile, idle_host), 50);
  EXPECT_EQ(of(lock.meanwhile, comm_exposed_wait), 50);
  EXPECT_EQ(lock.meanwhile.outside, 100);
  EXPECT_EQ(lock.meanwhile.idle(), 50);
  EXPECT_EQ(lock.meanwhile.inside(), 170);
  const JoinedThread& other = read.thread(join, "other");  // [90, 130)
  EXPECT_EQ(of(other.meanwhile, compute), 10);
  EXPECT_EQ(of(other.meanwhile, idle_host), 30);
}

TEST(StackJoin, TheOffsetMovesTheProfile) {
  const Read read(two_threads);
  const StackJoin join = join_stacks(read.profile, read.phases, 0, Ns{-50}, some_pieces);
  const JoinedThread& other = read.thread(join, "other");  // [40, 80)
  EXPECT_EQ(of(other.meanwhile, compute), 40);
  EXPECT_EQ(other.meanwhile.outside, 0);
  EXPECT_EQ(join.first, Ns{-30});
  const StackJoin away = join_stacks(read.profile, read.phases, 0, Ns::max(), some_pieces);
  EXPECT_EQ(read.thread(away, "other").meanwhile.outside, 40);
}

TEST(StackJoin, ASampleWithoutDurationFallsToItsInstant) {
  const Read read(
      "prog 1/7 0.000000099: 1 cycles: \n\t12 f (/a)\n\nprog 1/7 0.000000100: 1 cycles: \n\t12 f "
      "(/a)\n\nprog 1/7 0.000000250: 1 cycles: \n\t12 f (/a)\n\n");
  const StackJoin join = join_stacks(read.profile, read.phases, 0, Ns{0}, some_pieces);
  ASSERT_EQ(join.threads.size(), 1U);
  EXPECT_EQ(join.threads[0].weight, 3);
  EXPECT_EQ(of(join.threads[0].meanwhile, compute), 1);
  EXPECT_EQ(of(join.threads[0].meanwhile, idle_host), 1);
  EXPECT_EQ(join.threads[0].meanwhile.outside, 1);
}

TEST(StackJoin, OnlyThreadsOfTheInputCount) {
  std::vector<Profile> profiles;
  profiles.push_back(got(test::profile_of(two_threads, {.keep_samples = true})));
  profiles.push_back(got(test::profile_of(two_threads, {.keep_samples = true})));
  const Profile both = got(merged(std::move(profiles)));
  const PhaseRules rules = got(make_phase_rules());
  const StackJoin join = join_stacks(both, phases_of(both, rules), 1, Ns{0}, some_pieces);
  ASSERT_EQ(join.threads.size(), 2U);
  for (const JoinedThread& t : join.threads) EXPECT_EQ(both.threads[t.thread].input, 1U);
}

TEST(StackJoin, SaysWhyClocksDoNotMeet) {
  const ProfileInput collapsed{.path = "a", .format = "collapsed"};
  EXPECT_NE(say(why_not_joined(collapsed, {.offset = Ns{0}})).find("collapsed"), std::string::npos);
  ProfileInput timed{.path = "a", .format = "perf_script", .times = SampleTimes::known};
  EXPECT_NE(say(why_not_joined(timed, {})).find("--offset"), std::string::npos);
  EXPECT_NE(say(why_not_joined(timed, {.clock = Clock::unix_epoch})).find("the profile does not"),
            std::string::npos);
  EXPECT_TRUE(why_not_joined(timed, {.offset = Ns{5}}).empty());
  timed.unix_clock = true;
  EXPECT_TRUE(why_not_joined(timed, {.clock = Clock::unix_epoch}).empty());
  EXPECT_NE(say(why_not_joined(timed, {})).find("the trace does not"), std::string::npos);
  timed.times = SampleTimes::gapless;
  EXPECT_NE(say(why_not_joined(timed, {.clock = Clock::unix_epoch})).find("--gapless"),
            std::string::npos);
  EXPECT_TRUE(why_not_joined(timed, {.clock = Clock::unix_epoch, .gapless = true}).empty());
}

// Random samples and pieces: each nanosecond of a sample is looked up separately.
TEST(StackJoin, CategoriesSumToTheSamples) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  Read read(two_threads);
  std::vector<std::uint32_t> nodes;
  for (const TimedSample& s : read.profile.samples) nodes.push_back(s.node);
  for (int round = 0; round < 200; ++round) {
    const bool instants = round % 2 == 0;
    read.profile.unit = instants ? WeightUnit::samples : WeightUnit::nanoseconds;
    read.profile.samples.clear();
    for (int i = 0; i < 20; ++i)
      read.profile.samples.push_back({Ns{below(500) - 100}, Ns{instants ? 0 : 1 + below(200)},
                                      nodes[static_cast<std::size_t>(random()) % nodes.size()]});
    std::vector<BudgetPiece> pieces;
    std::map<std::int64_t, BudgetCategory> category;
    for (std::int64_t at = below(50); at < 400;) {
      const std::int64_t end = at + 1 + below(60);
      const auto c = static_cast<BudgetCategory>(random() % budget_category_count);
      if (random() % 5 != 0) {
        pieces.push_back({Ns{at}, Ns{end}, c, 0});
        for (std::int64_t t = at; t < end; ++t) category[t] = c;
      }
      at = end;
    }
    std::map<std::uint32_t, DeviceMeanwhile> expected;  // by phase
    std::map<std::uint32_t, double> weight;
    for (const TimedSample& s : read.profile.samples) {
      const std::int64_t last = s.start.count() + std::max<std::int64_t>(1, s.duration.count());
      for (std::int64_t t = s.start.count(); t < last; ++t) {
        DeviceMeanwhile& m = expected[read.phases.self[s.node]];
        weight[read.phases.self[s.node]] += 1;
        if (const auto c = category.find(t); c != category.end())
          m.device[static_cast<std::size_t>(c->second)] += 1;
        else
          m.outside += 1;
      }
    }
    const StackJoin join = join_stacks(read.profile, read.phases, 0, Ns{0}, pieces);
    std::map<std::uint32_t, DeviceMeanwhile> found;
    for (const JoinedThread& t : join.threads) {
      ASSERT_EQ(t.meanwhile.inside() + t.meanwhile.outside, t.weight);
      for (const JoinedPhase& p : t.phases) {
        ASSERT_EQ(p.meanwhile.inside() + p.meanwhile.outside, p.weight);
        found[p.phase] += p.meanwhile;
        weight[p.phase] -= p.weight;
      }
    }
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [phase, m] : expected) {
      ASSERT_EQ(found[phase].device, m.device) << "in round " << round;
      ASSERT_EQ(found[phase].outside, m.outside);
      ASSERT_EQ(weight[phase], 0);
    }
  }
}

}  // namespace
}  // namespace stepscope
