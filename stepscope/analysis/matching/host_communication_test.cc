// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/host_communication.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

// When the operators of the calls began, in the order of the calls.
std::vector<std::int64_t> asked(GlooRank rank) {
  std::vector<GlooRank> ranks;
  ranks.push_back(std::move(rank));
  const TestJob job = gloo_job(std::move(ranks));
  const RankView& view = job.views()[0];
  std::vector<std::int64_t> instants;
  for (const CollectiveCall& call : find_collective_calls(view).calls)
    instants.push_back(view.trace->slices.start[index(call.launch)].count());
  return instants;
}

TEST(HostAskers, WorkersThatBeginInAnotherOrderAreToldBySize) {
  GlooRank rank;
  rank.call({.elements = 8, .asked = 10, .worker = 2, .start = 40, .end = 90});
  rank.call({.elements = 16, .asked = 20, .worker = 3, .start = 35, .end = 80});
  EXPECT_EQ(asked(std::move(rank)), (std::vector<std::int64_t>{20, 10}));
}

TEST(HostAskers, WithoutShapesTheOrderTells) {
  GlooRank rank;
  rank.call({.elements = 0, .asked = 10, .worker = 2, .start = 40, .end = 90});
  rank.call({.elements = 0, .asked = 20, .worker = 3, .start = 35, .end = 80});
  EXPECT_EQ(asked(std::move(rank)), (std::vector<std::int64_t>{10, 20}));
}

TEST(HostAskers, AnAllReduceMayHaveBeenAskedForAsAReduceScatter) {
  GlooRank rank;
  rank.call({.op = "_reduce_scatter_base_", .elements = 16, .asked = 10, .start = 15, .end = 30});
  rank.call({.elements = 8, .asked = 20, .worker = 3, .start = 25, .end = 50});
  EXPECT_EQ(asked(std::move(rank)), (std::vector<std::int64_t>{10, 20}));
}

TEST(HostAskers, ARowWhoseOperatorIsNotRecordedStandsForItself) {
  GlooRank rank;
  rank.rows().row(rank.rows().thread(2), Category::user_annotation, "gloo:all_reduce", 5, 30);
  rank.call({.asked = 20, .worker = 3, .start = 25, .end = 50});
  EXPECT_EQ(asked(std::move(rank)), (std::vector<std::int64_t>{5, 20}));
}

}  // namespace

}  // namespace stepscope
