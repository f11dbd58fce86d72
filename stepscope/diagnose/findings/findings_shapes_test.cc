// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "stepscope/analysis/runs/job_test_builder.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

const Finding* find(const std::vector<Finding>& findings, std::string_view id) {
  const auto at = std::ranges::find(findings, id, &Finding::id);
  return at == findings.end() ? nullptr : &*at;
}

// Two ranks and three steps of a product and an all-reduce; the host waits for the device at the
// end of each.
struct Plan {
  std::vector<std::vector<std::int64_t>> tokens;  // by rank and step
  std::vector<double> us_per_token;               // by rank
  bool same_time = false;                         // whatever the tokens: 1500 µs
  bool shapes = true;                             // are recorded
};

std::vector<TestRank> ranks_of(const Plan& plan) {
  std::vector<TestRank> ranks(plan.tokens.size());
  std::int64_t begin = 0;
  std::uint32_t correlation = 0;
  for (std::size_t s = 0; s < plan.tokens.front().size(); ++s) {
    std::vector<std::int64_t> ready;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const auto time =
          static_cast<std::int64_t>(static_cast<double>(plan.tokens[r][s]) * plan.us_per_token[r]) *
          us;
      ready.push_back(begin + 20 * us + (plan.same_time ? 1500 * us : time));
    }
    const std::int64_t end = *std::ranges::max_element(ready) + 100 * us;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      TraceBuilder& rows = ranks[r].rows();
      rows.step("ProfilerStep#" + std::to_string(s), begin, end + 4 * us);
      ranks[r].op_with_inputs(
          Category::cpu_op, "aten::mm", begin + us, begin + 8 * us,
          plan.shapes ? "[[" + std::to_string(plan.tokens[r][s]) + ", 64], [64, 32]]" : "",
          plan.shapes ? R"(["c10::BFloat16", "c10::BFloat16"])" : "");
      rows.launch(++correlation, begin + 2 * us, begin + 3 * us);
      rows.kernel("gemm", begin + 20 * us, ready[r], correlation);
      rows.launch(++correlation, begin + 10 * us, begin + 11 * us);
      ranks[r].annotate(ranks[r].comm(all_reduce_kernel, ready[r], end, correlation),
                        {.name = "allreduce", .seq = static_cast<std::int64_t>(s)});
      rows.row(rows.thread(1), Category::runtime, "cudaDeviceSynchronize", begin + 15 * us,
               end + 2 * us);
    }
    begin = end + 10 * us;
  }
  return ranks;
}

class Job {
 public:
  explicit Job(std::vector<TestRank> ranks) {
    std::vector<RankInput> inputs;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].built().metadata.world_size = static_cast<int>(ranks.size());
      Trace& trace = traces_.emplace_back(ranks[r].rows().sealed());
      inputs.push_back({static_cast<int>(r), &trace});
    }
    result_ = analyze_job(inputs);
    findings_ = find_findings({.job = result_});
  }
  [[nodiscard]] const Finding* finding(std::string_view id) const { return find(findings_, id); }
  [[nodiscard]] const JobResult& result() const { return result_; }

 private:
  std::deque<Trace> traces_;
  JobResult result_;
  std::vector<Finding> findings_;
};

TEST(SequenceImbalance, IsWorkThatDiffersAndComputeThatFollows) {
  // The first step does not count.
  const Job job(ranks_of(
      {.tokens = {{2000, 1000, 2000, 1000}, {1000, 2000, 1000, 2000}}, .us_per_token = {1, 1}}));
  const Finding* f = job.finding("sequence_imbalance");
  ASSERT_NE(f, nullptr);
  ASSERT_TRUE(f->gain);
  EXPECT_EQ(*f->gain, Ns{500 * us});  // 1500 each instead of 1000 and 2000
  EXPECT_EQ(f->change, "ranks_balanced");
  ASSERT_EQ(f->evidence.size(), 2U);
  EXPECT_EQ(say(f->evidence[0]),
            "the rank with most has 66.7 % more FLOPs in a step than the one with least (of the "
            "mean, over 2 ranks); compute follows it with a correlation of 1.00");
  EXPECT_EQ(say(f->evidence[1]),
            "mean rows (tokens) a call through the 64 × 32 weights: 1333 on rank 0, 1667 on rank "
            "1");
}

TEST(SequenceImbalance, IsNotASlowRank) {
  const Job job(
      ranks_of({.tokens = {{1000, 1000, 1000}, {1000, 1000, 1000}}, .us_per_token = {1, 2}}));
  EXPECT_EQ(job.finding("sequence_imbalance"), nullptr);
}

TEST(UnevenCompute, IsNamedWithoutShapes) {
  Plan plan{.tokens = {{2000, 1000, 2000, 1000, 2000}, {1000, 2000, 1000, 2000, 1000}},
            .us_per_token = {1, 1},
            .shapes = false};
  const Job job(ranks_of(plan));
  const Finding* f = job.finding("uneven_compute");
  ASSERT_NE(f, nullptr);
  ASSERT_TRUE(f->gain);
  EXPECT_EQ(*f->gain, Ns{500 * us});
  EXPECT_TRUE(say(f->advice).starts_with("Record the shapes")) << say(f->advice);
  EXPECT_EQ(job.finding("sequence_imbalance"), nullptr);

  plan.shapes = true;
  const Job known(ranks_of(plan));
  EXPECT_EQ(known.finding("uneven_compute"), nullptr);
  EXPECT_NE(known.finding("sequence_imbalance"), nullptr);
}

TEST(SlowRank, HasMoreWorkIfTheShapesSayIt) {
  const Job more(ranks_of(
      {.tokens = {{1000, 1000, 1000, 1000}, {2000, 2000, 2000, 2000}}, .us_per_token = {1, 1}}));
  const Finding* f = more.finding("slow_rank");
  ASSERT_NE(f, nullptr);
  EXPECT_TRUE(say(f->what).starts_with("Rank 1 is given 2.00 × the work of its peers"))
      << say(f->what);
  EXPECT_TRUE(say(f->advice).starts_with("Give all ranks equal work")) << say(f->advice);

  const Job equal(ranks_of(
      {.tokens = {{1000, 1000, 1000, 1000}, {1000, 1000, 1000, 1000}}, .us_per_token = {1, 2}}));
  f = equal.finding("slow_rank");
  ASSERT_NE(f, nullptr);
  EXPECT_TRUE(say(f->what).starts_with("Kernels of rank 1 take 2.00 ×")) << say(f->what);
  EXPECT_EQ(say(f->advice).find("balance the batch"), std::string::npos) << say(f->advice);
  EXPECT_EQ(say(f->evidence.front()),
            "by the recorded shapes, the work (FLOPs) is 1.00 × that of the peers");
}

TEST(SequenceImbalance, IsNotWorkThatCostsNoTime) {
  const Job job(ranks_of({.tokens = {{1000, 2000, 1000}, {2000, 1000, 2000}},
                          .us_per_token = {1, 1},
                          .same_time = true}));
  EXPECT_EQ(job.finding("sequence_imbalance"), nullptr);
}

TEST(SequenceImbalance, IsNotTheSameWorkInOtherSteps) {
  const Job job(
      ranks_of({.tokens = {{1000, 2000, 1000}, {1000, 2000, 1000}}, .us_per_token = {1, 1.02}}));
  EXPECT_EQ(job.finding("sequence_imbalance"), nullptr);
}

// One rank: products [m, k] · [k, n] in bf16, each `times` as long as 100 GFLOP/s takes.
struct TimedProduct {
  std::int64_t m, k, n;
  double times = 1;
  std::string_view type = "c10::BFloat16";
};

Job job_of(const std::vector<TimedProduct>& products) {
  std::vector<TestRank> ranks(1);
  TraceBuilder& rows = ranks[0].rows();
  std::int64_t host = 10;
  std::int64_t at = 1000;  // all are launched by then
  std::uint32_t correlation = 0;
  for (const TimedProduct& p : products) {
    const auto time =
        static_cast<std::int64_t>(2.0 * static_cast<double>(p.m * p.k * p.n) / 100 * p.times);
    const std::string type(p.type);
    ranks[0].op_with_inputs(Category::cpu_op, "aten::mm", host, host + 4,
                            "[[" + std::to_string(p.m) + ", " + std::to_string(p.k) + "], [" +
                                std::to_string(p.k) + ", " + std::to_string(p.n) + "]]",
                            "[\"" + type + "\", \"" + type + "\"]");
    rows.launch(++correlation, host + 1, host + 2);
    rows.kernel("gemm", at, at + time, correlation);
    host += 5;
    at += time;
  }
  rows.step("ProfilerStep#1", 0, at);
  return Job(std::move(ranks));
}

TEST(Padding, IsAnOddDimensionThatRunsSlowerThanAlignedProducts) {
  const Job job = job_of({{512, 256, 1024}, {512, 256, 1001, 2}});
  const Finding* f = job.finding("padding");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(
      say(f->what),
      "Matrix products have dimensions that do not fill the tensor cores (1001 is no multiple "
      "of 8)");
  EXPECT_EQ(say(f->evidence.at(0)),
            "aten::mm [[512, 256], [256, 1001]] runs at 0.05 TFLOP/s; aligned products of that "
            "format and size at 0.10");
  EXPECT_EQ(say(f->evidence.at(1)), "filled up to 1024 it has 2.3 % more FLOPs");
  ASSERT_TRUE(f->gain);
  const double flops = 2.0 * 512 * 256 * 1001;
  const double saved = flops / 100 * 2 - 2.0 * 512 * 256 * 1024 / 100;
  EXPECT_NEAR(static_cast<double>(f->gain->count()) / saved, 1, 0.01);
}

TEST(Padding, NamesTheSizeOfTheModelThatIsOdd) {
  const Job job = job_of({{512, 256, 1024}, {512, 256, 1001, 2}});
  Transformer model;
  model.feed_forward = 1024;
  model.vocabulary = 1001;
  const auto padding = [&] {
    const auto findings = find_findings({.job = job.result(), .model = &model});
    const auto f = std::ranges::find(findings, "padding", &Finding::id);
    return f == findings.end() ? Finding{} : *f;
  };
  EXPECT_NE(say(padding().what).find("(the vocabulary 1001 is no multiple of 8)"),
            std::string::npos);
  EXPECT_EQ(say(padding().advice),
            "Pad the vocabulary to 1024 (pad_vocab_size_to_multiple_of, "
            "make-vocab-size-divisible-by)");
  std::swap(model.vocabulary, model.feed_forward);
  EXPECT_EQ(say(padding().advice), "Choose a feed-forward size of 1024");
  model.feed_forward = 4096;
  EXPECT_NE(say(padding().what).find("(1001 is no multiple of 8)"), std::string::npos);
}

TEST(Padding, IsNotAnOddDimensionThatRunsAsFast) {
  EXPECT_EQ(job_of({{512, 256, 1024}, {512, 256, 1001, 1.1}}).finding("padding"), nullptr);
}

TEST(Padding, IsNotAnAlignedProductThatRunsSlower) {
  EXPECT_EQ(job_of({{512, 256, 1024}, {512, 256, 1000, 2}}).finding("padding"), nullptr);
}

TEST(Padding, NeedsAnAlignedProductOfThatSizeAndFormat) {
  EXPECT_EQ(job_of({{512, 256, 1001, 2}}).finding("padding"), nullptr);
  EXPECT_EQ(job_of({{64, 64, 64}, {512, 256, 1001, 2}}).finding("padding"), nullptr);
  EXPECT_EQ(job_of({{512, 256, 1024, 1, "float"}, {512, 256, 1001, 2}}).finding("padding"),
            nullptr);
}

}  // namespace
}  // namespace stepscope
