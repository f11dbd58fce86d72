// SPDX-License-Identifier: Apache-2.0
// `predict --layers --conventions notebook` on the files of examples/notebook prints both tables of
// the notebook: all 434 cells and 20 sums, in JSON, in CSV and on the terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stepscope/cost/layer/notebook_test_tables.h"
#include "tests/program/program.h"

namespace stepscope {
namespace {

using notebook_test::PrintedRow;
using notebook_test::PrintedSums;
using Json = nlohmann::json;

std::vector<std::string> command(const std::vector<std::string>& more,
                                 const std::string& conventions = "notebook") {
  const std::string files = STEPSCOPE_SOURCE_DIR "/examples/notebook/";
  std::vector<std::string> words{
      "predict",  files + "model.json", "--machine", files + "machine.json",
      "--plan",   files + "plan.json",  "--layers",  "--conventions",
      conventions};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json tables_of(const std::vector<std::string>& more = {},
               const std::string& conventions = "notebook") {
  std::vector<std::string> words = command({"--json", "-"}, conventions);
  words.insert(words.end(), more.begin(), more.end());
  const auto run = program::run(words);
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  return Json::parse(run.printed)["layer_tables"];
}

// `nvlink_size` is 4 and `ib_bandwidth` 100 GB/s: a group of 8 uses the network. Without
// communication the tables of 8 devices are those of any domain.
TEST(NotebookRun, AGroupBeyondTheDomainHasTheRateOfTheNetwork) {
  const Json near =
      tables_of({"--gpus", "8", "--tp", "8", "--sequence-degree", "8", "--gpus-per-node", "8"});
  const Json far = tables_of({"--gpus", "8", "--tp", "8", "--sequence-degree", "8"});
  int rows = 0;
  for (std::size_t t = 0; t < far.size(); ++t)
    for (std::size_t i = 0; i < far[t]["rows"].size(); ++i) {
      const Json& there = far[t]["rows"][i];
      const Json& here = near[t]["rows"][i];
      if (there["comm_group"].is_null()) {
        EXPECT_EQ(there, here);
        continue;
      }
      ++rows;
      for (const std::string pass : {"fwd", "bwd"}) {
        const bool sends = !there["comm_" + pass].is_null();
        EXPECT_EQ(there["comm_tier_" + pass], sends ? Json("network") : Json());
        EXPECT_EQ(here["comm_tier_" + pass], sends ? Json("domain") : Json());
        const double time = there["t_comm_" + pass + "_ns"];
        const Json& bytes = there["comm_" + pass + "_bytes"];
        EXPECT_NEAR(time, bytes.is_null() ? 0 : bytes.get<double>() / 100, 1e-6 * time);
        EXPECT_NEAR(time, 6 * here["t_comm_" + pass + "_ns"].get<double>(), 1e-6 * time);
        EXPECT_NEAR(there["t_total_" + pass + "_ns"].get<double>(),
                    there["t_" + pass + "_ns"].get<double>() + time, 1e-3);
      }
    }
  EXPECT_EQ(rows, 8);
  const Json& sum = far[0]["sum"];
  EXPECT_NEAR(sum["t_comm_fwd_ns"].get<double>(), 6 * near[0]["sum"]["t_comm_fwd_ns"].get<double>(),
              1);
}

struct NumberCell {
  const char* key;
  double PrintedRow::* theirs;
  double unit;  // of the notebook, in ours
};

const std::vector<NumberCell>& number_cells() {
  static const std::vector<NumberCell> cells{
      {"flops_fwd", &PrintedRow::flops_fwd, 1e12},
      {"input_fwd_bytes", &PrintedRow::activation_in_mem, 1e9},
      {"other_fwd_bytes", &PrintedRow::activation_in_other_mem, 1e9},
      {"output_fwd_bytes", &PrintedRow::activation_out_mem, 1e9},
      {"kept_bytes", &PrintedRow::activation_buffer, 1e9},
      {"weight_bytes", &PrintedRow::weights_mem, 1e9},
      {"mem_fwd_bytes", &PrintedRow::total_mem_fwd, 1e9},
      {"flops_bwd", &PrintedRow::flops_bwd, 1e12},
      {"gradient_bytes", &PrintedRow::activation_grad_mem, 1e9},
      {"weight_gradient_bytes", &PrintedRow::weights_grad_mem, 1e9},
      {"mem_bwd_bytes", &PrintedRow::total_mem_bwd, 1e9},
      {"comm_bwd_bytes", &PrintedRow::comm_bwd, 1e9},
      {"comm_group", &PrintedRow::comm_size, 1},
      {"comm_fwd_bytes", &PrintedRow::comm_fwd, 1e9},
      {"t_compute_fwd_ns", &PrintedRow::t_comp_fwd, 1e6},
      {"t_memory_fwd_ns", &PrintedRow::t_mem_fwd, 1e6},
      {"t_compute_bwd_ns", &PrintedRow::t_comp_bwd, 1e6},
      {"t_memory_bwd_ns", &PrintedRow::t_mem_bwd, 1e6},
      {"intensity", &PrintedRow::intensity, 1},
      {"t_fwd_ns", &PrintedRow::t_fwd, 1e6},
      {"t_bwd_ns", &PrintedRow::t_bwd, 1e6},
      {"t_comm_fwd_ns", &PrintedRow::t_comm_fwd, 1e6},
      {"t_comm_bwd_ns", &PrintedRow::t_comm_bwd, 1e6},
      {"t_total_fwd_ns", &PrintedRow::t_total_fwd, 1e6},
      {"t_total_bwd_ns", &PrintedRow::t_total_bwd, 1e6},
      {"comm_share_fwd", &PrintedRow::frac_t_comm_fwd, 1},
      {"comm_share_bwd", &PrintedRow::frac_t_comm_bwd, 1}};
  return cells;
}

std::string our_kind(std::string_view theirs) {
  if (theirs == "allgather") return "all_gather";
  return theirs == "reducescatter" ? "reduce_scatter" : std::string(theirs);
}

struct TextCell {
  const char* key;
  std::string theirs;
};

std::vector<TextCell> text_cells(const PrintedRow& p) {
  return {{"layer", std::string(p.layer)},
          {"comm_bwd", our_kind(p.comm_bwd_type)},
          {"comm_fwd", our_kind(p.comm_fwd_type)},
          {p.comm_fwd_type.empty() ? "comm_tier_bwd" : "comm_tier_fwd",
           p.comm_topology == "nvlink" ? "domain" : std::string(p.comm_topology)}};
}

void expect_close(double ours, double theirs, const std::string& place) {
  EXPECT_NEAR(ours, theirs, 1e-12 * std::max(std::abs(theirs), 1e-300)) << place;
}

int compare(const Json& ours, const PrintedRow& p) {
  int cells = 0;
  const std::string row = std::string(p.layer) + ".";
  for (const NumberCell& c : number_cells()) {
    ++cells;
    const Json& value = ours.at(c.key);
    EXPECT_EQ(value.is_null(), std::isnan(p.*c.theirs)) << row << c.key;
    if (!value.is_null()) expect_close(value.get<double>() / c.unit, p.*c.theirs, row + c.key);
  }
  for (const TextCell& c : text_cells(p)) {
    ++cells;
    const Json& value = ours.at(c.key);
    EXPECT_EQ(value.is_null() ? "" : value.get<std::string>(), c.theirs) << row << c.key;
  }
  // The notebook has one topology for both directions. At most one of them communicates.
  EXPECT_TRUE(ours.at("comm_tier_fwd").is_null() || ours.at("comm_tier_bwd").is_null()) << row;
  EXPECT_EQ(ours.size(), number_cells().size() + text_cells(p).size() + 1);
  return cells;
}

// Sums as printed, to their last digit.
int compare_sums(const Json& sum, const PrintedSums& p) {
  struct Cell {
    const char* key;
    double theirs;
    double unit;
  };
  const std::vector<Cell> cells{{"kept_bytes", p.activation_buffer, 1e9},
                                {"weight_bytes", p.weights_mem, 1e9},
                                {"weight_gradient_bytes", p.weights_grad_mem, 1e9},
                                {"flops_fwd", p.flops_fwd, 1e12},
                                {"flops_bwd", p.flops_bwd, 1e12},
                                {"t_total_fwd_ns", p.t_total_fwd, 1e6},
                                {"t_total_bwd_ns", p.t_total_bwd, 1e6},
                                {"t_comm_fwd_ns", p.t_comm_fwd, 1e6},
                                {"t_comm_bwd_ns", p.t_comm_bwd, 1e6}};
  for (const Cell& c : cells)
    EXPECT_NEAR(sum.at(c.key).get<double>() / c.unit, c.theirs, 5.001e-7) << c.key;
  EXPECT_NEAR(sum.at("comm_share_fwd").get<double>(), p.communication_share, 1e-15);
  return static_cast<int>(cells.size()) + 1;
}

TEST(NotebookRun, JsonHasEveryCellAndEverySum) {
  const Json tables = tables_of();
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0]["name"], "attention");
  EXPECT_EQ(tables[1]["name"], "feed_forward");
  int cells = 0;
  const auto all = [&cells](const Json& table, const auto& printed) {
    EXPECT_EQ(table["layers"], 96);
    ASSERT_EQ(table["rows"].size(), printed.size());
    for (std::size_t i = 0; i < printed.size(); ++i) cells += compare(table["rows"][i], printed[i]);
  };
  all(tables[0], notebook_test::self_attention);
  all(tables[1], notebook_test::mlp);
  EXPECT_EQ(cells, 434);
  EXPECT_EQ(compare_sums(tables[0]["sum"], notebook_test::self_attention_sums) +
                compare_sums(tables[1]["sum"], notebook_test::mlp_sums),
            20);
}

std::vector<std::vector<std::string>> csv_rows(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string>& cells = rows.emplace_back(1);
    for (const char c : line) {
      if (c == ',') cells.emplace_back();
      if (c != ',' && c != '\r' && c != '"') cells.back() += c;
    }
  }
  return rows;
}

TEST(NotebookRun, CsvHasTheSameCellsAndEndsWithTheSum) {
  const Json tables = tables_of();
  const program::ScratchFolder folder;
  const auto run = program::run(command({"--csv", folder.file("tables")}));
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  for (const Json& table : tables) {
    const auto rows =
        csv_rows(folder.file("tables") + "/" + table["name"].get<std::string>() + ".csv");
    ASSERT_EQ(rows.size(), table["rows"].size() + 2);
    EXPECT_EQ(rows.back().front(), "sum of 96 layers");
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const Json& row = r + 1 < rows.size() ? table["rows"][r - 1] : table["sum"];
      for (std::size_t c = 0; c < rows[0].size(); ++c) {
        const Json value = row.contains(rows[0][c]) ? row[rows[0][c]] : Json();
        const std::string text = value.is_null()     ? ""
                                 : value.is_string() ? value.get<std::string>()
                                                     : value.dump();
        EXPECT_EQ(rows[r][c], text) << rows[0][c];
      }
    }
  }
}

// The words of a row of the first table with such a row, which is folded into several.
std::vector<std::string> terminal_row(const std::string& text, const std::string& begin) {
  std::vector<std::string> words;
  const std::size_t from = text.find("\n  " + begin + " ");
  EXPECT_NE(from, std::string::npos) << begin;
  const std::size_t end = text.find(" by the conventions ", from);
  for (std::size_t at = from; at < end; at = text.find("\n  " + begin + " ", at + 1)) {
    std::istringstream line(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
    for (std::string word; line >> word;) words.push_back(word);
  }
  return words;
}

TEST(NotebookRun, TheTerminalShowsBothTablesInTheNotebooksUnits) {
  const auto run = program::run(command({}));
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  const std::string& text = run.printed;
  for (const char* title : {"\nattention by the conventions \"notebook\": one of 96 layers",
                            "\nfeed_forward by the conventions \"notebook\": one of 96 layers"})
    EXPECT_NE(text.find(title), std::string::npos) << title;
  const auto has = [&](const std::string& row, const std::vector<std::string>& digits) {
    const std::vector<std::string> words = terminal_row(text, row);
    for (const std::string& d : digits)
      EXPECT_NE(std::ranges::find(words, d), words.end()) << row << " lacks " << d;
  };
  has("fc1", {"0.618475", "1.236800", "0.402678", "0.755024", "0.050332", "reduce_scatter",
              "1.982293", "3.964101", "0.258957", "0.485546", "7.654917", "4.047987", "0.020723"});
  has("layer_norm_2", {"0.000057", "0.025215", "all_gather", "0.083886", "0.100101", "0.838010"});
  has("sum of 96 layers", {"61.001957", "29.002826", "64.359476", "128.680906", "303.405760",
                           "500.687843", "24.159191", "16.106127", "0.079627"});
  EXPECT_NE(text.find("404.578111"), std::string::npos) << "the feed-forward table's sum";
  // The heads of the parts name each column once, in lines that a terminal shows.
  std::set<std::string> names;
  std::size_t columns = 0;
  std::istringstream lines(text.substr(text.find("\nattention by the conventions")));
  for (std::string line; std::getline(lines, line) && !line.starts_with("feed_forward by");) {
    EXPECT_LE(line.size(), 100U) << line;
    if (!line.starts_with("  layer ")) continue;
    for (std::size_t at = line.find_first_not_of(' ', 8); at < line.size();) {
      const std::size_t end = std::min(line.find("  ", at), line.size());
      names.insert(line.substr(at, end - at));
      ++columns;
      at = line.find_first_not_of(' ', end);
    }
  }
  EXPECT_EQ(columns, 31U);
  EXPECT_EQ(names.size(), columns);
}

TEST(NotebookRun, OnlyTheTablesAreCountedByItsConventions) {
  std::vector<std::string> own = command({"--json", "-"});
  own.back() = "-";
  const auto with = program::run(own);
  std::erase(own, "--conventions");
  std::erase(own, "notebook");
  const auto without = program::run(own);
  Json a = Json::parse(with.printed);
  Json b = Json::parse(without.printed);
  EXPECT_EQ(b["layer_tables"], Json::array());
  a.erase("layer_tables");
  b.erase("layer_tables");
  EXPECT_EQ(a, b);
}

// The code cells: (m - 1) / m of a buffer on the link, the adds of a reduction, and the norm of the
// feed-forward part in its own table. Row v_proj adds forward, where the notebook errs.
TEST(NotebookRun, TheCodeCellsHaveConventionsOfTheirOwn) {
  const Json tables = tables_of({}, "notebook-cells");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0]["conventions"], "notebook-cells");
  EXPECT_EQ(tables[0]["rows"].size(), 8U);
  EXPECT_EQ(tables[1]["rows"].size(), 6U);
  EXPECT_EQ(tables[1]["rows"][0]["layer"], "layer_norm_1");
  const double buffer = 2 * 2048.0 * 12288;
  const double adds = 2048.0 * 12288 * 3 / 4;
  const auto row = [&](std::size_t table, std::string_view name) {
    for (const Json& r : tables[table]["rows"])
      if (r["layer"] == name) return r;
    ADD_FAILURE() << name;
    return Json();
  };
  const auto printed = [](const auto& rows, std::string_view name) {
    return *std::ranges::find(rows, name, &PrintedRow::layer);
  };
  const Json fc2 = row(1, "fc2");
  EXPECT_DOUBLE_EQ(fc2["comm_fwd_bytes"], buffer * 3 / 4);
  EXPECT_NEAR(fc2["t_comm_fwd_ns"].get<double>(), buffer * 3 / 4 / 600, 1e-3);
  EXPECT_DOUBLE_EQ(fc2["flops_fwd"], printed(notebook_test::mlp, "fc2").flops_fwd * 1e12 + adds);
  EXPECT_DOUBLE_EQ(row(1, "fc1")["flops_bwd"],
                   printed(notebook_test::mlp, "fc1").flops_bwd * 1e12 + adds);
  EXPECT_DOUBLE_EQ(row(0, "v_proj")["flops_fwd"],
                   printed(notebook_test::self_attention, "v_proj").flops_fwd * 1e12 + adds);
}

// Without sequence parallelism the sum is an all-reduce, which sends as much as its two halves.
TEST(NotebookRun, SequenceParallelismChangesNoVolume) {
  for (const std::string conventions : {"notebook", "notebook-cells"}) {
    const Json with = tables_of({}, conventions);
    const Json without = tables_of({"--sequence-parallel=false"}, conventions);
    const auto sent = [](const Json& tables, const std::string& key) {
      return tables[0]["sum"][key].get<double>() + tables[1]["sum"][key].get<double>();
    };
    for (const std::string key : {"comm_fwd_bytes", "comm_bwd_bytes", "t_comm_fwd_ns"})
      EXPECT_DOUBLE_EQ(sent(with, key), sent(without, key)) << conventions << " " << key;
  }
}

// The rate of vector operations in fp16 is no rate of matrix products in another format.
TEST(NotebookRun, OtherFormatsHaveRatesOfTheirOwn) {
  const auto rate = [](const std::string& format, std::size_t row) {
    const Json fc1 = tables_of({"--dtype", format})[1]["rows"][row];
    return fc1["flops_fwd"].get<double>() / fc1["t_compute_fwd_ns"].get<double>() / 1e3;
  };
  EXPECT_NEAR(rate("fp16", 0), 312, 1e-9);
  EXPECT_NEAR(rate("fp16", 1), 78, 1e-9);
  EXPECT_NEAR(rate("bf16", 0), 312, 1e-9);
  EXPECT_NEAR(rate("bf16", 1), 19.5, 1e-9);
  EXPECT_NEAR(rate("fp32", 0), 19.5, 1e-9);
  EXPECT_NEAR(rate("fp32", 1), 19.5, 1e-9);
}

TEST(NotebookRun, UnknownConventionsAndATableNobodyAskedForAreRefused) {
  std::vector<std::string> words = command({});
  words.back() = "notbook";
  const auto unknown = program::run(words);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.errors.find("write stepscope or notebook or notebook-cells"), std::string::npos)
      << unknown.errors;
  words = command({});
  std::erase(words, "--layers");
  const auto lacks = program::run(words);
  EXPECT_EQ(lacks.exit_code, 2);
  EXPECT_NE(lacks.errors.find("add --layers"), std::string::npos) << lacks.errors;
}

// Without other conventions too: the sum of a part is over all its layers.
TEST(NotebookRun, OrdinaryTablesHaveSums) {
  const auto run = program::run({"predict",        "deepseek-v2-lite",
                                 "--machine",      "h100_sxm_80gb",
                                 "--gpus",         "16",
                                 "--global-batch", "16",
                                 "--seq",          "4096",
                                 "--pp",           "1",
                                 "--tp",           "2",
                                 "--zero",         "3",
                                 "--ep",           "8",
                                 "--json",         "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Json tree = Json::parse(run.printed);
  const Json& sums = tree["layer_sums"];
  ASSERT_EQ(sums.size(), 5U) << "embedding, two kinds of layers, head, all";
  EXPECT_EQ(sums.back()["part"], "all");
  EXPECT_EQ(sums.back()["layers"], tree["model"]["layers"]);
  int compared = 0;
  for (const Json& sum : sums) {
    for (const auto& [key, value] : sum.items()) {
      if (key == "part" || key == "layers" || key.starts_with("comm_share")) continue;
      double expected = 0;
      for (const Json& row : tree["layers"]) {
        if (sum["part"] != "all" && row["part"] != sum["part"]) continue;
        expected += row.at(key).get<double>() * row["count"].get<double>();
      }
      EXPECT_NEAR(value.get<double>(), expected, 1e-9 * std::abs(expected)) << key;
      ++compared;
    }
    for (const std::string pass : {"fwd", "bwd"}) {
      const double total = sum["t_total_" + pass + "_ns"];
      EXPECT_DOUBLE_EQ(sum["comm_share_" + pass].get<double>() * total,
                       sum["t_comm_" + pass + "_ns"].get<double>());
    }
  }
  EXPECT_EQ(compared, 5 * 18);
}

TEST(NotebookRun, TheTerminalEndsItsTableWithTheSums) {
  std::vector<std::string> words = command({});
  std::erase(words, "--conventions");
  std::erase(words, "notebook");
  const auto run = program::run(words);
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  const std::size_t head = run.printed.find("cross_entropy");
  std::size_t at = head;
  for (const char* part :
       {"embedding  sum", "layer      sum", "head       sum", "all        sum"}) {
    const std::size_t next = run.printed.find(std::string("\n  ") + part, at);
    EXPECT_NE(next, std::string::npos) << part;
    at = next;
  }
  // No name of a collective is cut.
  EXPECT_NE(run.printed.find("reduce_scatter + all_gather"), std::string::npos);
}

// The collectives of a figure, all of them, where there are several kinds.
TEST(NotebookRun, AFigureNamesEveryCollectiveThatItIncludes) {
  struct Case {
    std::vector<std::string> flags;
    std::string operation;
    std::string forward;
    std::string backward;
  };
  const std::vector<Case> cases{
      {{"--tp", "4"}, "fc1", "all_gather", "reduce_scatter + all_gather"},
      {{"--tp", "4", "--sequence-degree", "2"}, "fc2", "reduce_scatter + all_gather", "all_gather"},
      {{"--tp", "2", "--sequence-degree", "4"}, "fc2", "reduce_scatter", "all_gather"},
      {{"--tp", "8", "--tensor-layout", "2d", "--tp-rows", "2", "--sequence-parallel=false"},
       "fc1",
       "broadcast",
       "broadcast + reduce"},
      {{"--tp", "16", "--tensor-layout", "2.5d", "--tp-rows", "2", "--tp-columns", "4",
        "--tp-depth", "2", "--sequence-parallel=false"},
       "fc1",
       "broadcast",
       "broadcast + reduce + all_reduce"},
      {{"--tp", "12", "--tensor-layout", "3d", "--tp-rows", "2", "--tp-columns", "3", "--tp-depth",
        "2", "--sequence-parallel=false"},
       "fc1",
       "all_gather + reduce_scatter",
       "all_gather + reduce_scatter"}};
  for (const Case& c : cases) {
    const std::string files = STEPSCOPE_SOURCE_DIR "/examples/notebook/";
    std::vector<std::string> words{
        "predict", files + "model.json", "--machine", files + "machine.json",
        "--plan",  files + "plan.json",  "--layers",  "--json",
        "-",       "--gpus-per-node",    "16"};
    words.insert(words.end(), c.flags.begin(), c.flags.end());
    words.insert(words.end(), {"--gpus", c.flags[1] == "2" ? "4" : c.flags[1]});
    const auto run = program::run(words);
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    bool found = false;
    const Json tree = Json::parse(run.printed);
    for (const Json& row : tree["layers"]) {
      if (row["name"] != c.operation) continue;
      found = true;
      EXPECT_EQ(row["comm_fwd"], c.forward) << c.flags[1];
      EXPECT_EQ(row["comm_bwd"], c.backward) << c.flags[1];
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace stepscope
