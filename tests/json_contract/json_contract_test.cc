// SPDX-License-Identifier: Apache-2.0
// Compares the pages of docs/reference/json.md with the program's output: every documented key is
// present with its type, no other key is, and the test runs give nearly every key a value.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/json_contract/contract.h"
#include "tests/json_contract/documented.h"
#include "tests/json_contract/gpu_run.h"
#include "tests/json_contract/mlperf_lines.h"
#include "tests/memory/simulated_training.h"
#include "tests/memory/written_snapshot.h"
#include "tests/program/program.h"

namespace stepscope::contract {
namespace {

Shape analyze_contract() { return documented("stepscope analyze"); }

// The top level's timeline is written only on request.
Shape without_timeline(Shape shape) {
  shape.members.erase("timeline");
  return shape;
}

Comparison example(const char* name) {
  const auto run = program::analyze({source / "examples" / "train_tiny" / "traces" / name});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  Comparison comparison;
  compare(without_timeline(analyze_contract()), run.json, comparison);
  return comparison;
}

Comparison gpu_run(const std::vector<std::string>& flags,
                   std::string (*trace_of)(int rank) = gpu_rank) {
  const program::ScratchFolder scratch;
  std::vector<std::filesystem::path> files;
  for (const int rank : {0, 1}) {
    files.emplace_back(scratch.file("rank" + std::to_string(rank) + ".json"));
    std::ofstream(files.back()) << trace_of(rank);
  }
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, std::string>>{
           {"node0.csv", smi_log()},
           {"metrics.prom", dcgm_log()},
           {"bare.csv", "2023/11/14 22:13:20.000, 0, 1980 MHz\n"}}) {
    files.emplace_back(scratch.file(name));
    std::ofstream(files.back()) << text;
  }
  const auto run = program::analyze(files, flags);
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  Comparison comparison;
  compare(analyze_contract(), run.json, comparison);
  return comparison;
}
Comparison gpu_run() {
  return gpu_run({"--timeline", "--model-flops-per-step", "1e11", "--price", "2.5"});
}
Comparison gpu_run_of_a_model() {
  return gpu_run({"--timeline", "--model", "gpt2", "--global-batch", "2", "--seq", "1024"});
}

Comparison pipeline_run() { return gpu_run({"--timeline"}, gpu_stage); }

TEST(JsonContract, HoldsForTheBundledExample) {
  for (const char* name : {"ddp", "fsdp"}) {
    const Comparison comparison = example(name);
    EXPECT_EQ(comparison.problems, std::vector<std::string>{}) << name;
    EXPECT_GT(comparison.seen.size(), 120U) << name;
  }
}

TEST(JsonContract, HoldsForGpus) {
  for (const Comparison& comparison : {gpu_run(), gpu_run_of_a_model()}) {
    EXPECT_EQ(comparison.problems, std::vector<std::string>{});
    EXPECT_GT(comparison.seen.size(), 200U);
  }
}

TEST(JsonContract, HoldsForAPipeline) {
  const Comparison comparison = pipeline_run();
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  EXPECT_TRUE(comparison.seen.contains("pipeline.ranks.due_to_ns.imbalance"));
}

TEST(JsonContract, IsCoveredByTheseRuns) {
  std::set<std::string> unseen = paths(analyze_contract());
  for (const Comparison& run :
       {example("ddp"), example("fsdp"), gpu_run(), gpu_run_of_a_model(), pipeline_run()})
    for (const std::string& path : run.seen) unseen.erase(path);
  // Only for failed inputs, ranks that lack a step, and captures that do not match.
  for (const char* rare :
       {"inputs.error", "inputs.cut_at", "job.missing_steps.rank", "job.missing_steps.index",
        "job.cut_steps.rank", "job.cut_steps.steps", "job.cut_steps.window", "job.cut_steps.whole",
        "collective_mismatches.group", "collective_mismatches.ordinal",
        "collective_mismatches.ranks", "collective_mismatches.what",
        // Only for a slow process group or stage.
        "answer.verdict.group", "answer.verdict.dim", "answer.verdict.stage",
        // Only for recordings with start-up (recording/start_up_test.cc).
        "recording.ranks.start_up.spans.kind", "recording.ranks.start_up.spans.ns",
        "recording.ranks.start_up.spans.start_ns", "recording.ranks.start_up.spans.what",
        // Only for groups with siblings.
        "groups.rates.of_siblings",
        // Only for a critical path that changes ranks.
        "explanation.critical_path.hops.from", "explanation.critical_path.hops.to",
        "explanation.critical_path.hops.count",
        // Only for an unanswerable question (HoldsForAWhatIf has one).
        "explanation.scenarios.refused",
        // Only for a question with bounds (HoldsForAWhatIf has one).
        "explanation.scenarios.shortest_step_ns"})
    unseen.erase(rare);
  // Only for a rank with slow kernels whose clock was read; gpu_json_test has one.
  std::erase_if(unseen, [](const std::string& path) {
    return path.starts_with("answer.verdict.clock.") || path == "answer.verdict.clock";
  });
  // Only for two faults in one job; analyze_json_test compares them with the first.
  std::erase_if(unseen, [](const std::string& path) {
    return path.starts_with("answer.verdict.alternatives.");
  });
  EXPECT_EQ(unseen, std::set<std::string>{});
}

TEST(JsonContract, HoldsForABriefAnalysis) {
  const program::ScratchFolder scratch;
  std::vector<std::string> words = {"analyze", "--brief", "--json", "-"};
  for (const int rank : {0, 1}) {
    words.push_back(scratch.file("rank" + std::to_string(rank) + ".json"));
    std::ofstream(words.back()) << gpu_rank(rank);
  }
  const auto run = program::run(words);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_LT(run.printed.size(), 8000U);  // about 2,000 tokens
  Comparison comparison;
  compare(documented("stepscope analyze --brief"), nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
}

TEST(JsonContract, HoldsForAWhatIf) {
  const program::ScratchFolder scratch;
  std::vector<std::string> words = {"whatif", "--json", "-"};
  for (const int rank : {0, 1}) {
    words.push_back(scratch.file("rank" + std::to_string(rank) + ".json"));
    std::ofstream(words.back()) << gpu_rank(rank);
  }
  const Shape shape = documented("stepscope whatif");
  std::set<std::string> unseen = paths(shape);
  for (const bool asked : {false, true}) {
    if (asked) words.insert(words.end(), {"--change", "compute:2", "--change", "rank_as_peers@1"});
    const auto run = program::run(words);
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    Comparison comparison;
    const auto json = nlohmann::json::parse(run.printed);
    compare(shape, json, comparison);
    EXPECT_EQ(comparison.problems, std::vector<std::string>{});
    EXPECT_EQ(json["scenarios"].size() == 2, asked);
    for (const std::string& path : comparison.seen) unseen.erase(path);
  }
  // Messages of two similar sizes give bounds for other sizes. No rank is number 99.
  const auto run =
      program::run({"whatif", "--json", "-", "--change", "bucket:5MB", "--change",
                    "rank_as_peers@99", STEPSCOPE_SOURCE_DIR "/examples/train_tiny/traces/ddp"});
  EXPECT_EQ(run.exit_code, 1) << run.errors;
  Comparison refused;
  compare(shape, nlohmann::json::parse(run.printed), refused);
  EXPECT_EQ(refused.problems, std::vector<std::string>{});
  for (const std::string& path : refused.seen) unseen.erase(path);
  EXPECT_EQ(unseen, (std::set<std::string>{"inputs.cut_at", "inputs.error"}));
  EXPECT_EQ(program::run({"whatif", words[3], "--change", "faster"}).exit_code, 2);
}

TEST(JsonContract, HoldsForAPrediction) {
  const auto run = program::run({"predict",        "gpt3-175b",
                                 "--machine",      "a100_sxm_80gb",
                                 "--gpus",         "1024",
                                 "--tp",           "8",
                                 "--pp",           "16",
                                 "--global-batch", "1536",
                                 "--price",        "2",
                                 "--vary",         "zero=0,3",
                                 "--vary",         "tp=8,7",
                                 "--json",         "-",
                                 "--layers",       "--conventions",
                                 "notebook"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Shape shape = documented("stepscope predict");
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  EXPECT_EQ(unseen, std::set<std::string>{});
}

TEST(JsonContract, HoldsForAPlan) {
  const auto run = program::run({"plan", "gpt3-175b", "--machine", "a100_sxm_80gb", "--gpus", "128",
                                 "--global-batch", "128", "--fix", "tp=8", "--against", "tp=8,pp=4",
                                 "--against", "tp=7", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  Comparison comparison;
  compare(documented("stepscope plan"), nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  EXPECT_TRUE(comparison.seen.contains("best.words"));
  EXPECT_TRUE(comparison.seen.contains("flags.not_expressed"));
  EXPECT_TRUE(comparison.seen.contains("against.gains.term"));
}

// A machine of the catalogue, and one whose file says up to which size its links were measured.
TEST(JsonContract, HoldsForACollective) {
  const program::ScratchFolder scratch;
  const std::string measured = scratch.file("measured.json");
  std::ifstream catalogue(source / "data" / "machines" / "h100_sxm_80gb.json");
  auto machine = nlohmann::json::parse(catalogue);
  machine["scale_up"]["timing"]["measured_to_gb"] = 0.5;
  std::ofstream(measured) << machine;
  const Shape shape = documented("stepscope predict --collective");
  Comparison comparison;
  for (const auto& [of, group] : {std::pair<std::string, const char*>{"h100_sxm_80gb", "64"},
                                  std::pair<std::string, const char*>{measured, "8"}}) {
    const auto run = program::run({"predict", "--collective", "all_reduce", "--group", group,
                                   "--bytes", "1KB:1GB", "--machine", of, "--json", "-"});
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    const auto json = nlohmann::json::parse(run.printed);
    compare(shape, json, comparison);
    EXPECT_EQ(json["measured_to_bytes"].is_number(), of == measured);
  }
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  EXPECT_EQ(unseen, std::set<std::string>{});
}

TEST(JsonContract, HoldsForStacks) {
  const program::ScratchFolder scratch;
  const std::string now = scratch.file("now.collapsed");
  const std::string before = scratch.file("before.collapsed");
  const std::string table = scratch.file("lines.tsv");
  std::ofstream(now) << "# a comment\nprocess 1:\"python\";MainThread;forward (m.py:3);item 5\n"
                     << "pt_autograd_0;fetch_sub_module [0x36a] [36a] 7\n";
  std::ofstream(before) << "pt_autograd_0;fetch_sub_module [0x36a] [36a] 7\n";
  std::ofstream(table) << "c.py\tfetch_sub_module\t0x366\t0x36a\t332\n";
  const auto run =
      program::run({"stacks", now, "--against", before, "--lasti", table, "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Shape shape = documented("stepscope stacks");
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  for (const std::string& path : std::set(unseen))
    if (path.starts_with("trace")) unseen.erase(path);  // checked below
  EXPECT_EQ(unseen, std::set<std::string>{});
}

// Dumps of two ranks and a log. The second rank stops early and sends a message that nobody
// receives.
void write_hang(const program::ScratchFolder& scratch, std::vector<std::string>& words) {
  const auto dump =
      [&](int rank, const std::string& entries) {
        words.push_back(scratch.file("rank" + std::to_string(rank) + ".json"));
        std::ofstream(words.back())
            << R"({"version":"2.5","pg_config":{"0":{"desc":"default_pg","ranks":"[0, 1]"}},)"
            << R"("entries":[)" << entries << "]}";
      };
  const auto entry = [](int sequence, const char* state) {
    return R"({"process_group":["0","default_pg"],"collective_seq_id":)" +
           std::to_string(sequence) +
           R"(,"profiling_name":"nccl:all_reduce","input_sizes":[[4]],"output_sizes":[[4]],)"
           R"("input_dtypes":["Float"],"frames":[{"name":"f","filename":"a.py","line":3}],)"
           R"("state":")" +
           state + "\"}";
  };
  dump(0, entry(1, "completed") + ',' + entry(2, "started"));
  dump(1, entry(1, "completed"));
  words.push_back(scratch.file("train.log"));
  std::ofstream log(words.back());
  log << "[rank0]:[E810 03:04:11.1 ProcessGroupNCCL.cpp:683] [PG ID 0 PG GUID 0(default_pg) Rank "
         "0] "
         "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, "
         "NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600096 milliseconds before timing "
         "out.\n";
  const std::string at = "h:1:1 [0] ";
  log << at << "NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.\n"
      << at << "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n"
      << at << "NCCL INFO NCCL version 2.26.2+cuda12.4\n"
      << at
      << "NCCL INFO ncclCommSplit comm 0xa rank 0 nranks 2 cudaDev 0 busId 5d000 parent 0xb "
         "commId 0x1f - Init START\n"
      << at << "NCCL INFO comm 0xa rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n"
      << at << "NCCL INFO Channel 00/01 : 0 1\n"
      << at << "NCCL INFO Trees [0] 1/-1/-1->0->-1\n"
      << at
      << "NCCL INFO 2 coll channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per peer\n"
      << at << "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      << at << "NCCL INFO Init timings - ncclCommSplit: rank 0 nranks 2 total 1.58 (kernels 0.26)\n"
      << at
      << "NCCL INFO ncclCommSplit comm 0xa rank 0 nranks 2 cudaDev 0 busId 5d000 parent 0xb "
         "commId 0x1f - Init COMPLETE\n"
      << "h:2:1 [1] NCCL INFO comm 0xc rank 1 nranks 2 commId 0x1f - Init START\n"
      << "h:2:1 [1] NCCL INFO Trees [0] -1/-1/-1->1->0\n"
      << "h:2:1 [1] NCCL INFO comm 0xc rank 1 nranks 2 commId 0x1f - Init COMPLETE\n"
      << at << "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"
      << "g:9:1 [0] NCCL INFO Ring 00 : 0 -> 1 -> 0\n"
      << "g:9:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"
      << at << "a.cc:1 NCCL WARN Call to ibv_modify_qp failed\n"
      << "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 "
         "has a "
         "total capacity of 79.15 GiB of which 1.00 GiB is free. Of the allocated memory 70.00 GiB "
         "is "
         "allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.\n"
      << "srun: error: n3: task 1: Exited with exit code 1\n";
  words.push_back(scratch.file("threads_rank0.txt"));
  std::ofstream(words.back()) << "Process 7: python train.py\n\nThread 7 (active): \"MainThread\"\n"
                                 "    step (train.py:3)\n";
}

TEST(JsonContract, HoldsForAHang) {
  const program::ScratchFolder scratch;
  std::vector<std::string> words = {"hang", "--json", "-"};
  write_hang(scratch, words);
  const auto run = program::run(words);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Shape shape = documented("stepscope hang");
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  unseen.erase("findings.follows");
  EXPECT_EQ(unseen, std::set<std::string>{});
}

TEST(JsonContract, HoldsForDigests) {
  const program::ScratchFolder scratch;
  const auto run = program::run({"digest", STEPSCOPE_SOURCE_DIR "/examples/train_tiny/traces/ddp",
                                 "--out", scratch.file("digests"), "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Shape shape = documented("stepscope digest");
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  EXPECT_EQ(unseen, std::set<std::string>{});
}

// Memory snapshots of two ranks. The second one has too little memory.
TEST(JsonContract, HoldsForMemorySnapshots) {
  const program::ScratchFolder scratch;
  const std::vector<std::string> words = {"memory", scratch.file("rank0.pickle"),
                                          scratch.file("rank1.pickle"), "--json", "-"};
  std::ofstream(words[1], std::ios::binary)
      << pickled(testing::simulated_training({.expandable = true}, 1).allocator);
  std::ofstream(words[2], std::ios::binary)
      << pickled(testing::simulated_noise(1500, false, std::int64_t{400} << 20, 1).allocator);
  const std::string log = scratch.file("train.log");
  std::ofstream(log)
      << "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of "
         "79.15 GiB of which 1.00 GiB is free. Process 4 has 78.00 GiB memory in use. Of "
         "the allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is "
         "reserved by PyTorch but unallocated.\n"
      << "[rank3]: Traceback (most recent call last):\n"
         "[rank3]:   File \"/home/train.py\", line 20, in <module>\n"
         "[rank3]:     loss.backward()\n"
         "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 "
         "has a total capacity of 79.15 GiB of which 30.00 GiB is free. 40.00 GiB allowed; Of the "
         "allocated memory 38.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch "
         "but unallocated.\n"
      << "=== Memory Profile ===\n"
         "Label                             Allocated     Reserved         Peak     Frag\n"
         "after_forward                       40.20GB      42.50GB      40.90GB    5.4%\n"
         "after_backward                      54.10GB      60.30GB      58.70GB   10.3%\n";
  const std::string usage = scratch.file("usage.log");
  std::ofstream(usage)
      << "[INFO] [utils.py:803:see_memory_usage] MA 4.5 GB         Max_MA 5.0 GB         CA 5.5 GB"
         "         Max_CA 6 GB \n"
         "[INFO] [utils.py:810:see_memory_usage] CPU Virtual Memory:  used = 59.4 GB, percent = "
         "11.8%\n"
         "|            PyTorch CUDA memory summary, device ID 0             |\n"
         "|        CUDA OOMs: 2        |      cudaMalloc retries: 3         |\n"
         "|     Metric            | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
         "| Allocated memory      |    1000 MB |    2000 MB |   89299 MB |   88237 MB |\n"
         "| GPU reserved memory   |    8000 MB |    9000 MB |   16924 MB |    4504 MB |\n"
         "| Non-releasable memory |     100 MB |     300 MB |   16924 MB |    4504 MB |\n";
  std::vector<std::string> all = words;
  all.insert(all.end(), {log, usage});
  const auto run = program::run(all);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Shape shape = documented("stepscope memory");
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  unseen.erase("inputs.settings.max_split_bytes");  // no limit
  unseen.erase("devices.end.holders.operator");     // no operator holds memory between steps
  EXPECT_EQ(unseen, std::set<std::string>{});
}

// One rank whose device is idle while its main thread waits for the GIL, without a common clock.
TEST(JsonContract, HoldsForStacksBesideATrace) {
  const program::ScratchFolder scratch;
  const std::string trace = scratch.file("trace.json");
  const std::string profile = scratch.file("profile.json");
  const std::string untimed = scratch.file("rank0.collapsed");
  std::ofstream(trace)
      << R"({"traceEvents":[)"
      << R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":9,"ts":100,)"
      << R"("dur":1000},)"
      << R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":110,)"
      << R"("dur":5,"args":{"correlation":1}},)"
      << R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":120,"dur":100,)"
      << R"("args":{"correlation":1,"device":0,"stream":7}}]})";
  const std::string frames =
      R"("shared":{"frames":[{"name":"forward","file":"m.py"},{"name":"take_gil"}]})";
  std::ofstream(profile)
      << R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)" << frames
      << R"(,"profiles":[{"type":"sampled","name":"main","unit":"microseconds","startValue":0,)"
      << R"("endValue":1000,"samples":[[0],[0,1]],"weights":[200,800]}]})";
  std::ofstream(untimed) << "MainThread;forward (m.py:3) 5\n";
  const auto run =
      program::run({"stacks", profile, "--trace", trace, "--offset", "100us", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Shape shape = documented("stepscope stacks");
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  const auto apart = program::run({"stacks", untimed, "--trace", trace, "--json", "-"});
  ASSERT_EQ(apart.exit_code, 0) << apart.errors;
  compare(shape, nlohmann::json::parse(apart.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  for (const std::string& path : paths(shape))
    EXPECT_TRUE(!path.starts_with("trace") || path == "trace.findings.place" ||
                path == "trace.findings.under" || comparison.seen.contains(path))
        << path;
}

// Forty steps around `level` ms, one of them a checkpoint.
std::string list_of_steps(const std::string& path, double level) {
  std::ofstream out(path);
  out << "step_time_ms,cause\n";
  for (int i = 0; i < 40; ++i)
    out << level * (i == 20 ? 5 : 1 + 0.01 * ((i * 7) % 5)) << (i == 20 ? ",checkpoint\n" : ",\n");
  return path;
}

// Keys of launches whose level changes (stats/median_ratio_test.cc has some).
std::set<std::string> of_a_change(const std::string& arm) {
  std::set<std::string> keys;
  for (const char* key : {"step", "before_ns", "after_ns"})
    keys.insert(arm + ".launches.changes." + key);
  return keys;
}

TEST(JsonContract, HoldsForAComparison) {
  const program::ScratchFolder scratch;
  const std::string a = list_of_steps(scratch.file("a.csv"), 10);
  const std::string b = list_of_steps(scratch.file("b.csv"), 11);
  const auto lists = program::run({"compare", "--a", a, a, a, "--b", b, b, b, "--order", "ABBAAB",
                                   "--max-regression", "50%", "--json", "-"});
  EXPECT_EQ(lists.exit_code, 0) << lists.errors;
  std::set<std::string> of_traces = {
      "parts.kind",          "parts.name",        "parts.a_ns",       "parts.b_ns",
      "parts.difference_ns", "parts.interval_ns", "parts.p",          "parts.q",
      "parts.called",        "parts.shape",       "parts.a_calls",    "parts.b_calls",
      "parts.a_call_ns",     "parts.b_call_ns",   "a.outliers.every", "b.outliers.every",
      "a.tokens_per_s",      "b.tokens_per_s"};
  for (const std::string arm : {"a", "b"}) of_traces.merge(of_a_change(arm));
  expect_contract("stepscope compare", lists, of_traces);
  const std::filesystem::path traces = source / "examples" / "train_tiny" / "traces";
  const auto runs = program::run(
      {"compare", (traces / "ddp").string(), (traces / "fsdp").string(), "--json", "-"});
  EXPECT_EQ(runs.exit_code, 0) << runs.errors;
  Comparison comparison;
  compare(documented("stepscope compare"), nlohmann::json::parse(runs.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  for (const char* path : {"parts.kind", "parts.difference_ns", "parts.interval_ns", "parts.q",
                           "parts.shape", "parts.a_calls", "parts.b_call_ns"})
    EXPECT_TRUE(comparison.seen.contains(path)) << path;
}

TEST(JsonContract, HoldsForASweep) {
  const program::ScratchFolder scratch;
  const std::string list = list_of_steps(scratch.file("a.csv"), 10);
  const auto run = program::run({"sweep", "--vary", "column=1,2", "--json", "-", "--", "/bin/sh",
                                 "-c", "cp " + list + " {out}; : {column}"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  std::set<std::string> rare = of_a_change("values");
  rare.insert("values.outliers.every");
  rare.insert("values.tokens_per_s");
  expect_contract("stepscope sweep", run, rare);
}

TEST(JsonContract, HoldsForAHistory) {
  const program::ScratchFolder scratch;
  const std::filesystem::path folder = std::filesystem::path(scratch.file("runs"));
  std::filesystem::create_directory(folder);
  std::filesystem::copy(source / "examples" / "train_tiny" / "traces" / "ddp", folder / "traces");
  for (int i = 10; i < 50; ++i)
    (void)list_of_steps((folder / ("list" + std::to_string(i) + ".csv")).string(),
                        (i < 30 ? 290 : 350) * (1 + 0.01 * std::sin(2.4 * i * i)));
  const auto run = program::run({"runs", folder.string(), "--json", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  Comparison comparison;
  compare(documented("stepscope runs"), nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  for (const char* path : {"runs.beside.ratio", "runs.findings.key", "changes.from"})
    EXPECT_TRUE(comparison.seen.contains(path)) << path;
}

// What `stepscope check` cannot show of an input without ranks and phases.
std::set<std::string> of_ranks() {
  std::set<std::string> some;
  for (const std::string& path : paths(documented("stepscope check")))
    if (path.starts_with("step_times.ranks.") || path.starts_with("step_times.map.") ||
        path.starts_with("phases"))
      some.insert(path);
  return some;
}

TEST(JsonContract, HoldsForACheck) {
  const program::ScratchFolder scratch;
  const auto list =
      program::run({"check", list_of_steps(scratch.file("a.csv"), 10), "--list", "--json", "-"});
  EXPECT_EQ(list.exit_code, 0) << list.errors;
  std::set<std::string> of_logs = {"steps.outliers.every", "steps.tokens_per_s", "mfu_convention"};
  for (const std::string& path : paths(documented("stepscope check")))
    if (path.starts_with("log") || path.starts_with("mfu_conventions.")) of_logs.insert(path);
  of_logs.merge(of_ranks());
  of_logs.merge(of_a_change("steps"));
  expect_contract("stepscope check", list, of_logs);
  const std::filesystem::path traces = source / "examples" / "train_tiny" / "traces" / "ddp";
  const auto trace = program::run({"check", traces.string(), "--json", "-"});
  EXPECT_EQ(trace.exit_code, 0) << trace.errors;
  Comparison comparison;
  compare(documented("stepscope check"), nlohmann::json::parse(trace.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  for (const char* path : {"step_times.job", "step_times.ranks.deviation",
                           "step_times.columns.median_ns", "step_times.map.deviations"})
    EXPECT_TRUE(comparison.seen.contains(path)) << path;
}

TEST(JsonContract, HoldsForACheckOfPhases) {
  const program::ScratchFolder scratch;
  const std::string path = scratch.file("phases.csv");
  std::ofstream(path) << "compute_ms,comm_ms,step_ms\n15,20,24\n15,21,25\n";
  const auto run =
      program::run({"check", path, "--model", "gpt2", "--global-batch", "8", "--seq", "1024",
                    "--machine", "a100_sxm_80gb", "--gpus", "8", "--json", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  Comparison comparison;
  compare(documented("stepscope check"), nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  for (const char* key :
       {"phases.step_ns", "phases.summed", "phases.rows.kind", "phases.rows.share",
        "phases.overlap.efficiency", "phases.overlap.perfect_ns", "mfu_conventions.name",
        "mfu_conventions.mfu"})
    EXPECT_TRUE(comparison.seen.contains(key)) << key;
}

// Forty records of Megatron-DeepSpeed, a restart, an end that a timer makes slower, a loss that is
// not finite, and other lines of logs.
std::string log_of_training(const std::string& path) {
  std::ofstream out(path);
  for (const char* line :
       {"num_layers ..... 12", "hidden_size ..... 768", "num_attention_heads ..... 12",
        "padded_vocab_size ..... 50304", "seq_length ..... 2048", "world_size ..... 8",
        "comm op: all_reduce | time (ms): 1.5 | msg size: 1.0 MB | algbw (Gbps): 16.0 | busbw "
        "(Gbps): "
        "14.0",
        "---- DeepSpeed Flops Profiler ----", "Profile Summary at step 10:",
        "data parallel size:  8", "batch size per GPU:  4", "fwd flops per GPU:  2 T",
        "fwd latency:  20 ms", "fwd FLOPS per GPU = fwd flops per GPU / fwd latency:  10 TFLOPS",
        "iter latency:  80 ms", "samples/second:  400", "Aggregated Profile"})
    out << "  " << line << '\n';
  for (int i = 0; i < 60; ++i) {
    const int step = i < 30 ? 10 * (i + 1) : 10 * (i - 5);
    out << "[rank0]: iteration " << step << "/ 1000 | elapsed time per iteration (ms): "
        << (i < 48 ? 500 : 600) + (i == 20 ? 900 : (i * 7) % 5)
        << ".0 | throughput per GPU (TFLOP/s/GPU): 10.0 | global batch size:   256 | lm loss: "
        << (i == 50 ? "nan" : std::to_string(9 - 0.1 * i)) << " | number of nan iterations:   0 |\n"
        << "time (ms) | optimizer: " << (i < 48 ? 10 : 110) + i % 3 << '\n'
        << "[2026-01-01 12:00:00,000] 0/" << step
        << ", RunningAvgSamplesPerSec=1.0, CurrSamplesPerSec=2.0, MaxMemAllocated=2.0GB\n";
  }
  return path;
}

TEST(JsonContract, HoldsForALog) {
  const program::ScratchFolder scratch;
  const std::string path = log_of_training(scratch.file("train.log"));
  std::ofstream(path, std::ios::app) << milestones_of_mlperf();
  const auto run = program::run({"check", path, "--peak-tflops", "312", "--json", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  std::set<std::string> may_be_null = {
      "steps.outliers.every", "steps.tokens_per_s", "log.memory_share", "log.rates.remark",
      // Only with a model (HoldsForACheckOfPhases).
      "mfu_conventions", "mfu_conventions.name", "mfu_conventions.model_flops_per_step",
      "mfu_conventions.mfu",
      // Only with --list.
      "checklists", "checklists.name", "checklists.title", "checklists.lines",
      "checklists.lines.name", "checklists.lines.result", "checklists.lines.evidence",
      // Present only without a change.
      "log.drift", "log.drift.first_ns", "log.drift.last_ns", "log.drift.p"};
  may_be_null.merge(of_ranks());
  expect_contract("stepscope check", run, may_be_null);
}

TEST(Contract, IsReadFromTablesAndShapes) {
  const Shape shape = read_contract(R"(# Title
## Top level
| key | type | what |
|---|---|---|
| `a`, `b` | int or null | text |
| `list` | array | below |
| `o` | object | `{x, y[] {z_ns}, free{}, notes{reason: count}, rows[] [p, q], )"
                                    R"(names[], all{*{m}}}`: `x` is one |
## `list[]`
`{k}`; a list.
)");
  EXPECT_EQ(paths(shape), (std::set<std::string>{"a", "b", "list", "list.k", "o", "o.x", "o.y",
                                                 "o.y.z_ns", "o.free", "o.notes", "o.rows",
                                                 "o.names", "o.all", "o.all.*", "o.all.*.m"}));
  const auto good = nlohmann::json::parse(R"({"a": 1, "b": null, "list": [{"k": "v"}],
    "o": {"x": 1, "y": [{"z_ns": 3}], "free": {"any": 1}, "notes": {}, "rows": [[1, 2]],
          "names": ["n"], "all": {"q": {"m": 1}}}})");
  Comparison comparison;
  compare(shape, good, comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  EXPECT_EQ(comparison.seen.count("b"), 0U);
  EXPECT_EQ(comparison.seen.count("o.y.z_ns"), 1U);
  const auto problems = [&](const char* pointer, const nlohmann::json& value) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    Comparison found;
    compare(shape, bad, found);
    return found.problems;
  };
  EXPECT_EQ(problems("/a", 1.5), std::vector<std::string>{"a is 1.5"});
  EXPECT_EQ(problems("/o/new", 1), std::vector<std::string>{"o.new is not documented"});
  EXPECT_EQ(problems("/list/0", nlohmann::json::object()),
            std::vector<std::string>{"list.k is missing"});
  EXPECT_EQ(problems("/o/y/0/z_ns", "3"), std::vector<std::string>{"o.y.z_ns is \"3\""});
  EXPECT_EQ(problems("/o/names", 1), std::vector<std::string>{"o.names is 1"});
  EXPECT_EQ(problems("/o/all/q/n", 1), std::vector<std::string>{"o.all.*.n is not documented"});
  EXPECT_EQ(problems("/o", nullptr).size(), 1U);
}

TEST(Contract, HasAPartForEachCommand) {
  const std::string text =
      "# All\n# `a b`\n## Top level\n| `k` | int | one |\n# `a`\n## Top level\n";
  EXPECT_EQ(paths(read_contract(part_of(text, "a b"))), std::set<std::string>{"k"});
  EXPECT_EQ(part_of(text, "a"), "# `a`\n## Top level\n");
  EXPECT_THROW((void)part_of(text, "b"), std::runtime_error);
}

TEST(Contract, IsRefusedWhereItCannotBeRead) {
  EXPECT_THROW((void)parse_shape("{a, }"), std::runtime_error);
  EXPECT_THROW((void)parse_shape("{a"), std::runtime_error);
  EXPECT_THROW((void)parse_shape("{a} b"), std::runtime_error);
  EXPECT_THROW((void)read_contract("## `x`\nnothing\n"), std::runtime_error);
}

}  // namespace
}  // namespace stepscope::contract
