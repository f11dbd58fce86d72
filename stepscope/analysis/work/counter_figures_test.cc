// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/counter_figures.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

KernelFigures figures(const std::vector<std::pair<std::string, double>>& counters,
                      std::optional<Ns> mean_run = std::nullopt) {
  StringPool strings;
  std::vector<KernelCounter> rows;
  for (const auto& [name, mean] : counters) rows.push_back({strings.intern(name), mean, 1});
  return kernel_figures(strings, rows, mean_run);
}

TEST(KernelFigures, ReadsShares) {
  const KernelFigures f =
      figures({{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 62},
               {"dram__throughput.avg.pct_of_peak_sustained_elapsed", 41},
               {"sm__throughput.avg.pct_of_peak_sustained_elapsed", 70},
               {"lts__t_sector_hit_rate.pct", 55},
               {"l1tex__t_sector_hit_rate.pct", 30}});
  EXPECT_DOUBLE_EQ(f.tensor_active.value_or(0), 0.62);
  EXPECT_DOUBLE_EQ(f.dram_share.value_or(0), 0.41);
  EXPECT_DOUBLE_EQ(f.sm_share.value_or(0), 0.70);
  EXPECT_DOUBLE_EQ(f.l2_hit_rate.value_or(0), 0.55);
  EXPECT_DOUBLE_EQ(f.l1_hit_rate.value_or(0), 0.30);
  EXPECT_FALSE(f.dram_read || f.dram_read_rate || f.fp32 || f.tensor_instructions);
}

TEST(KernelFigures, TakesTheBusiestOfTheTensorPipes) {
  const KernelFigures f =
      figures({{"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", 40},
               {"sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active", 0},
               {"sm__inst_executed_pipe_tensor.sum", 4096}});
  EXPECT_DOUBLE_EQ(f.tensor_active.value_or(0), 0.40);
  EXPECT_EQ(f.tensor_instructions, 4096);
}

TEST(KernelFigures, DividesBytesByTheDuration) {
  const std::vector<std::pair<std::string, double>> bytes = {{"dram__bytes_read.sum", 4e6},
                                                             {"dram__bytes_write.sum", 1e6}};
  KernelFigures f = figures(bytes);
  EXPECT_EQ(f.dram_read, Bytes{4'000'000});
  EXPECT_FALSE(f.dram_read_rate);
  f = figures(bytes, Ns{2000});
  EXPECT_DOUBLE_EQ(f.dram_read_rate->value, 2e12);
  EXPECT_DOUBLE_EQ(f.dram_write_rate->value, 5e11);
  auto timed = bytes;
  timed.emplace_back("gpu__time_duration.sum", 4000);
  EXPECT_DOUBLE_EQ(figures(timed, Ns{2000}).dram_read_rate->value, 1e12);
  timed.emplace_back("dram__bytes_read.sum.per_second", 9e11);
  EXPECT_DOUBLE_EQ(figures(timed, Ns{2000}).dram_read_rate->value, 9e11);
}

TEST(KernelFigures, CountsOperationsOfCudaCores) {
  const std::string op = "smsp__sass_thread_inst_executed_op_";
  const KernelFigures f = figures({{op + "fadd_pred_on.sum", 86114304},
                                   {op + "ffma_pred_on.sum", 38731776},
                                   {op + "fmul_pred_on.sum", 24780800},
                                   {op + "dadd_pred_on.sum", 1}});
  EXPECT_DOUBLE_EQ(f.fp32->value, 86114304.0 + 24780800.0 + 2 * 38731776.0);
  EXPECT_FALSE(f.fp64);
}

TEST(KernelFigures, DerivesTheHitRateOfSectors) {
  EXPECT_DOUBLE_EQ(
      *figures({{"lts__t_sectors_lookup_hit.sum", 30}, {"lts__t_sectors_lookup_miss.sum", 10}})
           .l2_hit_rate,
      0.75);
  EXPECT_FALSE(
      figures({{"lts__t_sectors_lookup_hit.sum", 0}, {"lts__t_sectors_lookup_miss.sum", 0}})
          .l2_hit_rate);
  EXPECT_FALSE(figures({{"lts__t_sector_hit_rate.pct", 101}}).any());
  EXPECT_FALSE(figures({}).any());
}

Step step_within(std::int64_t start, std::int64_t end) {
  Step s;
  s.start = Ns{start};
  s.end = Ns{end};
  return s;
}

Trace sampled(const std::vector<std::tuple<std::int64_t, std::string, double>>& samples) {
  Trace trace;
  for (const auto& [time, metric, value] : samples) {
    trace.counters.time.push_back(Ns{time});
    trace.counters.metric.push_back(trace.strings.intern(metric));
    trace.counters.value.push_back(value);
    trace.counters.slice.push_back(no_slice);
  }
  return trace;
}

TEST(CounterSamples, AveragesTheSamplesOfEachStep) {
  const Trace trace = sampled({{50, "Tensor Active [Throughput %]", 99},
                               {100, "Tensor Active [Throughput %]", 20},
                               {150, "Tensor Active [Throughput %]", 40},
                               {150, "GPC Clock Frequency [MHz]", 1.98e9},
                               {150, "Tensor Active / FP16 Active [Throughput %]", 90},
                               {200, "Tensor Active [Throughput %]", 60},
                               {210, "DRAM Read Bandwidth [Throughput %]", 30},
                               {300, "Tensor Active [Throughput %]", 99}});
  const std::vector<Step> steps = {step_within(100, 200), step_within(200, 300)};
  const auto samples = counter_samples(trace, steps);
  ASSERT_TRUE(samples);
  EXPECT_DOUBLE_EQ(samples->steps[0].tensor_active.value_or(0), 0.3);
  EXPECT_EQ(samples->steps[0].samples, 2U);
  EXPECT_DOUBLE_EQ(samples->steps[0].sm_clock_mhz.value_or(0), 1980);
  EXPECT_FALSE(samples->steps[0].dram_read_share);
  EXPECT_DOUBLE_EQ(samples->steps[1].tensor_active.value_or(0), 0.6);
  EXPECT_DOUBLE_EQ(samples->steps[1].dram_read_share.value_or(0), 0.3);
  EXPECT_DOUBLE_EQ(samples->whole.tensor_active.value_or(0), 0.4);
  EXPECT_FALSE(samples->whole.sm_active);
}

TEST(CounterSamples, IsAbsentWithoutAKnownMetricInTheSteps) {
  const std::vector<Step> steps = {step_within(100, 200)};
  EXPECT_FALSE(counter_samples(sampled({{150, "PCIe RX Throughput [Throughput %]", 9}}), steps));
  EXPECT_FALSE(counter_samples(sampled({{50, "SMs Active [Throughput %]", 9}}), steps));
  EXPECT_FALSE(counter_samples(sampled({{150, "SMs Active [Throughput %]", 1e9}}), steps));
}

}  // namespace
}  // namespace stepscope
