// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/printed_block.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/calibrate/calibrate_from.h"
#include "stepscope/verbs/check/check.h"
#include "stepscope/verbs/digest/digest.h"
#include "stepscope/verbs/inputs/other_verbs.h"
#include "stepscope/verbs/memory/memory.h"
#include "stepscope/verbs/memory/memory_views.h"
#include "stepscope/verbs/stacks/stacks.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class PrintedBlocks : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
    return (dir_ / name).string();
  }
  const test::Folder folder_;
  const fs::path dir_ = folder_.path;
};

constexpr const char* key_averages =
    "-----------  ------------  ------------\n"
    "       Name    Self CPU %    # of Calls\n"
    "-----------  ------------  ------------\n"
    "   aten::mm        45.10%           100\n";

TEST_F(PrintedBlocks, AreKnownByTheLinesThatBeginThem) {
  const std::pair<const char*, const char*> blocks[] = {
      {"\n=== Memory by Source ===\nunknown: 5.00GB (14.3%)\n", "Memory by Source"},
      {"\n=== Bottleneck Analysis ===\nbackward  120.00ms\n", "Bottleneck Analysis"},
      {"log\n  === Overlap Efficiency ===\n", "Overlap Efficiency"},
      {"| Bucket Size | Step Time | Notes |\n|---|---|---|\n", "Bucket Size Optimization"},
      {"=== ZeRO Stage 3 Analysis ===\nMemory reduction: 8.0x (approx)\n", "ZeRO Stage Analysis"},
      {"=== A/B Comparison ===\nConfig A: 102.10ms avg\n", "A/B Comparison"},
      {"Straggler detected: rank 3 (0.065s vs mean 0.021s)\n", "Straggler detected"},
      {"Step 0: Straggler detected!\n", "Straggler detected"},
      {"Timeline offsets (μs): {0: 0, 1: 152.5}\n", "Timeline offsets"},
      {"{'calls': 12, 'avg_bandwidth_GBps': 83.3}\n", "summary of a collective"},
      {"{'step_time': {'mean': 0.41, 'min': 0.4, 'max': 0.44, 'std': 0.01}}\n",
       "mean, min and max of a quantity"},
      {"{'alpha_us': 12.4, 'beta_gbps': 180.2, 'r_squared': 0.999}\n", "Alpha-Beta Calibration"},
      {"{'achieved_tflops': 412.1, 'peak_tflops': 989.0}\n", "MFU measurement"},
      {"nvbandwidth Version: v0.8\nSUM device_to_device_memcpy_read_ce 715.53\n", "nvbandwidth"},
      {"       Count        Size                Time, us            Bandwidth, GB/s\n",
       "ucc_perftest"},
      {" #bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]  MsgRate[Mpps]\n 65536 1000 "
       "196\n",
       "ib_write_bw, ib_read_bw or ib_send_bw"},
      {"Comm. Op            Message Size        Count\nbroadcast\n",
       "DeepSpeed's summary of communication"},
      {"# gpu    pwr  gtemp  mtemp     sm\n# Idx      W      C      C      %\n", "nvidia-smi dmon"},
      {"64, 0 %, 1 MiB\n63, 0 %, 1 MiB\n", "readings of GPUs by nvidia-smi"},
      {":::MLPv0.5.0 resnet 1541720273.9 (<string>:1) run_clear_caches\n", "MLPerf before 0.7"},
      {"No bucket timing data collected\n", "Bucket Analysis"},
      {"Need both A and B results\n", "A/B Comparison"},
      {"Saved plot to alpha_beta_calibration.png\n", "notice of a saved plot"},
      {"\n=== Diagnosis ===\nBALANCED: Compute and communication roughly equal.\n",
       "Diagnosis of a bottleneck"},
      {"[rank0]: \n[rank0]: === A/B Comparison ===\n", "A/B Comparison"},
      {"[1,0]<stdout>: === Bucket Analysis ===\n", "Bucket Analysis"},
      {"{\"/lib/torch/nn/linear.py\": 5.1e9, \"unknown\": 2.4e9}", "Memory by Source"},
      {R"({"forward": {"mean_ms": 39.8, "max_ms": 41.4, "min_ms": 38.5, "variance": 0.9}})",
       "Bottleneck Analysis"},
      {R"({"tp_degree": 4, "allreduce_times": [0.0002, 0.0002]})",
       "Tensor Parallelism Communication"},
      {R"({"total_time": 0.00345})", "total of a time"},
      {R"({"forward_times": [0.011], "backward_times": [0.022], "idle_time": 0.033})",
       "times of a pipeline's stage"},
      {"{'gather_time': 0.0123, 'compute_time': 0.0456}", "times of ZeRO-3"},
      {R"({"0": 0, "1": 153.25})", "Timeline offsets"},
      {R"({"hidden_dim": 4096, "num_layers": 32, "num_heads": 32})", "configuration of a model"},
      {R"({"normal": [67.6, 67.5], "straggler": [15.4, 15.3]})", "rates of two runs"},
      {R"({"parameters": 2.1, "gradients": 2.1, "optimizer": 4.3, "activations": 292.0})",
       "Memory Breakdown"},
      {R"([{"rank": 3, "time": 0.065, "z_score": 2.6, "slowdown": 3.1}])", "Straggler detected"},
      {"GPU 0: |--Compute--|--AllReduce--|\n", "drawing of a timeline"},
      {" Time (%)  Total Time (ns)  Instances  Avg (ns)  Name\n", "sums of nsys stats"},
      {"\"Name\",\"Calls\",\"TotalDurationNs\",\"Percentage\"\n", "sums of rocprof"},
      {"nohup: ignoring input\n==7== NVPROF is profiling process 7, command: a\n",
       "print of nvprof"},
      {"   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n",
       "sums of cProfile"},
      {"\xfb\x29\x03\xda\x01~\xe9", "sums of cProfile"},
      {"Action      |  Mean duration (s) |Num calls |\n", "report of Lightning's profiler"},
      {"Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n",
       "kernels of Ascend's profiler"},
      {"Step,Computing,Communication(Not Overlapped),Overlapped,Free\n",
       "sums of Ascend's profiler"},
      {"step 1\n==PROF== Connected to process 12\n", "report of Nsight Compute"},
      {R"({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 1, "pid": 1})", "timeline of Horovod"},
      {key_averages, "table of key_averages()"}};
  for (const auto& [text, name] : blocks) {
    const PrintedBlock* block = printed_block(text);
    ASSERT_NE(block, nullptr) << text;
    EXPECT_EQ(block->name, name);
  }
  EXPECT_EQ(printed_block("The MFU: of a run\nan === A/B Comparison === in a sentence\n"), nullptr);
  // A figure alone is a block; one a step is a log.
  EXPECT_NE(printed_block("Time per step: 412.0 ms\nMFU: 41.0%\n"), nullptr);
  EXPECT_EQ(printed_block("Time per step: 412.0 ms\nMFU: 41.0%\nTime per step: 413.0 ms\n"),
            nullptr);
}

TEST_F(PrintedBlocks, AreRefusedByEveryVerbWithTheCommandThatAnswers) {
  const std::string path = write("sums.txt", "\n=== A/B Comparison ===\nConfig A: 102.10ms avg\n");
  const std::string message =
      path +
      ": lacks the times of single steps (it has: A/B Comparison); stepscope "
      "compare A B takes two lists of step times, one number a line";
  const auto checked = check({.traces = {.inputs = {path}}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message(), message);
  const auto held = memory({.snapshots = {path}});
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().message(), message);
  const auto fitted = calibrate_from({.files = {path}});
  ASSERT_TRUE(fitted);
  ASSERT_EQ(fitted->failures.size(), 1U);
  EXPECT_EQ(fitted->failures[0].message(), message);
}

// Its lines end in numbers, as collapsed stacks do.
TEST_F(PrintedBlocks, OfOperatorsAreNoStacks) {
  const auto read = stacks({.profiles = {write("table.txt", key_averages)}});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("export_chrome_trace"), std::string::npos)
      << read.error().message();
  EXPECT_TRUE(stacks({.profiles = {write("flat.txt", "main 12\nidle 5\n")}}));
  const auto none = stacks({.profiles = {write("zero.txt", "# a comment\nRing 00 : 0 -> 0\n")}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "has no sample");
}

TEST_F(PrintedBlocks, OfTotalsOfMemoryAreReadByMemory) {
  const std::string path =
      write("memory.txt",
            "\n=== Memory Profile ===\n"
            "Checkpoint                        Allocated         Peak        Delta\n"
            "After model.cuda()                  2147.5 MB     2147.5 MB    +2147.5 MB\n"
            "After forward (activations)         6460.0 MB     6600.0 MB    +4312.5 MB\n"
            "After backward (gradients)          8590.0 MB     8610.0 MB    +2130.0 MB\n");
  EXPECT_EQ(commands_that_read(path), std::vector<std::string>{"stepscope memory " + path});
  const auto held = memory({.snapshots = {path}});
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_TRUE(held->failures.empty());
  EXPECT_EQ(say(memory_sentence(*held)),
            "The largest peak of these lines, 8.61 GB, was reached between \"After forward "
            "(activations)\" and \"After backward (gradients)\". The largest growth is 4.31 GB, "
            "between \"After model.cuda()\" and \"After forward (activations)\"");
  const Json json = memory_tree_json(*held);
  ASSERT_EQ(json["checkpoints"].size(), 3U);
  EXPECT_TRUE(json["checkpoints"][0]["change_bytes"].is_null());
  EXPECT_EQ(json["checkpoints"][2]["change_bytes"], 2'130'000'000);
}

TEST_F(PrintedBlocks, OfTotalsOfMemoryAreReadAsJsonAndBehindAPrefix) {
  const std::string snapshots = write(
      "snapshots.json",
      R"([{"label": "init", "allocated_GB": 2.13, "reserved_GB": 2.35, "max_allocated_GB": 2.13},)"
      R"( {"label": "forward", "allocated_GB": 9.8, "reserved_GB": 10.4,)"
      R"( "max_allocated_GB": 9.9}])");
  const std::string checkpoints = write(
      "checkpoints.json", R"([{"name": "Initial", "allocated_mb": 0, "peak_mb": 0},)"
                          R"( {"name": "forward", "allocated_mb": 8608.4, "peak_mb": 9900}])");
  const std::string prefixed =
      write("prefixed.txt",
            "[rank0]: === Memory Profile ===\n"
            "[rank0]: Checkpoint               Allocated         Peak        Delta\n"
            "[rank0]: Initial                     0.0 MB       0.0 MB      +0.0 MB\n"
            "[rank0]: forward                  8608.4 MB    9900.0 MB   +8608.4 MB\n");
  for (const std::string& path : {snapshots, checkpoints, prefixed}) {
    EXPECT_EQ(commands_that_read(path), std::vector<std::string>{"stepscope memory " + path});
    const auto held = memory({.snapshots = {path}});
    ASSERT_TRUE(held) << held.error().message();
    const Json json = memory_tree_json(*held);
    ASSERT_EQ(json["checkpoints"].size(), 2U) << path;
    EXPECT_EQ(json["checkpoints"][1]["label"], "forward") << path;
    EXPECT_EQ(json["checkpoints"][1]["peak_bytes"], 9'900'000'000) << path;
  }
}

TEST_F(PrintedBlocks, ThatAVerbReadsAreNamedByTheOthers) {
  const std::string path = write("health.txt",
                                 "Rank 0: avg=100.2ms, times=['101.1', '99.3']\n"
                                 "Rank 1: avg=119.9ms, times=['120.1', '119.7']\n");
  const auto held = memory({.snapshots = {path}});
  ASSERT_FALSE(held);
  EXPECT_TRUE(held.error().hint.starts_with("stepscope check " + path + " reads it; or record"))
      << held.error().hint;
  const auto joined = stacks({.profiles = {path}});
  ASSERT_FALSE(joined);
  EXPECT_TRUE(joined.error().hint.starts_with("stepscope check " + path + " reads it; or give"))
      << joined.error().hint;
}

TEST_F(PrintedBlocks, AreRefusedByDigest) {
  const std::string path = write("sums.txt", "\n=== A/B Comparison ===\nConfig A: 102.10ms avg\n");
  const auto digested = digest({.inputs = {path}, .folder = (dir_ / "digests").string()});
  const Error error = digested ? digested->failures.at(0) : digested.error();
  EXPECT_NE(error.message().find("stepscope compare A B"), std::string::npos) << error.message();
}

TEST_F(PrintedBlocks, DoNotReplaceAnOfferedPattern) {
  const std::string path = write("mfu.txt", "Time per step: 180.00 ms\nMFU: 45.5%\n");
  const Error plain = with_printed_block({.what = "names no step time", .file = path});
  EXPECT_TRUE(plain.what.ends_with("(it has: MFU measurement)")) << plain.what;
  const Error offered = {
      .what = "names no step time", .file = path, .hint = "give --log-pattern 'x {ms} ms'"};
  EXPECT_EQ(with_printed_block(offered).what, offered.what);
}

TEST_F(PrintedBlocks, OfAFitNameTheMeasurementsAndTheirJsonIsRead) {
  const std::string path =
      write("fit.json", R"({"alpha_us": 20.0, "beta_gbps": 640.0, "measurements": [)"
                        R"({"size": 1024, "time": 2.0e-5}, {"size": 1048576, "time": 3.3e-5}]})");
  const std::vector<std::string> commands = commands_that_read(path);
  EXPECT_EQ(commands,
            std::vector<std::string>{
                "stepscope calibrate MACHINE.json --machine NAME --ranks N --from " + path});
}

}  // namespace
}  // namespace stepscope
