// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/chakra_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "stepscope/base/proto_wire.h"
#include "stepscope/write/goal_schedule.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// Two ranks: a kernel of 1.4 us each, of which the second starts later, then an all-reduce, then a
// message from 0 to 1.
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

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("programs" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
};

TEST(JobProgram, AReplayWaitsForTheLastMember) {
  // 10 us of the later host, 1.4 us, 20 us, 3 us.
  EXPECT_EQ(replayed_time(two_ranks()), Ns{34400});
}

TEST(JobProgram, ACollectiveWithoutAMemberNeverEnds) {
  JobProgram program = two_ranks();
  program.ranks[1].nodes.resize(2);
  EXPECT_FALSE(replayed_time(program));
}

TEST(Chakra, NodesHaveTheirDependenciesAndAttributes) {
  const Scratch scratch;
  ASSERT_TRUE(write_chakra(two_ranks(), scratch.path / "et"));
  EXPECT_EQ(text_of(scratch.path / "et/groups.json"), "{\n \"1\": [\n  0,\n  1\n ]\n}\n");
  const std::string file = text_of(scratch.path / "et/job.1.et");
  std::string_view rest = file;
  std::vector<std::string_view> messages;
  std::uint64_t size = 0;
  while (!rest.empty()) {
    ASSERT_TRUE(take_varint(rest, size));
    ASSERT_LE(size, rest.size());
    messages.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  ASSERT_EQ(messages.size(), 5U) << "the metadata and four nodes";
  std::vector<std::uint64_t> types;
  std::vector<std::uint64_t> micros;
  std::map<std::string, std::uint64_t> numbers;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    ProtoFields fields(messages[i]);
    std::string deps;
    while (fields.next()) {
      if (fields.field() == 3) types.push_back(fields.number());
      if (fields.field() == 5) deps = fields.bytes();
      if (fields.field() == 7) micros.push_back(fields.number());
      if (fields.field() != 10) continue;
      ProtoFields attribute(fields.bytes());
      std::string name;
      while (attribute.next())
        if (attribute.field() == 1)
          name = attribute.bytes();
        else if (!attribute.is_bytes())
          numbers[name] = attribute.number();
    }
    EXPECT_FALSE(fields.damaged());
    EXPECT_EQ(deps, i == 1 ? "" : std::string(1, static_cast<char>(i - 2)));
  }
  EXPECT_EQ(types, (std::vector<std::uint64_t>{4, 4, 7, 6}));
  EXPECT_EQ(micros, (std::vector<std::uint64_t>{10, 1, 20, 3}));
  EXPECT_EQ(numbers.at("comm_src"), 0U);
  EXPECT_EQ(numbers.at("comm_dst"), 1U);
  EXPECT_EQ(numbers.at("comm_size"), 64U);
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
  const Scratch scratch;
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
  const Scratch scratch;
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
  const Scratch scratch;
  ASSERT_TRUE(write_goal(two_ranks(), scratch.path / "s.goal", {.recorded_times = true}));
  const std::string text = text_of(scratch.path / "s.goal");
  EXPECT_EQ(text.find("512b"), std::string::npos);
  EXPECT_NE(text.find("calc 20000"), std::string::npos);
  EXPECT_NE(text.find("calc 3000"), std::string::npos);
}

TEST(Chakra, AFileInThePlaceOfTheDirectoryIsAnError) {
  const Scratch scratch;
  std::ofstream(scratch.path / "et") << "file";
  EXPECT_FALSE(write_chakra(two_ranks(), scratch.path / "et"));
}

}  // namespace
}  // namespace stepscope
