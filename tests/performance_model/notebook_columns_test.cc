// SPDX-License-Identifier: Apache-2.0
// `predict --csv` has every column of the notebook's tables (docs/reference/notebook.md), and equal
// figures in columns that no counting convention changes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stepscope/cost/layer/notebook_test_tables.h"
#include "tests/program/program.h"

namespace stepscope {
namespace {

using notebook_test::PrintedRow;
using Row = std::map<std::string, std::string>;

constexpr std::string_view model = R"({
  "name": "gpt3", "source": "the notebook", "layers": 96, "hidden": 12288, "heads": 96,
  "head_size": 128, "feed_forward": 49152, "max_positions": 2048, "qkv_bias": false,
  "vocabulary": 51200, "dropout": 0.1, "activation_dropout": 0.1})";
constexpr std::string_view machine = R"({
  "name": "notebook", "peak_tflops": {"fp16": 312}, "vector_tflops": {"fp16": 78},
  "memory_gb": 4000, "memory_gb_per_s": 1555,
  "scale_up": {"name": "nvlink", "gb_per_s_per_direction": 600, "domain": 4, "topology": "switch"},
  "sources": ["the notebook"]})";

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) all.emplace_back();
    if (c != '"' && (c != ',' || quoted) && c != '\r') all.back() += c;
  }
  return all;
}

// The rows of layers.csv by the operation's name.
const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> table = [] {
    const program::ScratchFolder folder;
    std::ofstream(folder.file("model.json")) << model;
    std::ofstream(folder.file("machine.json")) << machine;
    const auto run = program::run(
        {"predict", folder.file("model.json"), "--machine", folder.file("machine.json"), "--gpus",
         "4", "--tp", "4", "--sequence-parallel", "--global-batch", "1", "--attention",
         "materialised", "--dtype", "fp16", "--layers", "--csv", folder.file("tables")});
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    std::ifstream in(folder.file("tables") + "/layers.csv");
    std::map<std::string, Row> found;
    std::string line;
    std::getline(in, line);
    const std::vector<std::string> header = cells(line);
    while (std::getline(in, line)) {
      const std::vector<std::string> values = cells(line);
      EXPECT_EQ(values.size(), header.size()) << line;
      Row row;
      for (std::size_t i = 0; i < header.size() && i < values.size(); ++i)
        row[header[i]] = values[i];
      if (row["part"] == "layer") found[row["name"]] = row;
    }
    return found;
  }();
  return table;
}

std::vector<PrintedRow> printed() {
  std::vector<PrintedRow> all(notebook_test::mlp.begin(), notebook_test::mlp.end());
  all.insert(all.end(), notebook_test::self_attention.begin(), notebook_test::self_attention.end());
  return all;
}

// The notebook's column, and predict's columns with the same content; derived times and shares are
// given.
TEST(NotebookColumns, AreAllInTheTableOfLayers) {
  const std::map<std::string, std::vector<std::string>> columns{
      {"layer", {"name"}},
      {"flops_fwd", {"flops_fwd", "vector_flops_fwd"}},
      {"activation_in_mem", {"input_fwd_bytes"}},
      {"activation_in_other_mem", {"other_fwd_bytes"}},
      {"activation_out_mem", {"output_fwd_bytes"}},
      {"activation_buffer", {"kept_bytes"}},
      {"weights_mem", {"weight_bytes"}},
      {"total_mem_fwd", {"mem_fwd_bytes"}},
      {"flops_bwd", {"flops_bwd", "vector_flops_bwd"}},
      {"activation_grad_mem", {"gradient_bytes"}},
      {"weights_grad_mem", {"weight_gradient_bytes"}},
      {"total_mem_bwd", {"mem_bwd_bytes"}},
      {"comm_bwd", {"comm_bwd_bytes"}},
      {"comm_bwd_type", {"comm_bwd"}},
      {"comm_size", {"comm_group"}},
      {"comm_fwd", {"comm_fwd_bytes"}},
      {"comm_fwd_type", {"comm_fwd"}},
      {"t_comp_fwd", {"t_compute_fwd_ns"}},
      {"t_mem_fwd", {"t_memory_fwd_ns"}},
      {"t_comp_bwd", {"t_compute_bwd_ns"}},
      {"t_mem_bwd", {"t_memory_bwd_ns"}},
      {"intensity", {"intensity"}},
      {"t_fwd", {"t_fwd_ns"}},
      {"t_bwd", {"t_bwd_ns"}},
      {"comm_topology", {"comm_tier_fwd", "comm_tier_bwd"}},
      {"t_comm_fwd", {"t_comm_fwd_ns"}},
      {"t_comm_bwd", {"t_comm_bwd_ns"}},
      {"t_total_fwd", {"t_total_fwd_ns"}},
      {"t_total_bwd", {"t_total_bwd_ns"}},
      {"frac_t_comm_fwd", {"comm_share_fwd"}},
      {"frac_t_comm_bwd", {"comm_share_bwd"}}};
  EXPECT_EQ(columns.size(), 31U);
  ASSERT_FALSE(rows().empty());
  std::ifstream page(STEPSCOPE_SOURCE_DIR "/docs/reference/notebook.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (const auto& [theirs, ours] : columns) {
    EXPECT_NE(text.find("`" + theirs + "`"), std::string::npos) << theirs;
    for (const std::string& column : ours) {
      EXPECT_TRUE(rows().begin()->second.contains(column)) << column << " for " << theirs;
      EXPECT_NE(text.find("`" + column + "`"), std::string::npos) << column;
    }
  }
}

std::string printed_name(std::string_view kind) {
  if (kind == "allgather") return "all_gather";
  return kind == "reducescatter" ? "reduce_scatter" : std::string(kind);
}

TEST(NotebookColumns, HoldTheNotebooksFiguresWhereNoConventionChangesThem) {
  struct Column {
    std::string_view ours;
    double PrintedRow::* theirs;
    double unit;
  };
  const std::vector<Column> same{{"input_fwd_bytes", &PrintedRow::activation_in_mem, 1e9},
                                 {"output_fwd_bytes", &PrintedRow::activation_out_mem, 1e9},
                                 {"other_fwd_bytes", &PrintedRow::activation_in_other_mem, 1e9},
                                 {"weight_gradient_bytes", &PrintedRow::weights_grad_mem, 1e9}};
  int compared = 0;
  for (const PrintedRow& theirs : printed()) {
    const auto at = rows().find(std::string(notebook_test::our_name(theirs.layer)));
    ASSERT_NE(at, rows().end()) << theirs.layer;
    const Row& ours = at->second;
    for (const Column& c : same) {
      const double expected = theirs.*c.theirs * c.unit;
      const double got = std::stod(ours.at(std::string(c.ours)));
      // The notebook leaves out the means and variances of a norm.
      const double statistics = theirs.layer.starts_with("layer_norm") ? 8.0 * 512 : 0;
      EXPECT_NEAR(got, expected, 1e-9 * expected + statistics) << theirs.layer << " " << c.ours;
      ++compared;
    }
    // Here GPT-3 has biases except in qkv_proj; the notebook also counts them in the weights.
    EXPECT_NEAR(std::stod(ours.at("weight_bytes")), theirs.weights_mem * 1e9,
                1e-9 * theirs.weights_mem * 1e9)
        << theirs.layer;
    ++compared;
    const double total = std::stod(ours.at("t_total_fwd_ns"));
    EXPECT_NEAR(total, std::stod(ours.at("t_fwd_ns")) + std::stod(ours.at("t_comm_fwd_ns")),
                1e-9 * total);
    EXPECT_NEAR(std::stod(ours.at("comm_share_fwd")) * total, std::stod(ours.at("t_comm_fwd_ns")),
                1e-9 * total);
    const double flops = std::stod(ours.at("flops_fwd"));
    const double vector = std::stod(ours.at("vector_flops_fwd"));
    EXPECT_NEAR(std::stod(ours.at("t_compute_fwd_ns")), flops / 312e3 + vector / 78e3, 1e-6)
        << theirs.layer;
    EXPECT_NEAR(std::stod(ours.at("t_memory_bwd_ns")),
                std::stod(ours.at("mem_bwd_bytes")) / 1555 * 1.0, 1e-3)
        << theirs.layer;
    // Our collective is at the operation that reads its result; the notebook's may be at the
    // writer.
    const bool same_place = !theirs.comm_fwd_type.empty() && !ours.at("comm_fwd").empty();
    if (!same_place) continue;
    EXPECT_EQ(ours.at("comm_fwd"), printed_name(theirs.comm_fwd_type)) << theirs.layer;
    EXPECT_EQ(std::stod(ours.at("comm_group")), theirs.comm_size) << theirs.layer;
    EXPECT_EQ(ours.at("comm_tier_fwd"), "domain");
    EXPECT_NEAR(std::stod(ours.at("comm_fwd_bytes")), theirs.comm_fwd * 1e9, 1);
    compared += 4;
  }
  EXPECT_GE(compared, 14 * 5 + 2 * 4);
}

}  // namespace
}  // namespace stepscope
