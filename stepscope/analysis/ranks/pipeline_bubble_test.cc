// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/pipeline_bubble.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <random>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"
#include "stepscope/analysis/ranks/pipeline_test_builder.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {
namespace {

using test::Order;
using test::Pass;
using test::PipelineRun;
using test::PipelineSimulation;

constexpr std::int64_t forward_time = 12'000;
constexpr std::int64_t backward_time = 24'000;

PipelineRun even_run(Order order, int batches, int chunks = 1) {
  PipelineRun run{.order = order, .batches = batches, .chunks = chunks};
  run.lasts = [](int, const Pass& pass) { return pass.forward ? forward_time : backward_time; };
  return run;
}

// An analysed job with these stages.
struct Analysed {
  TestJob job;
  Collectives collectives;
  std::vector<HostPhases> phases;
  std::vector<std::size_t> devices;
  std::optional<PipelineBubble> pipeline;
  StepGraph graph;
  Replay replay;
  std::vector<std::string> roles;

  explicit Analysed(TestJob made) : job(std::move(made)) {
    collectives = analyze_collectives(job.views());
    for (const RankView& view : job.views()) {
      phases.push_back(host_phases(*view.trace, *view.index, view.steps));
      devices.push_back(0);
    }
    pipeline = pipeline_bubble({job.views(), collectives, phases, devices});
    graph = build_step_graph(job.views(), collectives);
    replay = make_replay(graph, job.views());
    roles = find_roles(job.views(), collectives.matches, collectives.dimension_of);
  }
  explicit Analysed(const PipelineRun& run) : Analysed(TestJob(test::ranks_of(run))) {}

  [[nodiscard]] std::vector<BubbleShares> shares() const {
    const PeerMedians medians = peer_medians(replay, job.views(), roles);
    return bubble_shares(*pipeline, {replay, job.views(), collectives, roles, medians, phases});
  }
};

// The parts must match the simulation and the time budget of the same stretches.
void expect_measured(const PipelineRun& run, const Analysed& a) {
  ASSERT_TRUE(a.pipeline);
  ASSERT_EQ(a.pipeline->ranks.size(), static_cast<std::size_t>(run.stages));
  PipelineSimulation sim(run);
  for (int s = 0; s < run.stages; ++s) {
    const StageBubble& stage = a.pipeline->ranks[static_cast<std::size_t>(s)];
    ASSERT_EQ(stage.stage, s);
    const StageTimes& t = stage.total;
    EXPECT_EQ(t.wall, Ns{sim.wall()});
    EXPECT_EQ(t.work, Ns{sim.work(s)});
    EXPECT_EQ(t.passes, t.work);
    EXPECT_EQ(t.fill.sum(), Ns{sim.first_start(s)});
    EXPECT_EQ(t.drain.sum(), Ns{sim.wall() - sim.last_end(s)});
    EXPECT_EQ(t.work + t.bubble(), t.wall);
  }
}

TEST(PipelineBubble, IsTheFormulaWhereStagesAreAlike) {
  struct Case {
    Order order;
    int batches;
    int chunks;
    PipelineSchedule schedule;
  };
  for (const Case& c : {Case{Order::gpipe, 8, 1, PipelineSchedule::gpipe},
                        Case{Order::one_f_one_b, 8, 1, PipelineSchedule::one_f_one_b},
                        Case{Order::one_f_one_b, 3, 1, PipelineSchedule::one_f_one_b},
                        Case{Order::interleaved, 8, 2, PipelineSchedule::interleaved},
                        Case{Order::interleaved, 4, 3, PipelineSchedule::interleaved}}) {
    for (const bool spins : {true, false}) {
      SCOPED_TRACE(testing::Message() << c.batches << " x " << c.chunks << " spins " << spins);
      PipelineRun run = even_run(c.order, c.batches, c.chunks);
      run.spins = spins;
      const Analysed a(run);
      expect_measured(run, a);
      EXPECT_EQ(a.pipeline->stages, 4);
      EXPECT_EQ(a.pipeline->micro_batches, c.batches);
      EXPECT_EQ(a.pipeline->chunks, c.chunks);
      EXPECT_EQ(a.pipeline->schedule, c.schedule);
      EXPECT_TRUE(a.pipeline->missing.empty());
      EXPECT_EQ(a.pipeline->warnings, Messages{});
      const auto shares = a.shares();
      for (std::size_t r = 0; r < shares.size(); ++r) {
        const StageBubble& stage = a.pipeline->ranks[r];
        // (p - 1)(F + B) / v, where F and B are the times of a chunk.
        EXPECT_EQ(stage.total.bubble(), Ns{3 * (forward_time + backward_time)});
        EXPECT_EQ(a.pipeline->by_schedule(stage), stage.total.bubble());
        EXPECT_EQ(shares[r].schedule, stage.total.bubble());
        EXPECT_EQ(shares[r].imbalance, Ns{0});
        EXPECT_EQ(shares[r].links, Ns{0});
        EXPECT_EQ(shares[r].rest, Ns{0});
      }
    }
  }
}

TEST(PipelineBubble, TellsSpinningFromIdle) {
  PipelineRun run = even_run(Order::one_f_one_b, 8);
  const Analysed spinning(run);
  run.spins = false;
  const Analysed idling(run);
  PipelineSimulation sim(run);
  for (std::size_t s = 0; s < 4; ++s) {
    const StageTimes& spin = spinning.pipeline->ranks[s].total;
    EXPECT_EQ(spin.fill.message, spin.fill.sum());
    EXPECT_EQ(spin.between.message, spin.between.sum());
    const StageTimes& idle = idling.pipeline->ranks[s].total;
    EXPECT_EQ(idle.fill.idle, idle.fill.sum());
    EXPECT_EQ(idle.between.idle, idle.between.sum());
    // After its last backward a stage waits in the all-reduce that all stages join.
    EXPECT_EQ(idle.drain.wait, Ns{sim.wall() - sim.last_end(static_cast<int>(s))});
    EXPECT_EQ(spin.drain.wait, idle.drain.wait);
  }
  EXPECT_GT(idling.pipeline->ranks[3].total.fill.idle, Ns{0});
  EXPECT_GT(idling.pipeline->ranks[0].total.between.idle, Ns{0});
}

TEST(PipelineBubble, SeparatesASlowStage) {
  PipelineRun run = even_run(Order::one_f_one_b, 8);
  run.lasts = [](int stage, const Pass& pass) {
    return (pass.forward ? forward_time : backward_time) * (stage == 2 ? 2 : 1);
  };
  run.transfer = 1;
  const Analysed a(run);
  expect_measured(run, a);
  EXPECT_EQ(a.replay.error, 0);
  run.transfer = 0;
  const std::int64_t wall = PipelineSimulation(run).wall();
  // Eight turns of the slow stage, the forwards before its first turn, the backwards after its last
  // turn, and the forward of the last stage that its first backward waits for.
  constexpr std::int64_t turn = forward_time + backward_time;
  EXPECT_EQ(wall, 8 * 2 * turn + 2 * turn + forward_time);
  // The mean stage takes 5/4 of the time of an even stage.
  const std::int64_t even_wall = 11 * turn * 5 / 4;
  const auto shares = a.shares();
  for (std::size_t r = 0; r < shares.size(); ++r) {
    const std::int64_t work = 8 * turn * (r == 2 ? 2 : 1);
    const StageTimes& t = a.pipeline->ranks[r].total;
    EXPECT_EQ(shares[r].schedule, Ns{3 * turn * 5 / 4});
    EXPECT_EQ(shares[r].imbalance, Ns{wall - even_wall - (work - 8 * turn * 5 / 4)});
    EXPECT_EQ(shares[r].links, t.wall - Ns{wall});
    EXPECT_EQ(shares[r].rest, Ns{0});
    EXPECT_EQ(shares[r].sum(), t.bubble());
  }
  EXPECT_LT(*shares[2].imbalance, Ns{0});
  EXPECT_GT(*shares[0].imbalance, Ns{0});
}

TEST(PipelineBubble, SeparatesSlowLinks) {
  PipelineRun run = even_run(Order::one_f_one_b, 8);
  run.transfer = 5'000;
  const Analysed a(run);
  expect_measured(run, a);
  PipelineRun free = even_run(Order::one_f_one_b, 8);
  const std::int64_t longer = PipelineSimulation(run).wall() - PipelineSimulation(free).wall();
  EXPECT_GT(longer, 0);
  for (const BubbleShares& share : a.shares()) {
    EXPECT_EQ(share.links, Ns{longer});
    EXPECT_EQ(share.imbalance, Ns{0});
    EXPECT_EQ(share.schedule, Ns{3 * (forward_time + backward_time)});
    EXPECT_EQ(share.rest, Ns{0});
  }
}

// Random times of stages, links and schedules, compared with a repeated simulation without them.
TEST(PipelineBubble, AgreesWithASimulationOfRandomStages) {
  std::mt19937 random(17);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const auto draw = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    PipelineRun run;
    run.order = static_cast<Order>(draw(0, 2));
    run.stages = draw(3, 5);
    run.chunks = run.order == Order::interleaved ? draw(2, 3) : 1;
    run.batches = run.order == Order::interleaved ? run.stages * draw(1, 2) : draw(2, 8);
    run.transfer = draw(0, 1) * draw(1, 9'000) + 1;
    // Whole multiples of their common mean, so balancing does not round.
    std::vector<std::int64_t> unit(static_cast<std::size_t>(run.stages));
    for (std::int64_t& u : unit) u = draw(1, 6);
    const std::int64_t sum = std::accumulate(unit.begin(), unit.end(), std::int64_t{0});
    run.lasts = [&](int stage, const Pass& pass) {
      return unit[static_cast<std::size_t>(stage)] * run.stages * 1'000 * (pass.forward ? 1 : 2);
    };
    const Analysed a(run);
    expect_measured(run, a);
    EXPECT_EQ(a.pipeline->micro_batches, run.batches);
    EXPECT_EQ(a.pipeline->chunks, run.chunks);
    EXPECT_EQ(a.replay.error, 0);
    PipelineRun linkless = run;
    linkless.transfer = 0;
    PipelineRun even = linkless;
    even.lasts = [&](int, const Pass& pass) { return sum * 1'000 * (pass.forward ? 1 : 2); };
    const std::int64_t walls[] = {PipelineSimulation(run).wall(),
                                  PipelineSimulation(linkless).wall(),
                                  PipelineSimulation(even).wall()};
    const std::int64_t even_work = PipelineSimulation(even).work(0);
    const auto shares = a.shares();
    for (int s = 0; s < run.stages; ++s) {
      const BubbleShares& share = shares[static_cast<std::size_t>(s)];
      const std::int64_t work = PipelineSimulation(run).work(s);
      const std::int64_t schedule = (run.stages - 1) * sum * 3'000;
      EXPECT_EQ(share.links, Ns{walls[0] - walls[1]});
      EXPECT_EQ(share.imbalance, Ns{walls[1] - walls[2] - (work - even_work)});
      EXPECT_EQ(share.schedule, Ns{schedule});
      EXPECT_EQ(share.rest, Ns{walls[2] - even_work - schedule});
      EXPECT_EQ(share.sum(), Ns{walls[0] - work});
    }
  }
}

// Hosts show the phase of their launches. Work before the first forward and after the last backward
// of a rank belongs to none of its passes.
TEST(PipelineBubble, LeavesTheOptimizerOutOfThePasses) {
  PipelineRun run = even_run(Order::one_f_one_b, 8);
  run.phases = true;
  run.optimizer = 30'000;
  const Analysed a(run);
  ASSERT_TRUE(a.pipeline);
  EXPECT_EQ(a.pipeline->schedule, PipelineSchedule::one_f_one_b);
  PipelineSimulation sim(run);
  for (int s = 0; s < run.stages; ++s) {
    const StageTimes& t = a.pipeline->ranks[static_cast<std::size_t>(s)].total;
    const std::int64_t after = sim.wall() - sim.last_end(s);
    const std::int64_t optimizer = std::min(after, run.optimizer);
    EXPECT_EQ(t.wall, Ns{sim.wall()});
    EXPECT_EQ(t.passes, Ns{sim.work(s)});
    EXPECT_EQ(t.work, Ns{sim.work(s) + optimizer});
    EXPECT_EQ(t.fill.sum(), Ns{sim.first_start(s)});
    EXPECT_EQ(t.drain.sum(), Ns{after - optimizer});
  }
}

// Without a wait at the end of a step each stage goes on to the next step.
TEST(PipelineBubble, IsTheSameWithoutAWaitAtTheEndOfAStep) {
  PipelineRun run = even_run(Order::one_f_one_b, 8);
  run.steps = 3;
  run.reduces = false;
  const Analysed a(run);
  ASSERT_TRUE(a.pipeline);
  EXPECT_EQ(a.pipeline->micro_batches, 8);
  for (const StageBubble& stage : a.pipeline->ranks) {
    ASSERT_EQ(stage.steps.size(), 3U);
    EXPECT_EQ(stage.total.bubble(), Ns{3 * 3 * (forward_time + backward_time)});
    EXPECT_EQ(a.pipeline->by_schedule(stage), stage.total.bubble());
    for (const StageStep& step : stage.steps) {
      EXPECT_EQ(step.times.fill.sum(), Ns{stage.stage * forward_time});
      EXPECT_EQ(step.times.drain.sum(), Ns{stage.stage * backward_time});
    }
  }
}

TEST(PipelineBubble, OfSomeStagesSaysWhichAreMissing) {
  const PipelineRun run = even_run(Order::one_f_one_b, 8);
  std::vector<TestRank> ranks = test::ranks_of(run);
  TestJob job;
  for (const int rank : {1, 3}) {
    TestRank& kept = ranks[static_cast<std::size_t>(rank)];
    kept.built().metadata.world_size = 4;
    job.add(rank, std::move(kept));
  }
  const Analysed a(std::move(job));
  ASSERT_TRUE(a.pipeline);
  EXPECT_EQ(a.pipeline->stages, 4);
  EXPECT_EQ(a.pipeline->missing, (std::vector<int>{0, 2}));
  EXPECT_EQ(a.pipeline->micro_batches, 8);
  EXPECT_EQ(a.pipeline->schedule, PipelineSchedule::one_f_one_b);
  ASSERT_EQ(a.pipeline->warnings.size(), 1U);
  const auto shares = a.shares();
  for (std::size_t r = 0; r < 2; ++r) {
    const StageTimes& t = a.pipeline->ranks[r].total;
    EXPECT_EQ(t.work + t.bubble(), t.wall);
    // The step of the two begins with the first forward of stage 1 and ends with its last backward.
    EXPECT_EQ(t.fill.sum(), Ns{r == 0 ? 0 : 2 * forward_time});
    // Without the other stages, waiting and transferring in the final all-reduce cannot be
    // separated.
    EXPECT_EQ(t.drain.sum(), Ns{0});
    EXPECT_EQ(t.work - t.passes, Ns{r == 0 ? 0 : 2 * backward_time});
    EXPECT_EQ(shares[r].schedule, Ns{3 * (forward_time + backward_time)});
    EXPECT_EQ(shares[r].imbalance, std::nullopt);
    EXPECT_EQ(shares[r].links, std::nullopt);
    EXPECT_EQ(shares[r].sum(), t.bubble());
  }
}

// Two pipelines: each lacks the stage that the other has.
TEST(PipelineBubble, StagesOfAnotherPipelineDoNotStandIn) {
  TestJob job;
  for (const int first : {0, 2}) {
    PipelineRun run = even_run(Order::one_f_one_b, 8);
    run.stages = 2;
    run.first_rank = first;
    std::vector<TestRank> ranks = test::ranks_of(run);
    const int stage = first / 2;
    TestRank& kept = ranks[static_cast<std::size_t>(stage)];
    kept.built().metadata.world_size = 4;
    job.add(first + stage, std::move(kept));
  }
  const Analysed a(std::move(job));
  ASSERT_TRUE(a.pipeline);
  ASSERT_EQ(a.pipeline->ranks.size(), 2U);
  EXPECT_EQ(a.pipeline->ranks[1].pipeline, 1U);
  EXPECT_EQ(a.pipeline->missing, (std::vector<int>{0, 1}));
  for (const BubbleShares& share : a.shares()) EXPECT_EQ(share.imbalance, std::nullopt);
}

TEST(PipelineBubble, WithoutComparableClocksHasNeitherFillNorDrain) {
  const PipelineRun run = even_run(Order::one_f_one_b, 8);
  std::vector<TestRank> ranks = test::ranks_of(run);
  for (TestRank& r : ranks) r.built().metadata.clock = Clock::relative;
  const Analysed a{TestJob(std::move(ranks))};
  ASSERT_TRUE(a.pipeline);
  EXPECT_EQ(a.pipeline->warnings.size(), 1U);
  EXPECT_EQ(a.pipeline->micro_batches, 8);
  PipelineSimulation sim(run);
  for (int s = 0; s < run.stages; ++s) {
    const StageTimes& t = a.pipeline->ranks[static_cast<std::size_t>(s)].total;
    EXPECT_EQ(t.fill.sum() + t.drain.sum(), Ns{0});
    EXPECT_EQ(t.between.message, Ns{sim.last_end(s) - sim.first_start(s) - sim.work(s)});
    EXPECT_EQ(a.shares()[static_cast<std::size_t>(s)].imbalance, std::nullopt);
  }
}

// Two stages whose neighbours exchange an activation for a gradient in one kernel, as in Megatron.
class FusedRank {
 public:
  explicit FusedRank(int rank) : own_(rank) {}

  void pass(std::int64_t start, std::int64_t end) {
    launch();
    rank_.rows().kernel("sgemm", start, end, correlation_);
  }
  // Host rows name the messages of the next kernel.
  void exchange(bool send, bool receive, std::int64_t start, std::int64_t end) {
    if (send) row("send");
    if (receive) row("recv");
    launch();
    rank_.comm(send_recv_kernel, start, end, correlation_);
  }
  TestRank done() {
    rank_.rows().step("ProfilerStep#1", 0, 2'000);
    return std::move(rank_);
  }

 private:
  void launch() {
    rank_.rows().launch(++correlation_, clock_, clock_ + 1);
    clock_ += 2;
  }
  void row(std::string_view name) {
    auto& rows = rank_.rows();
    const SliceId id =
        rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", clock_, clock_ + 1);
    rank_.annotate(id, {.name = name,
                        .group = "pipeline",
                        .src = name == "recv" ? 1 - own_ : -1,
                        .dst = name == "send" ? 1 - own_ : -1,
                        .description = "mesh_pp"});
    clock_ += 2;
  }

  int own_;
  TestRank rank_;
  std::int64_t clock_ = 1;
  std::uint32_t correlation_ = 0;
};

TEST(PipelineBubble, CountsAFusedSendAndReceiveInBothDirections) {
  FusedRank first(0);
  first.pass(1'000, 1'100);
  first.exchange(true, false, 1'100, 1'120);
  first.pass(1'100, 1'200);
  first.exchange(true, true, 1'200, 1'400);
  first.pass(1'400, 1'500);
  first.exchange(false, true, 1'500, 1'700);
  first.pass(1'700, 1'800);
  FusedRank last(1);
  last.exchange(false, true, 1'000, 1'120);
  last.pass(1'120, 1'220);
  last.pass(1'220, 1'320);
  last.exchange(true, true, 1'320, 1'400);
  last.pass(1'400, 1'500);
  last.pass(1'500, 1'600);
  last.exchange(true, false, 1'600, 1'700);
  std::vector<TestRank> ranks;
  ranks.push_back(first.done());
  ranks.push_back(last.done());
  const Analysed a{TestJob(std::move(ranks))};
  ASSERT_TRUE(a.pipeline);
  EXPECT_EQ(a.pipeline->micro_batches, 2);
  EXPECT_EQ(a.pipeline->chunks, 1);
  EXPECT_EQ(a.pipeline->schedule, PipelineSchedule::one_f_one_b);
  const StageTimes& one = a.pipeline->ranks[0].total;
  EXPECT_EQ(one.wall, Ns{800});
  EXPECT_EQ(one.work, Ns{400});
  EXPECT_EQ(one.between.message, Ns{400});
  EXPECT_EQ(one.bubble(), Ns{400});
  const StageTimes& two = a.pipeline->ranks[1].total;
  EXPECT_EQ(two.work, Ns{400});
  EXPECT_EQ(two.fill.message, Ns{120});
  EXPECT_EQ(two.between.message, Ns{80});
  EXPECT_EQ(two.drain.message, Ns{100});
  EXPECT_EQ(two.drain.idle, Ns{100});
}

TEST(PipelineBubble, IsAbsentWithoutMessagesBetweenStages) {
  std::vector<TestRank> ranks(2);
  for (TestRank& r : ranks) {
    r.rows().step("ProfilerStep#1", 0, 100);
    r.rows().kernel("sgemm", 10, 50);
    r.all_reduce(60, 90, {.group = "2", .description = "mesh_pp"});
  }
  EXPECT_FALSE(Analysed(TestJob(std::move(ranks))).pipeline);
}

TEST(PipelineBubble, ItsPartsAreTheBudgetOfThoseStretches) {
  PipelineRun run = even_run(Order::one_f_one_b, 6);
  run.lasts = [](int stage, const Pass& pass) {
    return (pass.forward ? forward_time : backward_time) + 1'001 * stage;
  };
  run.transfer = 777;
  const Analysed a(run);
  for (const StageBubble& stage : a.pipeline->ranks) {
    const RankView& view = a.job.views()[stage.view];
    const std::vector<Step> whole = {{.index = 1,
                                      .name = "",
                                      .host_start = {},
                                      .host_end = {},
                                      .start = stage.steps[0].begin,
                                      .end = stage.steps[0].end}};
    const Budget budget =
        time_budget(*view.trace, *view.index, whole, a.collectives.splits[stage.view])
            .rank()
            .steps[0];
    using enum BudgetCategory;
    const StageTimes& t = stage.total;
    Ns idle{};
    for (std::size_t c = 0; c < budget_category_count; ++c)
      if (is_idle(static_cast<BudgetCategory>(c))) idle += budget.time[c];
    EXPECT_EQ(t.fill.idle + t.between.idle + t.drain.idle, idle);
    EXPECT_EQ(t.work, budget[compute] + budget[comm_overlapped] + budget[copy_exposed]);
    const Ns message = t.fill.message + t.between.message + t.drain.message;
    const Ns wait = t.fill.wait + t.between.wait + t.drain.wait;
    EXPECT_EQ(message + wait, budget[comm_exposed_wait] + budget[comm_exposed_transfer]);
    EXPECT_GE(message, budget[comm_exposed_transfer]);
  }
}

// One step of a stage as torch.distributed.pipelining runs it on a CPU: a message is in flight
// until the thread collects it, and a tenth of a pass lies between its operators. Everything begins
// at `origin`.
GlooRank stage_on_cpu(const PipelineRun& run, PipelineSimulation& sim, int stage,
                      bool with_arguments) {
  constexpr std::int64_t origin = 1'000'000;
  GlooRank rank;
  std::vector<int> all(static_cast<std::size_t>(run.stages));
  std::iota(all.begin(), all.end(), 0);
  rank.group("0", "default_pg", all);
  for (const Pass& pass : sim.order(stage)) {
    const std::int64_t start = origin + sim.start(stage, pass);
    const std::int64_t end = origin + sim.end(stage, pass);
    const std::int64_t length = end - start;
    const auto message = [&](bool sends, int peer, std::int64_t asked, std::int64_t collected) {
      rank.message({.sends = sends,
                    .peer = with_arguments ? peer : -1,
                    .asked = asked,
                    .collected = collected});
    };
    if (sim.has_input(stage, pass))
      message(false, sim.producer(stage, pass).first, origin + sim.before(stage, pass) + 10, start);
    rank.rows().row(rank.rows().thread(1), Category::user_annotation,
                    (pass.forward ? "Forward " : "Backward ") + std::to_string(pass.batch),
                    start + 1, end - 1);
    rank.rows().op("aten::mm", start + 2, start + length * 6 / 10);
    rank.rows().op("aten::mm", start + length * 7 / 10, end - 10);
    for (const int to : {stage - 1, stage + 1}) {
      if (to < 0 || to >= run.stages) continue;
      for (const Pass& next : sim.order(to))
        if (sim.has_input(to, next) && sim.producer(to, next) == std::pair(stage, pass))
          message(true, to, end - 9, std::max(end + 5, origin + sim.arrives(to, next)));
    }
  }
  rank.rows().step("ProfilerStep#1", origin - 100, origin + sim.wall() + 100);
  return rank;
}

TestJob pipeline_on_cpu(const PipelineRun& run, bool with_arguments = true) {
  PipelineSimulation sim(run);
  std::vector<GlooRank> ranks;
  for (int s = 0; s < run.stages; ++s) ranks.push_back(stage_on_cpu(run, sim, s, with_arguments));
  return gloo_job(std::move(ranks));
}

TEST(PipelineBubble, OfThreadsIsThatOfTheScheduleToo) {
  for (const Order order : {Order::gpipe, Order::one_f_one_b}) {
    const PipelineRun run = even_run(order, 8);
    const Analysed a(pipeline_on_cpu(run));
    ASSERT_TRUE(a.pipeline);
    EXPECT_EQ(a.pipeline->schedule,
              order == Order::gpipe ? PipelineSchedule::gpipe : PipelineSchedule::one_f_one_b);
    EXPECT_EQ(a.pipeline->micro_batches, 8);
    ASSERT_EQ(a.pipeline->ranks.size(), 4U);
    PipelineSimulation sim(run);
    for (const StageBubble& stage : a.pipeline->ranks) {
      const auto near = [&](Ns measured, std::int64_t truth) {
        EXPECT_NEAR(static_cast<double>(measured.count()), static_cast<double>(truth), 1000)
            << "stage " << stage.stage;
      };
      near(stage.total.wall, sim.wall());
      near(stage.total.work, sim.work(stage.stage));  // with what lies between the operators
      near(stage.total.bubble(), 3 * (forward_time + backward_time));
      near(*a.pipeline->by_schedule(stage), 3 * (forward_time + backward_time));
      near(stage.total.fill.sum(), sim.first_start(stage.stage));
      near(stage.total.drain.sum(), sim.wall() - sim.last_end(stage.stage));
    }
  }
}

TEST(PipelineBubble, OfThreadsNeedsNoArgumentsWhereTheTimesShowThePeers) {
  const PipelineRun run = even_run(Order::one_f_one_b, 8);
  const Analysed a(pipeline_on_cpu(run, false));
  ASSERT_TRUE(a.pipeline);
  EXPECT_EQ(a.pipeline->ranks.size(), 4U);
}

TEST(PipelineStages, NeighboursGroupsMakeOnePipeline) {
  std::vector<TestRank> ranks(6);  // two pipelines: 0 2 4 and 1 3 5
  const std::vector<std::pair<int, int>> pairs = {{0, 2}, {2, 4}, {1, 3}, {3, 5}};
  std::deque<std::string> texts;
  for (const auto& [a, b] : pairs) {
    const std::string& name = texts.emplace_back("pipe" + std::to_string(a));
    const std::string& members =
        texts.emplace_back("[" + std::to_string(a) + ", " + std::to_string(b) + "]");
    for (const int rank : {a, b})
      ranks[static_cast<std::size_t>(rank)].all_reduce(
          100 * a, 100 * a + 10, {.group = name, .ranks = members, .description = "pipe_parallel"});
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches matches = match_collectives(job.views());
  const Pipelines pipelines =
      find_pipelines(job.views(), matches, find_dimensions(job.views(), matches));
  EXPECT_EQ(pipelines.ranks, (std::vector<std::vector<int>>{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(pipelines.of_view[4]->stage, 2);
  EXPECT_EQ(pipelines.of_view[1]->pipeline, 1U);
  EXPECT_EQ(pipelines.stage_of(0, 3), std::nullopt);
}

TEST(PipelineSchedule, IsToldByTheForwardsBeforeTheFirstBackward) {
  using enum PipelineSchedule;
  const auto of = [](int m, int v, std::vector<int> forwards) {
    std::vector<StageWarmUp> seen;
    for (int s = 0; s < std::ssize(forwards); ++s)
      seen.push_back({s, forwards[static_cast<std::size_t>(s)]});
    return recognise_schedule(4, m, v, seen);
  };
  EXPECT_EQ(of(8, 1, {8, 8, 8, 8}), gpipe);
  EXPECT_EQ(of(8, 1, {4, 3, 2, 1}), one_f_one_b);
  EXPECT_EQ(of(8, 1, {4, 3, 2, 2}), one_f_one_b);  // a receive posted early
  EXPECT_EQ(of(8, 2, {11, 9, 7, 5}), interleaved);
  EXPECT_EQ(of(8, 2, {16, 16, 16, 16}), gpipe);
  EXPECT_EQ(of(8, 1, {6, 6, 1, 6}), unknown);
  EXPECT_EQ(of(1, 1, {1, 1, 1, 1}), gpipe);
  EXPECT_EQ(recognise_schedule(4, 8, 1, {}), unknown);
}

}  // namespace

}  // namespace stepscope
