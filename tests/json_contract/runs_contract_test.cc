// SPDX-License-Identifier: Apache-2.0
// The JSON of verbs that run something: training and calibration.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/json_contract/contract.h"
#include "tests/json_contract/documented.h"
#include "tests/program/program.h"

namespace stepscope::contract {
namespace {

// `train` on a short text, with these flags.
program::Outcome trained(const program::ScratchFolder& scratch,
                         const std::vector<std::string>& flags) {
  const std::string text = scratch.file("text.txt");
  std::ofstream out(text);
  for (int i = 0; i < 4000; ++i)
    out << static_cast<char>('a' + i * i % 23) << (i % 5 == 0 ? " " : "");
  out.close();
  std::vector<std::string> words = {
      "train",         "--data",        text,     "--ranks", "2",  "--transport",
      "threads",       "--micro-batch", "1",      "--seq",   "16", "--quiet",
      "--peak-tflops", "0.1",           "--json", "-"};
  words.insert(words.end(), flags.begin(), flags.end());
  return program::run(words);
}

// Paths of the training contract that begin with one of these.
std::set<std::string> paths_below(const std::vector<std::string>& prefixes) {
  std::set<std::string> found;
  for (const std::string& path : paths(documented("stepscope train")))
    for (const std::string& prefix : prefixes)
      if (path.starts_with(prefix)) found.insert(path);
  return found;
}

TEST(JsonContract, HoldsForTraining) {
  const program::ScratchFolder scratch;
  const auto run =
      trained(scratch, {"--steps", "14", "--isolate", "--validation", "10%", "--evaluate-every",
                        "2", "--recompute", "full", "--checkpoint", scratch.file("checkpoints")});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  std::set<std::string> may_be_null =
      paths_below({"stats.memory_transfers.", "stats.references.direction", "answer.verdict",
                   "answer.no_verdict", "isolation.hidden_share", "isolation.overlap_efficiency"});
  expect_contract("stepscope train", run, may_be_null);
}

TEST(JsonContract, HoldsForTrainingWithFiles) {
  const program::ScratchFolder scratch;
  const auto run = trained(scratch, {"--steps", "3", "--offload", "optimizer:" + scratch.file("")});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  Comparison comparison;
  compare(documented("stepscope train"), nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  for (const std::string& path :
       paths_below({"stats.memory_transfers.gb_per_s", "stats.memory_transfers.links"}))
    EXPECT_TRUE(comparison.seen.contains(path)) << path;
}

TEST(JsonContract, HoldsForAPlanOfTraining) {
  const auto run =
      program::run({"train", "--plan-only", "--ranks", "3", "--zero", "2", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  expect_contract("stepscope train --plan-only", run, {});
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
  const std::string kernels = scratch.file("kernels.jsonl");
  std::ofstream lines(kernels);
  for (const int rows : {256, 1024, 4096, 16384})
    for (const int width : {1024, 4096})
      lines << R"({"name":"x","kind":"product","device":"GPU","units":132,"format":"bf16","m":)"
            << rows << R"(,"k":2048,"n":)" << width << R"(,"s":)"
            << 5e-6 + 4096.0 * rows * width / 700e12 << "}\n";
  for (const int bytes : {1000000, 64000000, 1000000000})
    lines << R"({"name":"x","kind":"copy","device":"GPU","bytes":)" << bytes << R"(,"device_s":)"
          << 3e-6 + 2.0 * bytes / 3e12 << "}\n";
  lines
      << R"({"name":"x","kind":"attention","device":"GPU","batch":1,"heads":32,"length":4096,"size":128,)"
      << R"("s":2.6e-4,"backward_s":7.6e-4})" << "\n"
      << "not a line\n"
      << R"({"name":"x","kind":"grouped","device":"GPU","error":"RuntimeError"})" << "\n"
      << R"({"name":"x","kind":"copy","device":"another","bytes":1000000,"device_s":1e-6})" << "\n";
  lines.close();
  const auto from = program::run({"calibrate", scratch.file("m.json"), "--from", benchmark, kernels,
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
