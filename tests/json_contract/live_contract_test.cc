// SPDX-License-Identifier: Apache-2.0
// The JSON of a followed job as documented: a job of four ranks. The third rank becomes slow in its
// collectives, and the second in its file of steps. Transfers in a second communicator take longer
// from the same step on.
#include <fstream>

#include "tests/json_contract/documented.h"

namespace stepscope::contract {
namespace {

void write_job(const std::string& folder) {
  std::filesystem::create_directories(folder);
  long long now = 1'750'000'000'000'000;
  for (int step = 0; step < 200; ++step) {
    const int slow = step < 120 ? 0 : 30'000;
    for (int part = 0; part < 4; ++part) {
      const bool other = part >= 2;
      const int time = other ? 5000 + slow / 3 : 5000;
      now += other ? 20'000 : 100'000 + slow;
      for (int rank = 0; rank < 4; ++rank) {
        std::ofstream out(folder + "/host-pid" + std::to_string(rank) + ".log", std::ios::app);
        out << R"({"header":{"id":")" << (other ? "0xb" : "0xa") << R"(","comm_name":")"
            << (other ? "TP" : "DP") << R"(","rank":)" << rank
            << R"(,"n_ranks":4,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.2",)"
            << R"("dump_timestamp_us":)" << now << R"(,"hostname":"host","pid":)" << rank
            << R"(},"coll_perf":{"coll":")" << (part % 2 == 0 ? "AllGather" : "AllReduce")
            << R"(","coll_sn":)" << step << R"(,"coll_msg_size_bytes":1048576,)"
            << R"("coll_exec_time_us":)"
            << time + (other || rank == 2 ? 0 : slow) + (rank * 7 + step) % 5 << "}}\n";
      }
    }
  }
  std::ofstream(folder + "/none.txt") << "a line of nothing\n";
}

void write_steps(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (int rank = 0; rank < 4; ++rank) {
    std::ofstream out(folder + "/steps-rank" + std::to_string(rank) + ".jsonl");
    for (int step = 0; step < 200; ++step) {
      const int data = rank == 1 && step >= 120 ? 40'000'000 : 1'000'000;
      const int wall = (step < 120 ? 200'000'000 : 260'000'000) + step % 7 * 100'000;
      out << R"({"stepscope":"step","rank":)" << rank << R"(,"world":4,"host":"host","pid":)"
          << rank << R"(,"step":)" << step << R"(,"wall_ns":)" << wall << R"(,"wait_ns":)"
          << wall - 100'000'000 - data << R"(,"phases_ns":{"data":)" << data << "}}\n";
    }
    out << R"({"stepscope":"step",)" << "\n";
  }
}

TEST(JsonContract, HoldsForAFollowedJob) {
  const program::ScratchFolder scratch;
  const std::string folder = scratch.file("job");
  write_job(folder);
  const std::string steps = scratch.file("steps");
  write_steps(steps);
  // Collectives alone show how much longer transfers are.
  const auto alone = program::run({"live", folder, "--once", "--json", "-"});
  ASSERT_EQ(alone.exit_code, 0) << alone.errors;
  bool transfers = false;
  const auto told = nlohmann::json::parse(alone.printed);
  for (const auto& event : told["events"])
    transfers |= event["change"].is_object() && event["change"]["transfer_ns"].is_number();
  EXPECT_TRUE(transfers);
  const auto run = program::run({"live", folder, steps, "--once", "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  expect_contract("stepscope live", run, {"events.seconds", "events.change.transfer_ns"});
  const auto tree = nlohmann::json::parse(run.printed);
  std::set<std::string> kinds;
  for (const auto& event : tree["events"]) kinds.insert(event["kind"]);
  EXPECT_TRUE(kinds.contains("late"));
  EXPECT_TRUE(kinds.contains("slower"));
  for (const auto& process : tree["processes"])
    EXPECT_EQ(process["late"].is_null(), process["rank"] != 1 && process["rank"] != 2) << process;
  EXPECT_EQ(tree["coverage"]["records"], 3200);
}

}  // namespace
}  // namespace stepscope::contract
