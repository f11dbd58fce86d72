// SPDX-License-Identifier: Apache-2.0
// Fifty random hangs of eight ranks with fixed seeds. The rank and the collective must be named
// each time. Also dumps of three gloo processes, written by PyTorch 2.14.
#include <gtest/gtest.h>

#include <filesystem>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/read/nccl/comm_files.h"
#include "tests/hang/simulated_job.h"

namespace stepscope::hang {
namespace {

namespace fs = std::filesystem;

HangKind expected_kind(Fault fault) {
  switch (fault) {
    case Fault::order:
      return HangKind::order;
    case Fault::count:
      return HangKind::size;
    case Fault::no_record:
      return HangKind::no_record;
    default:
      return HangKind::missing;
  }
}

std::string seen(const CommFiles& files, const HangAccount& result) {
  std::string out;
  for (const HangFinding& f : result.findings) {
    out += std::string(name_of(f.kind)) + " in group " + std::to_string(f.group) + " at " +
           std::to_string(f.sequence) + " of";
    for (const std::uint32_t r : f.ranks) out += ' ' + files.records.ranks[r].label;
    out += f.follows ? " follows " + std::to_string(*f.follows) + "\n" : "\n";
  }
  return out;
}

// The first finding names the injected fault, and no other finding is a cause.
void expect_named(const SimulatedJob& job, const std::string& input, bool log) {
  const std::vector<std::string> inputs = {input};
  const CommFiles files = read_comm_files(inputs);
  ASSERT_TRUE(files.errors.empty()) << files.errors.front().message();
  const HangAccount result = find_hang(files.records);
  SCOPED_TRACE(seen(files, result));
  ASSERT_FALSE(result.findings.empty());
  const HangFinding& f = result.findings.front();
  EXPECT_EQ(name_of(f.kind), name_of(expected_kind(job.fault)));
  EXPECT_EQ(f.sequence, job.ordinal + (log ? 0 : 1));
  EXPECT_EQ(files.records.groups[f.group].members, job.groups[job.group]);
  ASSERT_TRUE(f.call);
  EXPECT_EQ(collective_kind("nccl:" + f.call->name), collective_kind("nccl:" + job.operation));
  if (job.fault == Fault::no_record) {
    EXPECT_EQ(f.unrecorded, std::vector<int>{job.rank});
  } else {
    ASSERT_EQ(f.ranks.size(), 1U);
    EXPECT_EQ(files.records.ranks[f.ranks[0]].number, job.rank);
  }
  for (std::size_t i = 1; i < result.findings.size(); ++i)
    EXPECT_TRUE(result.findings[i].follows) << i;
}

TEST(Hang, IsNamedInThirtyMadeDumps) {
  int cases = 0;
  for (const Fault fault :
       {Fault::missing, Fault::behind, Fault::order, Fault::count, Fault::no_record})
    for (std::uint64_t seed = 1; seed <= 6; ++seed, ++cases) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + ", seed " +
                   std::to_string(seed));
      const SimulatedJob job = simulate(fault, 100 * static_cast<std::uint64_t>(fault) + seed);
      const test::Folder folder;
      write_dumps(job, folder.path, seed % 3 == 0);
      expect_named(job, folder.path, false);
    }
  EXPECT_EQ(cases, 30);
}

TEST(Hang, IsNamedInTwentyMadeLogs) {
  int cases = 0;
  for (const Fault fault : {Fault::missing, Fault::behind, Fault::order, Fault::count})
    for (std::uint64_t seed = 1; seed <= 5; ++seed, ++cases) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + ", seed " +
                   std::to_string(seed));
      const SimulatedJob job = simulate(fault, 1000 * static_cast<std::uint64_t>(fault) + seed);
      const test::Folder folder;
      const fs::path file = folder.path / "train.log";
      write_log(job, file, seed);
      expect_named(job, file, true);
    }
  EXPECT_EQ(cases, 20);
}

TEST(Hang, IsNotSeenWhereAllIsWell) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SimulatedJob job = simulate(Fault::none, seed);
    const test::Folder folder;
    write_dumps(job, folder.path, false);
    write_log(job, folder.path / "train.log", seed);
    const std::vector<std::string> inputs = {folder.path};
    const CommFiles files = read_comm_files(inputs);
    EXPECT_TRUE(files.errors.empty());
    EXPECT_EQ(files.records.inputs.size(), 9U);
    const HangAccount result = find_hang(files.records);
    EXPECT_TRUE(result.findings.empty()) << seen(files, result);
    EXPECT_GT(result.calls, 8U * 24U);
  }
}

// tests/hang/dumps: made by `gloo_dumps.py` there.
class GlooDumps : public testing::Test {
 protected:
  static CommFiles read(const std::string& folder) {
    const std::vector<std::string> inputs = {std::string(STEPSCOPE_SOURCE_DIR) +
                                             "/tests/hang/dumps/" + folder};
    return read_comm_files(inputs);
  }
};

TEST_F(GlooDumps, TellWhoLeftBeforeTheAllGather) {
  for (const char* folder : {"missing", "missing_json"}) {
    const CommFiles files = read(folder);
    ASSERT_TRUE(files.errors.empty()) << files.errors.front().message();
    const HangAccount result = find_hang(files.records);
    ASSERT_EQ(result.findings.size(), 1U) << seen(files, result);
    const HangFinding& f = result.findings[0];
    EXPECT_EQ(f.kind, HangKind::missing);
    EXPECT_EQ(f.sequence, 6);
    EXPECT_EQ(f.call->name, "all_gather");
    EXPECT_EQ(f.instead->name, "all_reduce");
    ASSERT_EQ(f.ranks.size(), 1U);
    EXPECT_EQ(files.records.ranks[f.ranks[0]].number, 2);
    EXPECT_EQ(f.others.size(), 2U);
    EXPECT_EQ(files.records.groups[f.group].name, "default_pg");
    EXPECT_EQ(f.call->stack.empty(), std::string_view(folder) == "missing_json");
  }
}

TEST_F(GlooDumps, AreSilentWhereAllFinished) {
  const CommFiles files = read("sound");
  ASSERT_TRUE(files.errors.empty());
  const HangAccount result = find_hang(files.records);
  EXPECT_TRUE(result.findings.empty()) << seen(files, result);
  EXPECT_EQ(result.calls, 8U + 8U + 7U);
}

}  // namespace
}  // namespace stepscope::hang
