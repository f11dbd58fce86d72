// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/cost/search/search_bounds.h"
#include "stepscope/cost/search/search_shape.h"

namespace stepscope {
namespace {

using operations_test::gpt;
using operations_test::llama;

Transformer mixture() {
  Transformer model = llama();
  model.experts = Experts{.count = 4, .top_k = 2, .feed_forward = 2048};
  model.experts->first_dense_layers = 1;
  return model;
}

struct Bench {
  Machine machine;
  Network network;

  Bench() : machine(*find_machine("NVIDIA A100-SXM4-80GB")), network(*make_network(machine)) {}

  [[nodiscard]] SearchResult search(const Transformer& model, const SearchRequest& request) const {
    auto found = search_plans(model, machine, network, request);
    EXPECT_TRUE(found) << (found ? "" : found.error().message());
    return *std::move(found);
  }
};

SearchRequest request_of(std::int64_t devices, std::int64_t batch) {
  SearchRequest request;
  request.devices = {devices};
  request.base.batch.global = batch;
  request.base.batch.sequence = 2048;
  return request;
}

// The whole answer except the number of evaluations.
std::string answer(const SearchResult& result) {
  std::string text;
  const auto add = [&text](const FoundPlan& f) {
    text += plan_json(f.plan) + std::to_string(f.cost.step().count()) + " " +
            std::to_string(f.cost.memory.total()) + (f.near_tie ? " ~\n" : "\n");
  };
  for (const FoundPlan& f : result.best) add(f);
  text += "pareto\n";
  for (const FoundPlan& f : result.pareto) add(f);
  for (const Sensitivity& s : result.sensitivity) {
    text += std::to_string(s.factor) + " " + std::to_string(s.step.value_or(-1)) +
            (s.other ? plan_json(*s.other) : "") + "\n";
  }
  return text;
}

std::int64_t sum_of(const SearchResult& result) {
  std::int64_t sum = result.feasible;
  for (const std::int64_t n : result.rejected) sum += n;
  return sum;
}

TEST(Search, FindsWithBoundsWhatItFindsWithout) {
  const Bench bench;
  for (const Transformer& model : {gpt(4096, 32), llama(), mixture()}) {
    for (const double headroom : {0.1, 0.85}) {
      SearchRequest request = request_of(8, 16);
      request.memory_headroom = headroom;
      const SearchResult pruned = bench.search(model, request);
      request.prune = false;
      const SearchResult all = bench.search(model, request);
      EXPECT_EQ(answer(pruned), answer(all)) << model.name << " " << headroom;
      EXPECT_EQ(pruned.candidates, all.candidates);
      EXPECT_LT(pruned.evaluated, all.evaluated);
      ASSERT_FALSE(all.best.empty());
      EXPECT_FALSE(all.pareto.empty());
    }
  }
}

TEST(Search, FindsWithBoundsWhatItFindsWithoutForPartsOfTheWeights) {
  const Bench bench;
  for (const Transformer& model : {llama(), mixture()}) {
    for (const bool adapters : {false, true}) {
      SearchRequest request = request_of(8, 16);
      request.base.trained.frozen_layers = 1;
      request.base.trained.frozen.add(ModelPart::embedding);
      if (adapters) request.base.trained.lora_rank = 8;
      request.base.experts.load = model.experts ? 150 : 100;
      const SearchResult pruned = bench.search(model, request);
      request.prune = false;
      const SearchResult all = bench.search(model, request);
      EXPECT_EQ(answer(pruned), answer(all)) << model.name << " " << adapters;
      EXPECT_EQ(pruned.candidates, all.candidates);
      EXPECT_LT(pruned.evaluated, all.evaluated);
      ASSERT_FALSE(all.best.empty());
    }
  }
}

TEST(Search, HasTheSameAnswerAndCountsForAnyThreads) {
  const Bench bench;
  SearchRequest request = request_of(16, 32);
  const SearchResult one = bench.search(llama(), request);
  for (const unsigned threads : {2U, 5U}) {
    request.threads = threads;
    const SearchResult several = bench.search(llama(), request);
    EXPECT_EQ(answer(several), answer(one));
    EXPECT_EQ(several.rejected, one.rejected);
    EXPECT_EQ(several.feasible, one.feasible);
    EXPECT_EQ(several.evaluated, one.evaluated);
  }
}

TEST(Search, AccountsForEveryCandidate) {
  const Bench bench;
  const SearchResult result = bench.search(mixture(), request_of(12, 24));
  EXPECT_EQ(result.candidates, sum_of(result));
  EXPECT_GT(result.feasible, 0);
  EXPECT_GT(result.rejected[static_cast<std::size_t>(Rejected::expert)], 0);
  EXPECT_GT(result.rejected[static_cast<std::size_t>(Rejected::slow)], 0);
}

// Visits every plan of a small space, with a context per shape.
template <class Visit>
std::int64_t visit_plans(const Bench& bench, const Transformer& model, const SearchSpace& space,
                         Visit visit) {
  std::int64_t visited = 0;
  for (const SearchShape& shape : list_shapes(space).shapes) {
    auto context = make_cost_context(model, bench.machine, bench.network, shape.plan);
    EXPECT_TRUE(context);
    Plan plan = shape.plan;
    for (const Split& split : list_splits(space, shape.plan)) {
      take(plan, model, split);
      if (obstacle(model, plan)) continue;
      const bool several = micro_batches(plan) > 1;
      for (const Recomputation& r : list_recomputations(space, split)) {
        take(plan, r);
        for (const StateChoice& s : list_states(space, shape.plan, plan.dp * plan.cp, several)) {
          take(plan, s);
          visit(*context, plan);
          ++visited;
        }
      }
    }
  }
  return visited;
}

TEST(SearchBounds, AreNoMoreThanWhatPlansTake) {
  const Bench bench;
  for (Transformer model : {gpt(4096, 32), llama(), mixture()}) {
    model.layers = 6;
    const SearchRequest request = request_of(8, 8);
    const SearchSpace space{.model = &model, .request = &request, .devices = 8};
    std::int64_t wrong = 0;
    const auto visited = visit_plans(bench, model, space, [&](CostContext& context, const Plan& p) {
      const LayerBounds bounds = layer_bounds(context);
      const auto cost = evaluate(context, p);
      ASSERT_TRUE(cost);
      const LeastLoads loads = least_loads(bounds, context, p);
      const bool holds = least_step(bounds, p) <= cost->step().count() &&
                         least_busy(bounds, p) <= cost->step().count() &&
                         least_memory(loads, p) <= cost->memory.total() &&
                         least_memory_of_any(loads, p, false) <= cost->memory.total();
      if (!holds && ++wrong < 5) {
        ADD_FAILURE() << plan_json(p) << least_step(bounds, p) << " of " << cost->step().count()
                      << " s, " << least_memory(least_loads(bounds, context, p), p) << " of "
                      << cost->memory.total() << " bytes";
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(visited, 1000);
  }
}

TEST(Search, EvaluatesPlansThatCanRunAsAPredictionDoes) {
  const Bench bench;
  const Transformer model = mixture();
  const SearchRequest request = request_of(8, 8);
  const SearchSpace space{.model = &model, .request = &request, .devices = 8};
  std::int64_t count = 0;
  visit_plans(bench, model, space, [&](CostContext& context, const Plan& plan) {
    if (count++ % 97 != 0) return;
    const auto can = check_plan(model, plan);
    ASSERT_TRUE(can) << can.error().message() << plan_json(plan);
    auto fresh = make_cost_context(model, bench.machine, bench.network, plan);
    ASSERT_TRUE(fresh);
    const auto alone = evaluate(*fresh, plan);
    const auto searched = evaluate(context, plan);
    ASSERT_TRUE(alone && searched);
    for (std::size_t t = 0; t < step_term_count; ++t) {
      EXPECT_NEAR(searched->seconds[t], alone->seconds[t], 1e-9 * alone->step().count());
    }
    EXPECT_NEAR(searched->memory.total(), alone->memory.total(), 1e-9 * alone->memory.total());
  });
  EXPECT_GT(count, 97);
}

TEST(Search, CountsAsManyPlansAsItVisits) {
  const Bench bench;
  const Transformer model = llama();
  const SearchRequest request = request_of(4, 8);
  const SearchSpace space{.model = &model, .request = &request, .devices = 4};
  const auto visited = visit_plans(bench, model, space, [](CostContext&, const Plan&) {});
  SearchRequest every = request;
  every.prune = false;
  const SearchResult result = bench.search(model, every);
  EXPECT_EQ(result.evaluated, visited);
}

TEST(Search, CountsPlansByWhatIsInTheirWay) {
  const Transformer model = mixture();
  const SearchRequest request = request_of(12, 24);
  const SearchSpace space{.model = &model, .request = &request, .devices = 12};
  std::int64_t obstructed = 0;
  for (const SearchShape& shape : list_shapes(space).shapes) {
    std::array<std::int64_t, rejected_count> rejected{};
    count_plans(space, shape.plan, Rejected::slow, rejected);
    std::int64_t sum = 0;
    for (const std::int64_t n : rejected) sum += n;
    EXPECT_EQ(sum, count_plans(space, shape.plan));
    obstructed += sum - rejected[static_cast<std::size_t>(Rejected::slow)];
  }
  EXPECT_GT(obstructed, 0);
}

TEST(SearchRank, CountsThePlansThatFitAndAreFaster) {
  const Bench bench;
  for (Transformer model : {llama(), mixture()}) {
    model.layers = 6;
    SearchRequest request = request_of(8, 16);
    request.memory_headroom = 0.85;
    const double capacity = static_cast<double>(bench.machine.memory->value) * 0.15;
    const SearchSpace space{.model = &model, .request = &request, .devices = 8};
    std::vector<double> steps;
    visit_plans(bench, model, space, [&](CostContext& context, const Plan& plan) {
      const auto cost = evaluate(context, plan);
      ASSERT_TRUE(cost);
      if (cost->memory.total() <= capacity) steps.push_back(cost->step().count());
    });
    std::ranges::sort(steps);
    ASSERT_GT(steps.size(), 100U);
    for (const std::size_t at : {std::size_t{0}, steps.size() / 50, steps.size() - 1}) {
      const auto place = std::ranges::lower_bound(steps, steps[at]) - steps.begin();
      for (const unsigned threads : {1U, 3U}) {
        request.threads = threads;
        const auto rank = rank_plan(model, bench.machine, bench.network, request,
                                    {.step = steps[at], .devices = 8});
        ASSERT_TRUE(rank);
        EXPECT_TRUE(rank->complete);
        EXPECT_EQ(rank->faster, place) << model.name << " " << threads;
      }
    }
    const auto cut = rank_plan(model, bench.machine, bench.network, request,
                               {.step = steps.back(), .devices = 8, .most_evaluations = 10});
    ASSERT_TRUE(cut);
    EXPECT_FALSE(cut->complete);
    EXPECT_LE(cut->faster, static_cast<std::int64_t>(steps.size()));
  }
}

TEST(Search, KeepsWhatIsFixedAndBelowWhatIsLimited) {
  const Bench bench;
  SearchRequest request = request_of(16, 32);
  ASSERT_TRUE(fix(request, "tp", "2"));
  ASSERT_TRUE(fix(request, "schedule", "zb-h1"));
  ASSERT_TRUE(fix(request, "recompute", "full"));
  ASSERT_TRUE(limit(request, "pp", "2"));
  ASSERT_TRUE(fix(request, "zero", "1"));
  const SearchResult result = bench.search(llama(), request);
  ASSERT_FALSE(result.best.empty());
  for (const FoundPlan& f : result.best) {
    EXPECT_EQ(f.plan.tp, 2);
    EXPECT_EQ(f.plan.pipeline.schedule, Schedule::zero_bubble_h1);
    EXPECT_EQ(f.plan.memory.recompute, Recompute::full);
    EXPECT_LE(f.plan.pp, 2);
    EXPECT_EQ(f.plan.zero, 1);
    EXPECT_TRUE(check_plan(llama(), f.plan));
  }
}

TEST(Search, TriesGridsWithGivenSidesWhereAsked) {
  const Bench bench;
  SearchRequest request = request_of(8, 8);
  ASSERT_TRUE(fix(request, "tp", "8"));
  const auto sides = [&] {
    std::set<std::array<std::int64_t, 3>> found;
    for (const FoundPlan& f : bench.search(gpt(), request).best) {
      if (f.plan.tensor.rows > 0) {
        found.insert({f.plan.tensor.rows, f.plan.tensor.columns, f.plan.tensor.depth});
      }
    }
    return found;
  };
  request.slowest = 1000;
  EXPECT_TRUE(sides().empty()) << "only squares and cubes";
  ASSERT_TRUE(fix(request, "tp_rows", "2"));
  ASSERT_TRUE(fix(request, "tensor_layout", "2d"));
  EXPECT_EQ(sides(), (std::set<std::array<std::int64_t, 3>>{{2, 4, 1}}));
  ASSERT_TRUE(fix(request, "tensor_layout", "3d"));
  EXPECT_EQ(sides(), (std::set<std::array<std::int64_t, 3>>{{2, 1, 4}, {2, 2, 2}}));
}

TEST(Search, GivesTheStageOfALargeHeadFewerLayers) {
  const Bench bench;
  Transformer model = llama();
  model.layers = 16;
  const double layer = sequence_flops(model, 2048, FlopsConvention::causal_halved) - [&] {
    Transformer less = model;
    --less.layers;
    return sequence_flops(less, 2048, FlopsConvention::causal_halved);
  }();
  // A head that takes as long as two layers.
  model.vocabulary = std::llround(2 * layer / (6.0 * 2048 * static_cast<double>(model.hidden)));
  SearchRequest request = request_of(4, 64);
  for (const auto& [name, value] : {std::pair(SearchKey::pp, 4), std::pair(SearchKey::zero, 0)})
    request.fixed[static_cast<std::size_t>(name)] = value;
  const SearchResult result = bench.search(model, request);
  ASSERT_FALSE(result.best.empty());
  std::optional<double> even;
  for (const FoundPlan& f : result.best) {
    Plan plan = f.plan;
    if (plan.pipeline.virtual_stages > 1 || plan.pipeline.stage_layers.empty()) continue;
    EXPECT_EQ(plan.pipeline.stage_layers, (std::vector<std::int64_t>{4, 5, 4, 3}))
        << plan_json(plan);
    plan.pipeline.stage_layers.clear();
    auto context = make_cost_context(model, bench.machine, bench.network, plan);
    ASSERT_TRUE(context);
    even = evaluate(*context, plan)->step().count();
    EXPECT_LT(f.cost.step().count(), *even);
  }
  EXPECT_TRUE(even) << "no pipeline of one chunk a device was found";
}

TEST(Search, KeepsTheSequenceDegreeOfItsBase) {
  const Bench bench;
  SearchRequest request = request_of(8, 8);
  request.base.tensor.sequence_degree = 4;
  ASSERT_TRUE(fix(request, "tp", "2"));
  ASSERT_TRUE(fix(request, "sequence_parallel", "true"));
  const SearchResult found = bench.search(gpt(), request);
  ASSERT_FALSE(found.best.empty());
  for (const FoundPlan& f : found.best) {
    EXPECT_EQ(f.plan.tensor.sequence_degree, 4);
    EXPECT_EQ(4 * f.plan.cp * f.plan.pp * f.plan.dp, 8);
  }
}

TEST(Search, NamesKeysAndValuesThatItDoesNotKnow) {
  SearchRequest request;
  EXPECT_NE(fix(request, "tpp", "2").error().message().find("tpp"), std::string::npos);
  EXPECT_NE(fix(request, "tp", "0").error().message().find("from 1"), std::string::npos);
  EXPECT_NE(fix(request, "tp", "8x").error().message().find("8x"), std::string::npos);
  EXPECT_NE(fix(request, "schedule", "fast").error().hint.find("zb-h2"), std::string::npos);
  EXPECT_FALSE(limit(request, "schedule", "1f1b"));
  EXPECT_TRUE(fix(request, "shard_group", "0"));
}

TEST(Search, SuggestsTheSmallestCountWhereNothingFits) {
  const Bench bench;
  Transformer model = gpt();  // 12288 wide
  model.layers = 48;
  SearchRequest request = request_of(1, 32);
  const SearchResult none = bench.search(model, request);
  EXPECT_EQ(none.feasible, 0);
  EXPECT_TRUE(none.best.empty());
  EXPECT_EQ(none.candidates, sum_of(none));
  ASSERT_TRUE(none.smallest_devices);
  request.devices = {*none.smallest_devices};
  EXPECT_GT(bench.search(model, request).feasible, 0);
  EXPECT_FALSE(bench.search(model, request).smallest_devices);
}

TEST(Search, OffloadsWhereAskedAndWhereNothingElseFits) {
  Bench bench;
  Host host;
  host.per_direction = ByteRate{25e9};
  host.memory_rate = ByteRate{200e9};
  bench.machine.host = host;
  SearchRequest request = request_of(1, 4);
  EXPECT_FALSE(bench.search(llama(), request).offload_searched);
  Transformer model = llama();
  model.layers = 32;
  const SearchResult result = bench.search(model, request);
  EXPECT_TRUE(result.offload_searched);
  ASSERT_FALSE(result.best.empty());
  const Plan& best = result.best.front().plan;
  EXPECT_TRUE(best.memory.optimizer_at != Residence::device ||
              best.memory.gradients_at != Residence::device ||
              best.memory.parameters_at != Residence::device);
  request.devices = {2};
  request.offload = true;
  const SearchResult pruned = bench.search(model, request);
  request.prune = false;
  EXPECT_EQ(answer(pruned), answer(bench.search(model, request)));
}

TEST(Search, LeavesToTheHostNoMoreThanItHolds) {
  Bench bench;
  Transformer model = llama();
  model.layers = 32;
  Host host;
  host.per_direction = ByteRate{25e9};
  host.memory_rate = ByteRate{200e9};
  host.memory = Bytes{1'000'000'000};
  bench.machine.host = host;
  const SearchResult result = bench.search(model, request_of(1, 4));
  EXPECT_TRUE(result.offload_searched);
  EXPECT_EQ(result.feasible, 0);
  EXPECT_EQ(result.smallest_devices, 3);  // 18 bytes of 8e9 parameters over 72e9 bytes each
}

TEST(Search, EndsWhereNoCountIsEnoughThoughStatesMayLeave) {
  Bench bench;
  Host host;
  host.per_direction = ByteRate{25e9};
  host.memory_rate = ByteRate{200e9};
  bench.machine.host = host;
  Transformer model = llama();
  model.layers = 12;
  model.feed_forward *= 100'000;  // no device holds what a layer needs while it runs
  SearchRequest request = request_of(8, 64);
  request.offload = true;
  const SearchResult result = bench.search(model, request);
  EXPECT_EQ(result.feasible, 0);
  EXPECT_FALSE(result.smallest_devices);
}

TEST(Search, SuggestsNoCountWhereMemoryIsNotWhatLacks) {
  const Bench bench;
  SearchRequest request = request_of(8, 7);
  ASSERT_TRUE(fix(request, "dp", "8"));
  const SearchResult result = bench.search(llama(), request);
  EXPECT_EQ(result.feasible, 0);
  EXPECT_FALSE(result.smallest_devices);
  EXPECT_GT(result.rejected[static_cast<std::size_t>(Rejected::batch)], 0);
}

TEST(Search, ShowsWhatMoreOrLessOfAMachineDoes) {
  const Bench bench;
  const SearchResult result = bench.search(llama(), request_of(16, 32));
  ASSERT_EQ(result.sensitivity.size(), 20U);
  const double step = result.best.front().cost.step().count();
  for (const Sensitivity& s : result.sensitivity) {
    ASSERT_TRUE(s.step);
    const double slower = s.factor < 1 ? *s.step - step : step - *s.step;
    EXPECT_GE(slower, -1e-12 * step) << s.factor;
    EXPECT_TRUE(s.what != Sensitivity::What::peak || slower > 0);
  }
}

TEST(Search, MarksWhatIsWithinTheModelsErrorOfTheBest) {
  const Bench bench;
  SearchRequest request = request_of(16, 32);
  request.model_error = 0.03;
  const SearchResult result = bench.search(llama(), request);
  const double best = result.best.front().cost.step().count();
  for (const FoundPlan& f : result.best) {
    EXPECT_EQ(f.near_tie, f.cost.step().count() <= best * 1.03);
  }
  EXPECT_GT(result.best.size(), 1U);
  for (std::size_t i = 1; i < result.pareto.size(); ++i) {
    EXPECT_GE(result.pareto[i].cost.step(), result.pareto[i - 1].cost.step());
    EXPECT_LT(result.pareto[i].cost.memory.total(), result.pareto[i - 1].cost.memory.total());
  }
}

TEST(Search, GoesThroughARangeOfCounts) {
  EXPECT_EQ(device_range(4, 20), (std::vector<std::int64_t>{4, 8, 16, 20}));
  EXPECT_EQ(device_range(8, 8), (std::vector<std::int64_t>{8}));
  const Bench bench;
  SearchRequest request = request_of(4, 16);
  request.devices = {4, 8};
  const SearchResult result = bench.search(llama(), request);
  ASSERT_EQ(result.by_devices.size(), 2U);
  EXPECT_EQ(result.by_devices[0].plan.devices, 4);
  EXPECT_EQ(result.by_devices[1].plan.devices, 8);
}

TEST(Search, ForTheFastestAloneFindsTheFastest) {
  const Bench bench;
  for (const Transformer& model : {gpt(4096, 32), llama(), mixture()}) {
    for (const double headroom : {0.1, 0.85}) {
      SearchRequest request = request_of(8, 16);
      request.memory_headroom = headroom;
      const SearchResult all = bench.search(model, request);
      request.slowest = 1;
      request.top = 1;
      request.threads = 3;
      const SearchResult fastest = bench.search(model, request);
      ASSERT_EQ(fastest.best.empty(), all.best.empty());
      EXPECT_TRUE(fastest.sensitivity.empty());
      if (all.best.empty()) continue;
      EXPECT_EQ(fastest.best[0].cost.step(), all.best[0].cost.step());
      EXPECT_EQ(plan_json(fastest.best[0].plan), plan_json(all.best[0].plan));
      EXPECT_LT(fastest.evaluated, all.evaluated);
    }
  }
}

TEST(Search, TellsHowFarItIs) {
  const Bench bench;
  SearchRequest request = request_of(4, 16);
  request.devices = {4, 8};
  std::map<std::int64_t, std::vector<std::uint64_t>> shown;
  request.show = [&](std::int64_t devices, std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    shown[devices].push_back(done);
    if (done == total) shown[devices].push_back(0);
  };
  ASSERT_FALSE(bench.search(llama(), request).best.empty());
  ASSERT_EQ(shown.size(), 2U);
  for (const auto& [devices, done] : shown) {
    ASSERT_GT(done.size(), 2U) << devices;
    EXPECT_EQ(done.back(), 0U) << "all parts of " << devices << " were told";
    for (std::size_t i = 0; i + 1 < done.size(); ++i) EXPECT_EQ(done[i], i + 1);
  }
}

TEST(Search, StopsWhenAsked) {
  const Bench bench;
  StopFlag stop;
  stop.request();
  SearchRequest request = request_of(64, 64);
  request.stop = &stop;
  const SearchResult result = bench.search(llama(), request);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.evaluated, 0);
}

TEST(Search, SaysWhatItCannotDoWithout) {
  Bench bench;
  SearchRequest request = request_of(0, 8);
  EXPECT_FALSE(search_plans(llama(), bench.machine, bench.network, request));
  request = request_of(8, 8);
  request.memory_headroom = 1;
  EXPECT_FALSE(search_plans(llama(), bench.machine, bench.network, request));
  request = request_of(8, 8);
  request.base.trained.frozen_layers = 100;
  const auto frozen = search_plans(llama(), bench.machine, bench.network, request);
  ASSERT_FALSE(frozen);
  EXPECT_NE(frozen.error().message().find("100"), std::string::npos) << frozen.error().message();
  request.base.trained = {};
  request.base.experts.load = 120;
  const auto loaded = search_plans(llama(), bench.machine, bench.network, request);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find("--expert-load"), std::string::npos)
      << loaded.error().message();
  bench.machine.memory.reset();
  const auto none = search_plans(llama(), bench.machine, bench.network, request_of(8, 8));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("memory_gb"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
