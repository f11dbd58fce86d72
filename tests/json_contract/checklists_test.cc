// SPDX-License-Identifier: Apache-2.0
// `stepscope check --list` on every kind of input: a trace of GPUs, a trace of CPUs, the JSON of
// training, a log, a list of step times.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/json_contract/documented.h"
#include "tests/json_contract/gpu_run.h"
#include "tests/program/program.h"

namespace stepscope::contract {
namespace {

struct Line {
  std::string result;
  std::string evidence;
};
using Lines = std::map<std::string, Line>;  // by "list.name"

Lines lines_of(std::vector<std::string> words) {
  words.insert(words.begin(), "check");
  words.insert(words.end(), {"--list", "--json", "-"});
  const auto run = program::run(words);
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  Lines out;
  const auto json = nlohmann::json::parse(run.printed);
  for (const auto& list : json["checklists"])
    for (const auto& line : list["lines"]) {
      const std::string name =
          list["name"].get<std::string>() + '.' + line["name"].get<std::string>();
      EXPECT_TRUE(out.emplace(name, Line{line["result"], line["evidence"]}).second) << name;
      EXPECT_GT(line["evidence"].get<std::string>().size(), 10U) << name;
      EXPECT_FALSE(line["evidence"].get<std::string>().ends_with('.')) << name;
    }
  EXPECT_EQ(out.size(), 21U);
  return out;
}

void expect_results(const Lines& lines, const std::map<std::string, std::string>& results) {
  for (const auto& [name, result] : results)
    EXPECT_EQ(lines.at(name).result, result) << name << ": " << lines.at(name).evidence;
}

TEST(Checklists, OfATraceOfGpusJudgeItsKernels) {
  const program::ScratchFolder scratch;
  std::vector<std::string> words;
  for (int rank = 0; rank < 2; ++rank) {
    words.push_back(scratch.file("rank" + std::to_string(rank) + ".json"));
    std::ofstream(words.back()) << gpu_rank(rank);
  }
  const Lines lines = lines_of(words);
  for (const char* name : {"low_mfu.batch_size", "low_mfu.memory_bandwidth", "memory.peak",
                           "timeline.copies", "communication.overlap", "stragglers.late_ranks"})
    EXPECT_NE(lines.at(name).result, "unknown") << name << ": " << lines.at(name).evidence;
}

TEST(Checklists, OfATraceOfCpusSayWhatOnlyGpusHave) {
  const auto traces = (source / "examples" / "train_tiny" / "traces" / "ddp").string();
  const Lines lines = lines_of({traces});
  expect_results(lines, {{"low_mfu.mixed_precision", "unknown"},
                         {"low_mfu.tensor_cores", "unknown"},
                         {"low_mfu.data_loading", "look"},
                         {"communication.bandwidth", "unknown"},
                         {"timeline.copies", "unknown"},
                         {"stragglers.late_ranks", "look"}});
  EXPECT_NE(lines.at("low_mfu.data_loading").evidence.find("data loader of rank 1"),
            std::string::npos);
  // As `analyze` says it: who arrives late may be a victim.
  EXPECT_TRUE(lines.at("stragglers.late_ranks").evidence.starts_with("The data loader of rank 1 "))
      << lines.at("stragglers.late_ranks").evidence;
  EXPECT_NE(lines.at("low_mfu.tensor_cores").evidence.find("ProfilerActivity.CUDA"),
            std::string::npos);
  EXPECT_NE(lines.at("communication.bandwidth").evidence.find("--machine"), std::string::npos);
}

TEST(Checklists, OfTheJsonOfTrainingJudgeItsBudget) {
  const program::ScratchFolder scratch;
  const std::string json = scratch.file("train.json");
  const auto run = program::run({"train",
                                 "--preset",
                                 "llama-tiny",
                                 "--data",
                                 (source / "examples" / "train_tiny" / "record.py").string(),
                                 "--ranks",
                                 "2",
                                 "--transport",
                                 "threads",
                                 "--steps",
                                 "16",
                                 "--micro-batch",
                                 "1",
                                 "--seq",
                                 "16",
                                 "--inject",
                                 "data:1:60ms",
                                 "--quiet",
                                 "--json",
                                 json});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Lines lines = lines_of({json});
  expect_results(lines, {{"low_mfu.data_loading", "look"},
                         {"low_mfu.tensor_cores", "unknown"},
                         {"communication.congestion", "unknown"},
                         {"stragglers.late_ranks", "look"},
                         {"memory.peak", "unknown"}});
  EXPECT_NE(lines.at("timeline.gaps").result, "unknown");
  EXPECT_NE(lines.at("communication.overlap").result, "unknown");
  EXPECT_NE(lines.at("communication.congestion").evidence.find("--trace DIR"), std::string::npos);
  EXPECT_NE(lines.at("low_mfu.tensor_cores").evidence.find("on CPUs"), std::string::npos);
}

TEST(Checklists, OfAListOfStepTimesAskForATrace) {
  const program::ScratchFolder scratch;
  const std::string list = scratch.file("steps.csv");
  std::ofstream out(list);
  out << "step,rank,step_time_ms\n";
  for (int step = 0; step < 12; ++step)
    for (int rank = 0; rank < 3; ++rank)
      out << step << ',' << rank << ',' << (rank == 2 ? 130 : 100) << '\n';
  out.close();
  for (const auto& [name, line] : lines_of({list})) {
    EXPECT_EQ(line.result, name == "stragglers.late_ranks" ? "look" : "unknown") << name;
    const bool asks = line.evidence.find("record a trace") != std::string::npos;
    EXPECT_EQ(asks, line.result == "unknown") << name;
  }
}

TEST(Checklists, OfALogKnowTheMemoryThatItTells) {
  const program::ScratchFolder scratch;
  const std::string log = scratch.file("train.log");
  std::ofstream out(log);
  for (int i = 0; i < 12; ++i)
    out << "[titan] 2026-01-01 12:00:0" << i % 10 << " - root - INFO - step: " << i + 1
        << "  loss:  9.1  memory: 76.00GiB(95.00%)  tps: 1,000  tflops: 50.0  mfu: 5.0%\n";
  out.close();
  const Lines lines = lines_of({log});
  EXPECT_EQ(lines.at("memory.peak").result, "unknown");
  EXPECT_EQ(lines.at("low_mfu.data_loading").result, "unknown");
  EXPECT_EQ(lines.at("memory.limit").result, "look") << lines.at("memory.limit").evidence;
}

TEST(Checklists, AreLeftOutUnlessRequested) {
  const auto traces = (source / "examples" / "train_tiny" / "traces" / "ddp").string();
  const auto run = program::run({"check", traces, "--json", "-"});
  EXPECT_TRUE(nlohmann::json::parse(run.printed)["checklists"].is_null());
  EXPECT_EQ(program::run({"check", traces}).printed.find("Low MFU:"), std::string::npos);
  const auto text = program::run({"check", traces, "--list"}).printed;
  for (const char* title :
       {"\nLow MFU:\n", "\nSlow communication:\n", "\nMemory pressure:\n",
        "\nPatterns of the timeline:\n", "\nStragglers:\n", "\n  look  data loading  "})
    EXPECT_NE(text.find(title), std::string::npos) << title << text;
}

}  // namespace
}  // namespace stepscope::contract
