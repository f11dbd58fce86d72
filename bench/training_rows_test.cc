// SPDX-License-Identifier: Apache-2.0
#include "training_rows.h"

#include <gtest/gtest.h>

#include "accuracy_score.h"
#include "training_model.h"
#include "training_setup.h"

namespace stepscope::bench {
namespace {

constexpr std::string_view header =
    "id,source,framework,family,model,layers,hidden,heads,kv_heads,ffn,vocab,seq_len,gpu,n_gpus,"
    "gpus_per_node,interconnect,tp,pp,vpp,dp,zero_or_fsdp,micro_batch,global_batch,precision,"
    "recompute,offload,step_time_s,tokens_per_s_per_gpu,peak_mem_GB,unknowns,notes\n";
constexpr std::string_view megatron =
    "a,S,Megatron-DeepSpeed,gpt,GPT,48,8192,64,64,32768,50257,2048,A100-80GB-SXM,128,8,"
    "800 Gbps/node IB,8,2,1,8,,4,512,fp16,full,,10.5,,70,,\n";

TrainingRows rows_of(const std::string& text) {
  const auto table = parse_csv(std::string(header) + text, "f.csv");
  EXPECT_TRUE(table) << table.error().message();
  const auto rows = training_rows(*table);
  EXPECT_TRUE(rows);
  return *rows;
}

std::string with(std::string_view from, std::string_view to, std::string_view row = megatron) {
  std::string text(row);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string reason(const std::string& row) {
  const TrainingRows rows = rows_of(row);
  EXPECT_TRUE(rows.rows.empty());
  return rows.left_out.empty() ? "" : rows.left_out.begin()->first;
}

TEST(TrainingRows, TakeWhatARowSaysAndTheFrameworksHabits) {
  const TrainingRows rows = rows_of(std::string(megatron));
  ASSERT_EQ(rows.rows.size(), 1U);
  const TrainingRow& row = rows.rows[0];
  EXPECT_EQ(row.plan.tp, 8);
  EXPECT_EQ(row.plan.pp, 2);
  EXPECT_EQ(micro_batches(row.plan), 16);
  EXPECT_EQ(row.plan.memory.recompute, Recompute::full);
  EXPECT_EQ(row.plan.precision.matmul, Dtype::fp16);
  EXPECT_FALSE(row.plan.kernels.fused_attention);
  EXPECT_FALSE(row.plan.overlap.gradient_reduce);
  EXPECT_EQ(row.model.dropout, 0.1);
  EXPECT_EQ(row.step, 10.5);
  EXPECT_EQ(row.peak_memory, 70e9);
  EXPECT_TRUE(row.several_nodes);
  EXPECT_EQ(rows.systems[row.system].catalogue->name, "A100-80GB SXM");
  EXPECT_DOUBLE_EQ(rows.systems[row.system].network.out->value, 100e9 / 8);
}

TEST(TrainingRows, DeriveTheStepFromTokensASecond) {
  const TrainingRows rows = rows_of(with(",10.5,,70", ",,1000,70"));
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows.rows[0].step, 512.0 * 2048 / (1000.0 * 128));
}

TEST(TrainingRows, FollowTheRowBeforeTheHabit) {
  const TrainingRows rows = rows_of(with(",8,,4,512", ",8,ZeRO-1 over groups of 4,4,512"));
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(rows.rows[0].plan.zero, 1);
  EXPECT_EQ(rows.rows[0].plan.shard_group, 4);
}

TEST(TrainingRows, SplitLayersUnevenlyWithTheEndsLighter) {
  const TrainingRows rows = rows_of(with("GPT,48,", "GPT,46,"));
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_TRUE(rows.rows[0].plan.pipeline.stage_layers.empty());
  const TrainingRows odd = rows_of(with("8,2,1,8,,4", "4,4,1,8,,4", with("GPT,48,", "GPT,46,")));
  ASSERT_EQ(odd.rows.size(), 1U);
  EXPECT_EQ(odd.rows[0].plan.pipeline.stage_layers, (std::vector<std::int64_t>{11, 12, 12, 11}));
}

TEST(TrainingRows, AskForTheMicroBatchWhereNobodyGaveIt) {
  const TrainingRows rows = rows_of(with(",8,,4,512", ",8,,,512"));
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_TRUE(rows.rows[0].searches_micro_batch);
}

// Without recomputation, 48 layers of 8192 over 16 devices keep more than 80 GB in micro-batches of
// 4, and less in micro-batches of 1. One run that would not fit means that the other runs
// recomputed too.
TEST(TrainingRows, RecomputeAConfigurationSaysOnlyWhereARunWouldNotFitWithout) {
  const std::string note = "use_checkpoint=true is from the shipped config";
  const std::string stated(megatron);
  const std::string large = with(",70,,\n", ",,," + note + "\n");
  const std::string small = with(",8,,4,512", ",8,,1,512", large);
  const auto decided = [](const std::string& text) {
    TrainingRows rows = rows_of(text);
    decide_recompute(rows);
    std::vector<Recompute> how;
    for (const TrainingRow& row : rows.rows) how.push_back(row.plan.memory.recompute);
    return how;
  };
  const auto full = Recompute::full;
  EXPECT_EQ(decided(small), (std::vector{Recompute::none}));
  EXPECT_EQ(decided(large), (std::vector{full}));
  EXPECT_EQ(decided(small + large), (std::vector{full, full}));
  EXPECT_EQ(decided(with(",8,,4,512", ",8,,1,512")), (std::vector{full}));
}

TEST(TrainingRows, SayWhyARowCannotBeExpressed) {
  EXPECT_EQ(reason(with("GPT,48,", "GPT,,")), "S: sizes of the model are not published");
  EXPECT_EQ(reason(with("A100-80GB-SXM", "Abacus")), "S: no machine for \"Abacus\"");
  EXPECT_EQ(reason(with(",8,2,1,8,", ",8,2,1,9,")), "S: degrees do not multiply to the devices");
  EXPECT_EQ(reason(with(",10.5,,", ",,,")), "S: neither step time nor a rate is published");
  EXPECT_EQ(reason(with(",full,,", ",full,cpu,")),
            "S: offload: what of it, and over which link, is not published");
  EXPECT_EQ(reason(with(",full,", ",custom,")), "S: recomputation \"custom\" is not modelled");
  EXPECT_EQ(reason(with(",48,8192,64", ",48,8192,7")), "S: heads do not divide the hidden size");
}

TEST(TrainingRows, SurviveNumbersThatAreNone) {
  for (const std::string_view bad : {"-1", "nan", "1e300", "0", "x", "0.5", "99999999999999999"}) {
    for (const std::string_view field : {",48,8192", ",2048,A100", ",128,8,", ",4,512,"}) {
      const std::size_t comma = field.find(',', 1);
      std::string to(1, ',');
      to.append(bad).append(field.substr(comma));
      EXPECT_LE(rows_of(with(field, to)).rows.size(), 1U) << bad << field;
    }
  }
}

TEST(StatedNetwork, ReadsPortsAndRatesOfANodeOrAGpu) {
  EXPECT_DOUBLE_EQ(*stated_network("NVSwitch + 800 Gbps/node IB (4x HDR) per config", 8), 12.5e9);
  EXPECT_DOUBLE_EQ(*stated_network("8x200 Gbps HDR per node", 8), 25e9);
  EXPECT_DOUBLE_EQ(*stated_network("4x100 Gb RoCE per node", 8), 6.25e9);
  EXPECT_DOUBLE_EQ(*stated_network("NVLink + 4 OmniPath links/node", 8), 6.25e9);
  EXPECT_DOUBLE_EQ(*stated_network("NVLink + 400 Gb/s RDMA per GPU", 8), 50e9);
  EXPECT_FALSE(stated_network("DGX-GB300 (NVL72)", 4));
  EXPECT_FALSE(stated_network("A100 40GB", 8));
}

TEST(AccuracyScore, FindsBiasRankAndTheRegretOfThePick) {
  const auto run = [](std::string_view micro_batch, std::string_view step) {
    return with(",8,,4,512", micro_batch, with("10.5", step));
  };
  const TrainingRows rows = rows_of(run(",8,,4,512", "10.5") + run(",8,,2,512", "12") +
                                    run(",8,,1,512", "15") + run(",8,,2,512", "14"));
  ASSERT_EQ(rows.rows.size(), 4U);
  const Score s = score(rows, {0, 1, 2, 3}, {10.5 * 1.1, 11, 16.5, 11});
  EXPECT_EQ(s.count, 4U);
  EXPECT_NEAR(s.mape, (0.1 + 1.0 / 12 + 0.1 + 3.0 / 14) / 4, 1e-12);
  EXPECT_NEAR(s.bias, (0.1 - 1.0 / 12 + 0.1 - 3.0 / 14) / 4, 1e-12);
  ASSERT_TRUE(s.regret && s.rank);
  EXPECT_NEAR(*s.regret, 13 / 10.5 - 1, 1e-12);  // two runs of one plan count with their mean
  EXPECT_NEAR(*s.rank, 0.5, 1e-12);
}

}  // namespace
}  // namespace stepscope::bench
