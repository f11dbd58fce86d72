// SPDX-License-Identifier: Apache-2.0
// Computes the worked example of docs/explanation/mfu.md. Every line on the page is first printed
// here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/fit/mfu_budget.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t sequence = 2048;
constexpr std::int64_t tokens = 64 * sequence;

MfuRank example_rank() {
  MfuRank rank{.rank = 0, .steps = 1, .budget = {}, .work = {}, .pipeline_receive_wait = {}};
  rank.budget[BudgetCategory::compute] = milliseconds(1020);
  rank.budget[BudgetCategory::comm_overlapped] = milliseconds(160);
  rank.budget[BudgetCategory::comm_exposed_transfer] = milliseconds(120);
  rank.budget[BudgetCategory::comm_exposed_wait] = milliseconds(75);
  rank.budget[BudgetCategory::copy_exposed] = milliseconds(5);
  rank.budget[BudgetCategory::idle_host] = milliseconds(90);
  rank.budget[BudgetCategory::idle_launch] = milliseconds(10);
  rank.budget[BudgetCategory::idle_unexplained] = milliseconds(20);
  rank.work = ComputeWork{.known = {{.dtype = Dtype::bf16,
                                     .flops = Flops{7.12e14},
                                     .busy = milliseconds(960),
                                     .recompute = Flops{4e13}}},
                          .unknown_busy = {},
                          .contention = milliseconds(14)};
  return rank;
}

MfuBudget example() {
  const Transformer llama2_7b = *find_model("llama-2-7b");
  MfuQuestion question{
      .world_size = 8,
      .model = model_flops(llama2_7b, tokens, sequence, FlopsConvention::causal_halved),
      .other_conventions = {},
      .gpu_name = "NVIDIA H100 80GB HBM3",
      .machine = find_machine("NVIDIA H100 80GB HBM3"),
      .peak = {},
      .dtype = {},
      .price_per_gpu_hour = 2.5};
  for (const FlopsConvention c :
       {FlopsConvention::six_n, FlopsConvention::palm, FlopsConvention::torchtitan}) {
    question.other_conventions.push_back(model_flops(llama2_7b, tokens, sequence, c));
  }
  const std::vector<MfuRank> ranks(8, example_rank());
  Result<MfuBudget> budget = mfu_budget(ranks, question);
  EXPECT_TRUE(budget.has_value());
  return budget ? *std::move(budget) : MfuBudget{};
}

std::vector<std::string> lines_of(const MfuBudget& b) {
  std::vector<std::string> lines{
      fmt::format("peak {:.0f} TFLOP/s ({})", b.peak.value / 1e12, b.peak_source),
      fmt::format("model FLOPs a step {:.4g}, executed {:.4g}", b.model_flops_per_step->value,
                  b.executed_flops_per_step->value),
      fmt::format("MFU {:.2f} % ({}), HFU {:.2f} %", 100 * *b.mfu, b.convention, 100 * *b.hfu)};
  for (const ConventionMfu& c : b.conventions) {
    lines.push_back(fmt::format("MFU {:.2f} % ({})", 100 * c.mfu, c.model.convention));
  }
  for (const MfuShare& s : b.terms) {
    if (s.time == Ns{0}) continue;
    lines.push_back(fmt::format("| `{}` | {} | {:.2f} | {:.1f} | {:.0f} |",
                                mfu_term_names[static_cast<std::size_t>(s.term)], s.time.count(),
                                s.percent, s.gpu_hours_per_day, s.money_per_day.value_or(-1)));
  }
  lines.push_back(fmt::format("| sum | {} | 100.00 | 192.0 | 480 |", b.step.count()));
  return lines;
}

TEST(WorkedExample, OfThePageIsWhatTheProgramComputes) {
  std::ifstream file(std::filesystem::path(STEPSCOPE_SOURCE_DIR) / "docs" / "explanation" /
                     "mfu.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(page.empty());
  const std::vector<std::string> lines = lines_of(example());
  ASSERT_GT(lines.size(), 15U);
  for (const std::string& line : lines) {
    EXPECT_NE(page.find(line), std::string::npos) << "docs/explanation/mfu.md lacks: " << line;
  }
}

}  // namespace
}  // namespace stepscope
