// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/explain/operation_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

struct Case {
  Transformer model;
  Machine machine;
  Network network;
  Plan plan;
  std::vector<OperationRow> rows() const {
    const auto context = make_cost_context(model, machine, network, plan);
    EXPECT_TRUE(context);
    return operation_rows(*context, plan);
  }
};

Case gpt3(std::int64_t tp) {
  Case c{.model = *find_model("gpt3-175b"),
         .machine = *machine_named("a100_sxm_80gb"),
         .network = {},
         .plan = {}};
  c.network = *make_network(c.machine);
  c.plan.devices = c.plan.tp = tp;
  c.plan.batch.global = 1;
  c.plan.kernels.vocabulary_multiple = 1;
  return c;
}

TEST(OperationRows, HoldEveryParameterOfTheModel) {
  const Case c = gpt3(1);
  double parameters = 0;
  for (const OperationRow& row : c.rows())
    parameters += row.operation.parameters * static_cast<double>(row.count);
  EXPECT_NEAR(parameters / static_cast<double>(parameter_count(c.model).total), 1.0, 1e-9);
}

TEST(OperationRows, RunFromTheEmbeddingToTheHead) {
  const auto rows = gpt3(1).rows();
  EXPECT_EQ(rows.front().part, "embedding");
  EXPECT_EQ(rows.back().part, "head");
  const auto qkv = std::ranges::find(rows, std::string_view("layer"), &OperationRow::part);
  ASSERT_NE(qkv, rows.end());
  EXPECT_EQ(qkv->count, 96);
}

TEST(OperationRows, TakeTimeAndCommunicateWhereTheyAreSplit) {
  for (const OperationRow& row : gpt3(1).rows()) {
    EXPECT_GT(row.forward + row.backward, 0) << row.operation.name;
    EXPECT_EQ(row.communication_forward, 0) << row.operation.name;
  }
  double sent = 0;
  double time = 0;
  for (const OperationRow& row : gpt3(8).rows()) {
    sent += communicated_bytes(row.operation.forward);
    time += row.communication_forward;
  }
  EXPECT_GT(sent, 0);
  EXPECT_GT(time, sent / 600e9);
}

// Nemotron-H: layers of Mamba-2, of a feed-forward part, and of attention, each with one norm.
TEST(LayerTables, ArePartsOfALayerByTheirNames) {
  Case c = gpt3(1);
  c.model = *find_model("nemotron-3-nano-4b");
  const auto context = make_cost_context(c.model, c.machine, c.network, c.plan);
  ASSERT_TRUE(context);
  const auto tables = layer_tables(*context, c.plan, *find_layer_conventions("notebook"));
  ASSERT_EQ(tables.size(), 3U);
  std::vector<std::string> names;
  for (const LayerTable& t : tables) {
    names.push_back(t.name.substr(0, t.name.find(' ')));
    EXPECT_GT(t.rows.size(), 2U) << t.name;
    EXPECT_EQ(t.rows.front().name,
              names.back() == "feed_forward" ? "feed_forward_norm" : "attention_norm");
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"attention", "feed_forward", "mamba"}));
}

}  // namespace
}  // namespace stepscope
