// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/chakra_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "stepscope/base/proto_wire.h"
#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/write/chakra_trace_queues.h"
#include "stepscope/write/goal_schedule.h"
#include "stepscope/write/job_program_test_replay.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// Two ranks: a kernel of 1.4 us each, the second one later, then an all-reduce, then a message from
// 0 to 1.
JobProgram two_ranks() {
  JobProgram program;
  program.groups.push_back({.name = "dp", .ranks = {0, 1}});
  for (std::uint32_t r = 0; r < 2; ++r) {
    RankProgram rank{.rank = static_cast<int>(4 + r), .nodes = {}};
    rank.nodes.push_back(
        {.work = ProgramWork::host, .name = "main", .duration = Ns{5000 * (r + 1)}});
    rank.nodes.push_back(
        {.work = ProgramWork::kernel, .name = "gemm", .duration = Ns{1400}, .after = {0}});
    rank.nodes.push_back({.work = ProgramWork::collective,
                          .name = "nccl",
                          .duration = Ns{20000},
                          .after = {1},
                          .kind = CollectiveKind::all_reduce,
                          .group = 0,
                          .bytes = Bytes{1024},
                          .tag = 7});
    rank.nodes.push_back({.work = r == 0 ? ProgramWork::send : ProgramWork::receive,
                          .name = "message",
                          .duration = Ns{3000},
                          .after = {2},
                          .bytes = Bytes{64},
                          .peer = 1 - r,
                          .tag = 9});
    program.ranks.push_back(std::move(rank));
  }
  return program;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(JobProgram, AReplayWaitsForTheLastMember) {
  // 10 us of the later host, 1.4 us, 20 us, 3 us.
  EXPECT_EQ(test::replayed_time(two_ranks()), Ns{34400});
}

TEST(JobProgram, ACollectiveWithoutAMemberNeverEnds) {
  JobProgram program = two_ranks();
  program.ranks[1].nodes.resize(2);
  EXPECT_FALSE(test::replayed_time(program));
}

// A node of a file.
struct ReadNode {
  std::uint64_t type = 0;
  std::uint64_t micros = 0;
  std::string deps;
  std::map<std::string, std::uint64_t> numbers;       // attributes
  std::map<std::string, std::uint32_t> value_fields;  // of the attributes
};

std::vector<ReadNode> nodes_of(const fs::path& path) {
  const std::string file = text_of(path);
  std::string_view rest = file;
  std::vector<ReadNode> nodes;
  std::uint64_t size = 0;
  for (bool metadata = true; !rest.empty(); metadata = false) {
    if (!take_varint(rest, size) || size > rest.size()) return {};
    ProtoFields fields(rest.substr(0, size));
    rest.remove_prefix(size);
    if (metadata) continue;
    ReadNode& node = nodes.emplace_back();
    while (fields.next()) {
      if (fields.field() == 3) node.type = fields.number();
      if (fields.field() == 5) node.deps = fields.bytes();
      if (fields.field() == 7) node.micros = fields.number();
      if (fields.field() != 10) continue;
      ProtoFields attribute(fields.bytes());
      std::string name;
      while (attribute.next()) {
        if (attribute.field() == 1) {
          name = attribute.bytes();
          continue;
        }
        node.value_fields[name] = attribute.field();
        if (!attribute.is_bytes()) node.numbers[name] = attribute.number();
      }
    }
    EXPECT_FALSE(fields.damaged());
  }
  return nodes;
}

TEST(Chakra, NodesHaveTheirDependenciesAndAttributes) {
  const test::Folder scratch;
  ASSERT_TRUE(write_chakra(two_ranks(), scratch.path / "et"));
  EXPECT_EQ(text_of(scratch.path / "et/groups.json"), "{\n \"1\": [\n  0,\n  1\n ]\n}\n");
  const auto nodes = nodes_of(scratch.path / "et/job.1.et");
  ASSERT_EQ(nodes.size(), 4U);
  std::vector<std::uint64_t> types;
  std::vector<std::uint64_t> micros;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    types.push_back(nodes[i].type);
    micros.push_back(nodes[i].micros);
    EXPECT_EQ(nodes[i].deps, i == 0 ? "" : std::string(1, static_cast<char>(i - 1)));
  }
  EXPECT_EQ(types, (std::vector<std::uint64_t>{4, 4, 7, 6}));
  EXPECT_EQ(micros, (std::vector<std::uint64_t>{10, 1, 20, 3}));
  EXPECT_EQ(nodes[2].numbers.at("comm_size"), 1024U);
  EXPECT_EQ(nodes[3].numbers.at("comm_src"), 0U);
  EXPECT_EQ(nodes[3].numbers.at("comm_dst"), 1U);
  EXPECT_EQ(nodes[3].numbers.at("comm_size"), 64U);
}

// The fields of AttributeProto in Chakra's et_def.proto: a reader of protocol buffers passes over
// values in others.
TEST(Chakra, AttributesAreInTheFieldsOfTheirTypes) {
  const test::Folder scratch;
  ASSERT_TRUE(write_chakra(two_ranks(), scratch.path / "et"));
  const auto nodes = nodes_of(scratch.path / "et/job.0.et");
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].value_fields.at("is_cpu_op"), 27U) << "bool_val";
  EXPECT_EQ(nodes[2].value_fields.at("comm_type"), 9U) << "int64_val";
  EXPECT_EQ(nodes[2].value_fields.at("comm_size"), 9U) << "int64_val";
  EXPECT_EQ(nodes[2].value_fields.at("pg_name"), 29U) << "string_val";
  for (const char* name : {"comm_src", "comm_dst", "comm_tag"})
    EXPECT_EQ(nodes[3].value_fields.at(name), 7U) << "int32_val";
}

TEST(Chakra, AnAllGatherHasTheBytesOfEachMember) {
  JobProgram program = two_ranks();
  for (RankProgram& rank : program.ranks) rank.nodes[2].kind = CollectiveKind::all_gather;
  const test::Folder scratch;
  ASSERT_TRUE(write_chakra(program, scratch.path / "et"));
  EXPECT_EQ(nodes_of(scratch.path / "et/job.0.et").at(2).numbers.at("comm_size"), 512U);
}

TEST(Chakra, CommunicationOfUnknownSizeHasBytes) {
  JobProgram program = two_ranks();
  for (RankProgram& rank : program.ranks) {
    rank.nodes[2].kind = CollectiveKind::all_gather;
    rank.nodes[2].bytes = rank.nodes[3].bytes = Bytes{0};
  }
  const test::Folder scratch;
  ASSERT_TRUE(write_chakra(program, scratch.path / "et"));
  const auto nodes = nodes_of(scratch.path / "et/job.0.et");
  EXPECT_GT(nodes.at(2).numbers.at("comm_size"), 0U) << "ASTRA-sim would never end it";
  EXPECT_GT(nodes.at(3).numbers.at("comm_size"), 0U) << "ASTRA-sim would refuse it";
}

TEST(Chakra, WhereRanksDoNotMeetCommunicationHasItsWaiting) {
  const test::Folder scratch;
  ASSERT_TRUE(write_chakra(two_ranks(), scratch.path / "et"));
  // Rank 0 waits 5 us for rank 1.
  EXPECT_EQ(nodes_of(scratch.path / "et/job.0.et").at(2).micros, 20U);
  EXPECT_EQ(nodes_of(scratch.path / "et/replay/job.0.et").at(2).micros, 25U);
  EXPECT_EQ(nodes_of(scratch.path / "et/replay/job.1.et").at(2).micros, 20U);
}

ProgramNode work(ProgramWork kind, std::int64_t ns, std::vector<std::uint32_t> after) {
  return {.work = kind, .name = "w", .duration = Ns{ns}, .after = std::move(after)};
}

TEST(Queues, HostsBesideEachOtherAreCut) {
  // A host of 10 us; at the same time a host of 4 us from 2 us on, which launches a kernel of 9 us.
  JobProgram program;
  RankProgram rank;
  rank.nodes.push_back(work(ProgramWork::host, 2000, {}));
  rank.nodes.push_back(work(ProgramWork::host, 10000, {0}));
  rank.nodes.push_back(work(ProgramWork::host, 4000, {0}));
  rank.nodes.push_back(work(ProgramWork::kernel, 9000, {2}));
  rank.nodes.push_back(work(ProgramWork::host, 0, {1, 3}));
  program.ranks.push_back(std::move(rank));
  const JobProgram queued = in_queues(program);
  EXPECT_EQ(test::replayed_time(queued), Ns{15000});
  Ns host{};
  std::uint32_t before = 0;
  std::uint32_t n = 0;
  for (const ProgramNode& node : queued.ranks.at(0).nodes) {
    if (node.work == ProgramWork::host) {
      host += node.duration;
      EXPECT_TRUE(n == 0 || std::ranges::count(node.after, before)) << "hosts follow one another";
      before = n;
    }
    ++n;
  }
  EXPECT_EQ(host, Ns{12000});
}

TEST(Queues, ALaunchOnItsWayKeepsNoCore) {
  // Launches of 1 us each, whose kernels of 2 us begin 7 us later; the host does not wait for them.
  JobProgram program;
  RankProgram rank;
  rank.nodes.push_back(work(ProgramWork::host, 1000, {}));
  rank.nodes.push_back(work(ProgramWork::host, 7000, {0}));
  rank.nodes.push_back(work(ProgramWork::kernel, 2000, {1}));
  rank.nodes.push_back(work(ProgramWork::host, 1000, {0}));
  rank.nodes.push_back(work(ProgramWork::host, 7000, {3}));
  rank.nodes.push_back(work(ProgramWork::kernel, 2000, {2, 4}));
  rank.nodes.push_back(work(ProgramWork::host, 1000, {3}));
  program.ranks.push_back(std::move(rank));
  const JobProgram queued = in_queues(program);
  EXPECT_EQ(test::replayed_time(queued), Ns{12000});
  Ns host{};
  Ns device{};
  for (const ProgramNode& node : queued.ranks.at(0).nodes)
    (node.work == ProgramWork::host ? host : device) += node.duration;
  EXPECT_EQ(host, Ns{3000});
  EXPECT_EQ(device, Ns{11000}) << "from the end of the first launch";
}

TEST(Queues, GroupsHaveOneOrderOnAllRanks) {
  // Rank 0 comes to both groups at once, rank 1 to group 1 long before group 0.
  JobProgram program;
  program.groups = {{.name = "a", .ranks = {0, 1}}, {.name = "b", .ranks = {0, 1}}};
  for (std::uint32_t r = 0; r < 2; ++r) {
    RankProgram rank{.rank = static_cast<int>(r), .nodes = {}};
    rank.nodes.push_back(work(ProgramWork::host, 1000, {}));
    rank.nodes.push_back(work(ProgramWork::kernel, r == 0 ? 1000 : 9000, {0}));
    for (std::uint32_t g = 0; g < 2; ++g) {
      ProgramNode call = work(ProgramWork::collective, 1000, {g == 0 ? 1U : 0U});
      if (g == 1 && r == 0) call.after = {1};
      call.kind = CollectiveKind::all_reduce;
      call.group = g;
      call.bytes = Bytes{4096};
      call.tag = g;
      rank.nodes.push_back(std::move(call));
    }
    program.ranks.push_back(std::move(rank));
  }
  const auto replayed = test::replayed_time(program);
  const JobProgram queued = in_queues(program);
  EXPECT_EQ(test::replayed_time(queued), replayed);
  for (const RankProgram& rank : queued.ranks) {
    std::vector<std::uint32_t> order;
    for (const ProgramNode& node : rank.nodes)
      if (node.work == ProgramWork::collective) order.push_back(node.group);
    EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 0}));
  }
}

TEST(Chakra, RoundingLosesNoTime) {
  JobProgram program;
  RankProgram rank;
  for (std::uint32_t i = 0; i < 1000; ++i)
    rank.nodes.push_back({.work = ProgramWork::kernel,
                          .name = "k",
                          .duration = Ns{1400},
                          .after = i == 0 ? std::vector<std::uint32_t>{} : std::vector{i - 1}});
  program.ranks.push_back(std::move(rank));
  const test::Folder scratch;
  ASSERT_TRUE(write_chakra(program, scratch.path / "et"));
  const std::string file = text_of(scratch.path / "et/job.0.et");
  std::string_view rest = file;
  std::uint64_t size = 0;
  std::uint64_t sum = 0;
  while (take_varint(rest, size) && size <= rest.size()) {
    ProtoFields fields(rest.substr(0, size));
    while (fields.next())
      if (fields.field() == 7) sum += fields.number();
    rest.remove_prefix(size);
  }
  EXPECT_EQ(sum, 1400U);
}

TEST(Goal, CollectivesBecomeRingsOfMessages) {
  const test::Folder scratch;
  ASSERT_TRUE(write_goal(two_ranks(), scratch.path / "s.goal"));
  const std::string text = text_of(scratch.path / "s.goal");
  EXPECT_TRUE(
      text.starts_with("num_ranks 2\n\nrank 0 {\nl1: calc 5000\nl2: calc 1400\nl2 requires l1\n"));
  std::size_t sends = 0;
  for (std::size_t at = text.find("send 512b"); at != std::string::npos;
       at = text.find("send 512b", at + 1))
    ++sends;
  EXPECT_EQ(sends, 4U) << "two rounds on two ranks, half of the buffer each";
  EXPECT_NE(text.find("send 64b to 1 tag 9"), std::string::npos);
  EXPECT_NE(text.find("recv 64b from 0 tag 9"), std::string::npos);
}

TEST(Goal, RecordedTimesFollowMessagesOfOneByte) {
  const test::Folder scratch;
  ASSERT_TRUE(write_goal(two_ranks(), scratch.path / "s.goal", {.recorded_times = true}));
  const std::string text = text_of(scratch.path / "s.goal");
  EXPECT_EQ(text.find("512b"), std::string::npos);
  EXPECT_NE(text.find("calc 20000"), std::string::npos);
  EXPECT_NE(text.find("calc 3000"), std::string::npos);
}

TEST(Goal, WorkBesideOtherWorkHasACoreOfItsOwn) {
  // The host goes on while the kernel runs; both end before the last host begins.
  JobProgram program;
  RankProgram rank;
  rank.nodes.push_back(work(ProgramWork::host, 1000, {}));
  rank.nodes.push_back(work(ProgramWork::kernel, 9000, {0}));
  rank.nodes.push_back(work(ProgramWork::host, 4000, {0}));
  rank.nodes.push_back(work(ProgramWork::host, 500, {1, 2}));
  program.ranks.push_back(std::move(rank));
  const test::Folder scratch;
  ASSERT_TRUE(write_goal(program, scratch.path / "s.goal"));
  const std::string text = text_of(scratch.path / "s.goal");
  EXPECT_NE(text.find("l2: calc 9000\n"), std::string::npos);
  EXPECT_NE(text.find("l3: calc 4000 cpu 1\n"), std::string::npos);
  EXPECT_NE(text.find("l4: calc 500\n"), std::string::npos);
}

TEST(Chakra, AFileInThePlaceOfTheDirectoryIsAnError) {
  const test::Folder scratch;
  std::ofstream(scratch.path / "et") << "file";
  EXPECT_FALSE(write_chakra(two_ranks(), scratch.path / "et"));
}

}  // namespace
}  // namespace stepscope
