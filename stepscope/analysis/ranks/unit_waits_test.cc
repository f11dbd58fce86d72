// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/unit_waits.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/unit_test_builder.h"

namespace stepscope {
namespace {

using test::EngineRank;
using test::Fsdp2Rank;

struct Found {
  TestJob job;
  UnitWaits waits;

  explicit Found(TestRank rank) {
    job.add(0, std::move(rank));
    const RankView& view = job.views()[0];
    const Collectives all = analyze_collectives(job.views());
    waits = find_unit_waits(view, all.matches.ranks[0], all.times.by_view[0],
                            host_phases(*view.trace, *view.index, view.steps));
  }
  [[nodiscard]] const UnitUse& use(std::size_t fetch) const {
    return waits.marks.uses[waits.fetches[fetch].use];
  }
  [[nodiscard]] std::string unit(std::size_t fetch) const {
    return waits.marks.units[use(fetch).unit];
  }
};

using Distance = std::optional<std::uint32_t>;

TEST(UnitWaits, OfTheTrainerAreHitsLateOrMisses) {
  const Found f(test::late_third_unit());
  EXPECT_EQ(f.waits.marks.source, UnitSource::stepscope);
  ASSERT_EQ(f.waits.fetches.size(), 3U);
  const auto& [a, b, c] = std::tie(f.waits.fetches[0], f.waits.fetches[1], f.waits.fetches[2]);
  EXPECT_EQ(f.unit(0), "a");
  EXPECT_EQ(a.verdict, FetchVerdict::miss);
  EXPECT_EQ(a.late(), Ns{5 * us});
  EXPECT_EQ(a.ahead, 0U);
  EXPECT_EQ(a.distance, Distance());  // nothing computes before it
  EXPECT_EQ(b.verdict, FetchVerdict::hit);
  EXPECT_EQ(b.ahead, 1U);
  EXPECT_EQ(b.transfer, Ns{10 * us});  // it was behind the first until then
  EXPECT_EQ(b.distance, Distance(1));
  EXPECT_EQ(f.unit(2), "c");
  EXPECT_EQ(c.issued, Ns{109 * us});
  EXPECT_EQ(c.needed, Ns{170 * us});
  EXPECT_EQ(c.arrived, Ns{189 * us});
  EXPECT_EQ(c.verdict, FetchVerdict::late);
  EXPECT_EQ(c.late(), Ns{19 * us});
  EXPECT_EQ(c.ahead, 1U);
  EXPECT_EQ(c.distance, Distance(2));
}

TEST(UnitWaits, AUnitThatIsStillThereIsNotFetched) {
  EngineRank r(0, 0, 400);
  r.fetch("a", 0, 10);
  r.pass("a", "forward", 1, 100, 10);
  r.pass("a", "backward", 100, 200);
  r.reduce("a", 201, 260);
  r.reduce("a", 205, 300);
  const Found f(r.take());
  ASSERT_EQ(f.waits.marks.uses.size(), 2U);
  EXPECT_EQ(f.waits.fetches.size(), 1U);
  ASSERT_EQ(f.waits.reduces.size(), 1U);  // of two messages
  EXPECT_EQ(f.waits.reduces[0].ready, Ns{200 * us});
  EXPECT_EQ(f.waits.reduces[0].launched, Ns{201 * us});
  EXPECT_EQ(f.waits.reduces[0].done, Ns{300 * us});
  EXPECT_EQ(f.waits.reduces[0].exposed, Ns{99 * us});
}

// Stages 1 and 2 share the updated parameters at the end of a step. The next step does not fetch
// them.
TEST(UnitWaits, WhatTheUpdateSharesIsNoFetch) {
  EngineRank r(0, 0, 100);
  r.step(1, 100, 200);
  r.pass("a", "forward", 1, 90);
  r.fetch("a", 95, 130);
  r.pass("a", "forward", 101, 190, 130);
  const Found f(r.take());
  EXPECT_EQ(f.waits.marks.uses.size(), 2U);
  EXPECT_TRUE(f.waits.fetches.empty());
}

TEST(UnitWaits, OfFsdp2AreJudgedOnTheDevice) {
  const Found f(test::hooks_of_four_units());
  EXPECT_EQ(f.waits.marks.source, UnitSource::fsdp2);
  ASSERT_EQ(f.waits.fetches.size(), 4U);
  const auto& x = f.waits.fetches;
  EXPECT_EQ(x[0].verdict, FetchVerdict::miss);
  EXPECT_EQ(x[1].verdict, FetchVerdict::hit);
  EXPECT_EQ(x[1].issued, Ns{22 * us});
  EXPECT_EQ(x[1].needed, Ns{157 * us});
  EXPECT_EQ(x[1].arrived, Ns{86 * us});
  EXPECT_EQ(x[2].verdict, FetchVerdict::late);
  EXPECT_EQ(x[2].late(), Ns{12 * us});
  EXPECT_EQ(x[3].verdict, FetchVerdict::miss);
  EXPECT_EQ(x[3].needed, Ns{236 * us});  // its copy was launched at this instant
  EXPECT_EQ(x[3].late(), Ns{28 * us});
  EXPECT_EQ(f.unit(3), "layers.3");
  EXPECT_EQ(f.use(3).pass, UnitPass::forward);
  EXPECT_EQ(f.job.views()[0].trace->name(x[3].reader), "split_with_sizes_copy_out");
  for (const UnitFetch& fetch : x) EXPECT_EQ(fetch.ahead, 0U);  // each in its own hook
  EXPECT_EQ(x[1].distance, Distance(1));
  EXPECT_EQ(x[2].distance, Distance(2));
  EXPECT_EQ(x[3].distance, Distance(1));
}

// Backward prefetch: requested in the previous unit's hook.
TEST(UnitWaits, AFetchInAnothersHookIsAhead) {
  Fsdp2Rank r(0, 400);
  r.kernel("loss", 0, 3, 40);
  r.note("FSDP::pre_backward (layers.1)", 10, 40);
  r.note("FSDP::backward_prefetch for layers.0", 29, 36);
  r.gather("layers.0", 31, 45, 65);
  r.kernel("dgrad", 41, 45, 100);
  r.note("FSDP::pre_backward (layers.0)", 50, 60);
  r.note("FSDP::all_gather_copy_out (layers.0)", 52, 55);
  r.kernel("copy_out", 53, 100, 101);
  r.kernel("dgrad", 61, 101, 150);
  const Found f(r.take());
  ASSERT_EQ(f.waits.marks.uses.size(), 2U);
  ASSERT_EQ(f.waits.fetches.size(), 1U);
  EXPECT_EQ(f.unit(0), "layers.0");
  EXPECT_EQ(f.use(0).pass, UnitPass::backward);
  EXPECT_EQ(f.waits.fetches[0].ahead, 1U);
  EXPECT_EQ(f.waits.fetches[0].verdict, FetchVerdict::hit);
}

// Activation checkpointing runs the forward hook again, within the unit's backward.
TEST(UnitWaits, RecomputationIsNoUseOfItsOwn) {
  Fsdp2Rank r(0, 400);
  r.kernel("loss", 0, 3, 40);
  r.note("FSDP::pre_backward (layers.1)", 10, 40);
  r.gather("layers.1", 20, 25, 45);
  r.note("FSDP::all_gather_copy_out (layers.1)", 30, 35);
  r.kernel("copy_out", 31, 45, 46);
  r.note("FSDP::pre_forward (layers.1)", 50, 55);
  r.kernel("recomputed", 61, 101, 150);
  const Found f(r.take());
  EXPECT_EQ(f.waits.marks.uses.size(), 1U);
}

// A thread that waits for gloo inside the fetching row hides nothing, however early it requests.
TEST(UnitWaits, AThreadThatWaitsInTheFetchMissesIt) {
  TestRank r;
  TraceBuilder& rows = r.rows();
  const TrackId main = rows.thread(1);
  const auto note = [&](std::string_view name, std::int64_t start, std::int64_t end) {
    rows.row(main, Category::user_annotation, name, start * us, end * us);
  };
  rows.step("ProfilerStep#0", 0, 400 * us);
  note("FSDP::pre_forward (a)", 10, 100);
  note("FSDP::all_gather (a)", 12, 80);
  rows.op("c10d::_allgather_base_", 20 * us, 78 * us);
  rows.row(rows.thread(2), Category::user_annotation, "gloo:all_gather", 25 * us, 75 * us);
  note("FSDP::all_gather_copy_out (a)", 82, 95);
  rows.op("aten::mm", 110 * us, 300 * us);
  const Found f(std::move(r));
  ASSERT_EQ(f.waits.fetches.size(), 1U);
  EXPECT_EQ(f.waits.fetches[0].verdict, FetchVerdict::miss);
  EXPECT_EQ(f.waits.fetches[0].late(), Ns{55 * us});  // from the request, at 20
}

// Neither names its units: they are numbered in the order of their pass. The first takes the gather
// that it requested itself, the second the gather that was requested ahead.
void expect_own_and_ahead(const Found& f, UnitSource source) {
  EXPECT_EQ(f.waits.marks.source, source);
  ASSERT_EQ(f.waits.fetches.size(), 2U);
  EXPECT_EQ(f.unit(0), "unit 0");
  EXPECT_EQ(f.unit(1), "unit 1");
  EXPECT_EQ(f.waits.fetches[0].verdict, FetchVerdict::miss);
  EXPECT_EQ(f.waits.fetches[0].late(), Ns{19 * us});
  EXPECT_EQ(f.waits.fetches[0].ahead, 0U);
  EXPECT_EQ(f.waits.fetches[1].verdict, FetchVerdict::hit);
  EXPECT_EQ(f.waits.fetches[1].arrived, Ns{90 * us});
  EXPECT_EQ(f.waits.fetches[1].ahead, 1U);
}

TEST(UnitWaits, OfFsdp1AreNumbered) {
  Fsdp2Rank r(0, 400);
  r.kernel("embedding", 0, 3, 4);
  r.note("FullyShardedDataParallel._pre_forward", 10, 40);
  r.gather(15, 20, 60);
  r.note("FullyShardedDataParallel._pre_forward_prefetch", 25, 35);
  r.gather(30, 60, 90);
  r.kernel("sgemm", 41, 60, 200);
  r.note("FullyShardedDataParallel._pre_forward", 50, 60);
  r.kernel("sgemm", 61, 200, 300);
  expect_own_and_ahead(Found(r.take()), UnitSource::fsdp1);
}

TEST(UnitWaits, OfDeepSpeedAreThoseThatWereThereWhenItWentOn) {
  constexpr std::string_view frame =
      "deepspeed/runtime/zero/partitioned_param_coordinator.py(273): fetch_sub_module";
  Fsdp2Rank r(0, 400);
  r.kernel("embedding", 0, 3, 4);
  r.note(frame, 10, 40);
  r.gather(15, 20, 60);
  r.gather(30, 60, 90);
  r.kernel("sgemm", 41, 60, 200);
  r.note(frame, 50, 60);
  r.kernel("sgemm", 61, 200, 300);
  expect_own_and_ahead(Found(r.take()), UnitSource::deepspeed);
}

TEST(UnitWaits, WithoutSuchRowsAreCounted) {
  TestRank r;
  r.rows().step("ProfilerStep#0", 0, 400 * us);
  r.rows().launch(1, 0, us);
  r.comm(all_gather_kernel, 2 * us, 50 * us, {.name = "_allgather_base"});
  r.comm("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()", 60 * us, 90 * us,
         {.name = "_reduce_scatter_base"});
  const Found f(std::move(r));
  EXPECT_EQ(f.waits.marks.source, UnitSource::none);
  EXPECT_EQ(f.waits.unknown, 1U);
}

// ---- distances ------------------------------------------------------------------------------

ChainUse use_of(std::int64_t compute, std::int64_t transfer, std::int64_t other = 0) {
  return {Ns{compute}, Ns{transfer}, Ns{other}};
}

using Distances = std::vector<Distance>;

TEST(HidingDistance, IsThatOfTheComputeBeforeIt) {
  const std::vector<ChainUse> even = {use_of(10, 9), use_of(10, 9), use_of(10, 9), use_of(10, 9)};
  EXPECT_EQ(hiding_distances(even), (Distances{{}, 1, 1, 1}));
  const std::vector<ChainUse> long_one = {use_of(10, -1), use_of(10, -1), use_of(10, -1),
                                          use_of(10, 25)};
  EXPECT_EQ(hiding_distances(long_one), (Distances{{}, {}, {}, 3}));
}

TEST(HidingDistance, OfMoreTransferThanComputeIsNone) {
  const std::vector<ChainUse> uses(8, use_of(10, 11));
  EXPECT_EQ(hiding_distances(uses), Distances(8));
}

TEST(HidingDistance, CountsWhatElseTheStreamCarries) {
  const std::vector<ChainUse> without = {use_of(10, -1), use_of(10, -1), use_of(10, 10)};
  EXPECT_EQ(hiding_distances(without), (Distances{{}, {}, 1}));
  const std::vector<ChainUse> with = {use_of(10, -1, 5), use_of(10, -1), use_of(10, 10)};
  EXPECT_EQ(hiding_distances(with), (Distances{{}, {}, 2}));  // ahead of the 5
}

TEST(HidingDistance, OfNothingIsNothing) {
  EXPECT_TRUE(hiding_distances({}).empty());
  const std::vector<ChainUse> one = {use_of(10, 1)};
  EXPECT_EQ(hiding_distances(one), Distances(1));
}

}  // namespace
}  // namespace stepscope
