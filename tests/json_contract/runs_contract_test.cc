// SPDX-License-Identifier: Apache-2.0
// The JSON of verbs that run something: training and calibration.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/json_contract/contract.h"
#include "tests/json_contract/documented.h"
#include "tests/program/program.h"

namespace stepscope::contract {
namespace {

TEST(JsonContract, HoldsForTraining) {
  const program::ScratchFolder scratch;
  const std::string text = scratch.file("text.txt");
  std::ofstream out(text);
  for (int i = 0; i < 4000; ++i)
    out << static_cast<char>('a' + i * i % 23) << (i % 5 == 0 ? " " : "");
  out.close();
  const auto run = program::run({"train",
                                 "--data",
                                 text,
                                 "--ranks",
                                 "2",
                                 "--transport",
                                 "threads",
                                 "--steps",
                                 "5",
                                 "--micro-batch",
                                 "1",
                                 "--seq",
                                 "16",
                                 "--peak-tflops",
                                 "0.1",
                                 "--isolate",
                                 "--quiet",
                                 "--validation",
                                 "10%",
                                 "--evaluate-every",
                                 "2",
                                 "--checkpoint",
                                 scratch.file("checkpoints"),
                                 "--json",
                                 "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  expect_contract("stepscope train", run, {"answer.verdict", "answer.verdict_steps"});
}

TEST(JsonContract, HoldsForACalibration) {
  const program::ScratchFolder scratch;
  const std::string benchmark = scratch.file("all_reduce_perf.txt");
  std::ofstream out(benchmark);
  out << "# nThread 1 nGpus 8 minBytes 1024 maxBytes 8388608 step: 2(factor) warmup iters: 5 "
         "iters: "
         "20 agg iters: 1 validation: 1 graph: 0\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
         "time   algbw   busbw #wrong\n";
  for (int size = 1024; size <= (1 << 23); size *= 4)
    out << size << ' ' << size / 4 << " float sum -1 " << 20 + size / 1e5 << " 1 1 0 "
        << 21 + size / 1e5 << " 1 1 0\n";
  out.close();
  const auto from = program::run({"calibrate", scratch.file("m.json"), "--from", benchmark,
                                  "--machine", "h100_sxm_80gb", "--ranks", "8", "--json", "-"});
  EXPECT_EQ(from.exit_code, 0) << from.errors;
  const Shape shape = documented("stepscope calibrate");
  std::set<std::string> only_measured = {"ranks", "errors.operations", "link_fits.refused",
                                         "machine.drive_read_gb_per_s",
                                         "machine.drive_write_gb_per_s"};
  for (const std::string& path : paths(shape))
    if (path.starts_with("operations.")) only_measured.insert(path);
  expect_contract("stepscope calibrate", from, only_measured);
  const auto measured = program::run({"calibrate", scratch.file("here.json"), "--ranks", "2",
                                      "--quick", "--json", "-", "--html", scratch.file("p.html")});
  EXPECT_EQ(measured.exit_code, 0) << measured.errors;
  Comparison comparison;
  const auto json = nlohmann::json::parse(measured.printed);
  compare(shape, json, comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  EXPECT_EQ(json["ranks"], 2);
  for (const char* path : {"operations.modelled_ns", "operations.shape", "collectives.low_ns",
                           "collectives.modelled_ns", "errors.operations"})
    EXPECT_TRUE(comparison.seen.contains(path)) << path;
}

}  // namespace
}  // namespace stepscope::contract
