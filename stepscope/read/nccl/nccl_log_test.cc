// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/nccl_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/base/files/text_source.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/nccl/flight_recorder.h"

namespace stepscope {
namespace {

struct ReadLog {
  CommRecords records;
  CommInput input;
  bool ok = false;
};
ReadLog read_log(const std::string& text, const char* path = "") {
  ReadLog out;
  out.input.path = path;
  CommLogs logs(out.records);
  TextSource source(text);
  out.ok = logs.add(source, out.input).has_value();
  out.records.inputs.push_back(out.input);
  logs.settle();
  settle_groups(out.records);
  return out;
}

std::vector<NcclSaying> sayings(std::string_view line, const HostNames& known = {}) {
  std::vector<NcclSaying> out;
  split_sayings(line, known, out);
  return out;
}

TEST(NcclLine, HasItsWriterInEveryDialect) {
  struct Dialect {
    const char* line;
    NcclLevel level;
    const char* text;
  };
  const std::vector<Dialect> dialects = {
      {"h:7:8 [3] NCCL INFO Launch mode Parallel", NcclLevel::info, "Launch mode Parallel"},
      {"[rank5]: h:7:8 [3] NCCL INFO x", NcclLevel::info, "x"},
      {"2026-01-31T12:00:01.5 [2026-01-31 12:00:00] h:7:8 [3] NCCL INFO x", NcclLevel::info, "x"},
      {"[2026-01-31 12:00:00] h:7:8 [3] a.cc:12 (f) NCCL WARN x", NcclLevel::warn, "x"},
      {"h:7:8 [3] a.cc:12 NCCL WARN x y", NcclLevel::warn, "x y"},
      {"h:7:8 [3] 12.5 f:12 NCCL TRACE x", NcclLevel::trace, "x"},
      {"h:7:8 [3] 1558545003174220 NCCL INFO x\r", NcclLevel::info, "x"}};
  for (const Dialect& d : dialects) {
    const auto said = sayings(d.line);
    ASSERT_EQ(said.size(), 1U) << d.line;
    EXPECT_EQ(said[0].host, "h") << d.line;
    EXPECT_EQ(said[0].pid, 7) << d.line;
    EXPECT_EQ(said[0].tid, 8) << d.line;
    EXPECT_EQ(said[0].device, 3) << d.line;
    EXPECT_EQ(said[0].level, d.level) << d.line;
    EXPECT_EQ(said[0].text, d.text) << d.line;
  }
  EXPECT_EQ(sayings("h:7:8 NCCL CALL ncclAllReduce(1,2)")[0].level, NcclLevel::call);
  EXPECT_EQ(sayings("NCCL version 2.10.3+cuda11.3")[0].text, "2.10.3+cuda11.3");
  EXPECT_TRUE(sayings("see the NCCL INFO lines").empty());
  EXPECT_TRUE(sayings("12:00:01 NCCL INFO x").empty());
}

TEST(NcclLog, RingsWithoutTheirCommunicatorAreCounted) {
  const ReadLog log = read_log(
      "h:1:1 [0] NCCL INFO Ring 00 : 0 -> 1 -> 2 -> 3 -> 0\n"
      "[rank0]: NCCL INFO Channel 00/08 : 0[0] -> 1[1] via P2P/CUMEM\n");
  ASSERT_TRUE(log.ok);
  EXPECT_EQ(log.records.inputs.back().notes.at(
                "rings_and_channels_without_the_Init_lines_of_a_communicator"),
            2U);
}

TEST(NcclLog, ConnectionsWithoutTheirCommunicatorAreOfTwoHosts) {
  const ReadLog log = read_log(
      "a:1:1 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1\n"
      "a:1:1 [0] NCCL INFO Channel 00/02 : 0 1 2 3\n"
      "a:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\n"
      "a:1:1 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via P2P/IPC\n"
      "a:2:2 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0\n"
      "b:1:1 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IB/0\n"
      "b:1:1 [0] NCCL INFO Channel 00/0 : 9[1] -> 2[0] [receive] via NET/IB/1\n");
  const NcclSetup& nccl = log.records.nccl;
  EXPECT_TRUE(nccl.communicators.empty());
  ASSERT_EQ(nccl.loose_rings.size(), 1U);
  EXPECT_EQ(nccl.loose_rings[0].ranks, 4);
  EXPECT_EQ(nccl.loose_rings[0].rings, (std::map<int, std::string>{{0, "0 1 2 3"}}));
  ASSERT_EQ(nccl.loose_connections.size(), 3U);
  const auto expect = [&](std::size_t i, const char* from, const char* to,
                          const std::map<std::string, std::uint64_t>& transports) {
    EXPECT_EQ(nccl.loose_connections[i].from, from);
    EXPECT_EQ(nccl.loose_connections[i].to, to);
    EXPECT_EQ(nccl.loose_connections[i].transports, transports);
  };
  expect(0, "", "b", {{"NET/IB/1", 1}});  // rank 9 wrote nothing
  expect(1, "a", "a", {{"P2P/IPC", 2}});
  expect(2, "a", "b", {{"NET/IB/0", 1}});  // both ends
  EXPECT_EQ(nccl.loose_connections[1].channels, (std::set<int>{0, 1}));
  // With its Init line they belong to it.
  EXPECT_TRUE(read_log("a:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\n"
                       "a:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 2 cudaDev 0 busId 1 - Init "
                       "COMPLETE\n")
                  .records.nccl.loose_connections.empty());
}

// Nothing says whether two processes, or two rings of one channel, are of one communicator.
TEST(NcclLog, RingsOfSeveralProcessesStayApart) {
  const ReadLog log = read_log(
      "a:1:1 [0] NCCL INFO Ring 00 : 0 -> 1\n"
      "a:2:1 [1] NCCL INFO Ring 00 : 1 -> 0\n"
      "a:1:1 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1\n");
  const auto& rings = log.records.nccl.loose_rings;
  ASSERT_EQ(rings.size(), 3U);
  EXPECT_EQ(rings[0].ring_hops.at(0), (std::map<int, int>{{0, 1}}));
  EXPECT_EQ(rings[1].ring_hops.at(0), (std::map<int, int>{{3, 0}, {0, 1}}));
  EXPECT_EQ(rings[2].ring_hops.at(0), (std::map<int, int>{{1, 0}}));
  EXPECT_EQ(rings[2].members[0].process, 1U);
}

// A process that drives two GPUs is two ranks, each with its communicator.
TEST(NcclLog, AProcessWithTwoCommunicatorsOfOneGroupIsTwoRanks) {
  const auto init = [](const char* thread, const char* pointer, int rank, const char* what) {
    return std::string("h:7:") + thread + " [" + std::to_string(rank) +
           "] NCCL INFO ncclCommInitRankConfig comm " + pointer + " rank " + std::to_string(rank) +
           " nranks 2 cudaDev " + std::to_string(rank) + " busId " + std::to_string(rank + 3) +
           "000 commId 0x5 - Init " + what + "\n";
  };
  const auto call = [](const char* pointer, int count) {
    return std::string("h:7:7 [0] NCCL INFO AllReduce: opCount ") + std::to_string(count) +
           " sendbuff 0x1 recvbuff 0x2 count 8 datatype 7 op 0 root 0 comm " + pointer +
           " [nranks=2] stream 0x1\n";
  };
  const ReadLog log = read_log(init("8", "0xa", 0, "START") + init("9", "0xb", 1, "START") +
                               "h:7:9 [1] NCCL INFO Trees [0] -1/-1/-1->1->0\n"
                               "h:7:8 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n" +
                               init("9", "0xb", 1, "COMPLETE") + init("8", "0xa", 0, "COMPLETE") +
                               call("0xa", 0) + call("0xb", 0) + call("0xa", 1) + call("0xb", 1));
  const CommRecords& r = log.records;
  ASSERT_EQ(r.groups.size(), 1U);
  EXPECT_EQ(r.groups[0].members, (std::vector<int>{0, 1}));
  ASSERT_EQ(r.sequences.size(), 2U);
  for (const CommSequence& s : r.sequences) EXPECT_EQ(s.collectives.size(), 2U);
  ASSERT_EQ(r.nccl.communicators.size(), 1U);
  EXPECT_EQ(r.nccl.communicators[0].members[1].trees, "[0] -1/-1/-1->1->0");
}

std::string timeout_of(int rank, const std::string& call) {
  return "[E ProcessGroupNCCL.cpp:457] [Rank " + std::to_string(rank) +
         "] Watchdog caught collective operation timeout: WorkNCCL(" + call +
         ", Timeout(ms)=1800000) ran for 1800035 milliseconds before timing out.\n";
}

TEST(NcclLog, RanksBelowAWrittenOneAreMembersOfItsGroup) {
  std::string text;
  for (const int rank : {3, 1, 2})
    text += timeout_of(rank, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4");
  const ReadLog log = read_log(text);
  ASSERT_EQ(log.records.groups.size(), 1U);
  EXPECT_TRUE(log.records.groups[0].unnamed);
  EXPECT_EQ(log.records.groups[0].members, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(log.records.groups[0].size, 0);
}

TEST(NcclLog, AnAllGatherSaysHowManyRanksItsGroupHas) {
  const ReadLog log = read_log(
      "[rank9]:" + timeout_of(2, "SeqNum=7, OpType=_ALLGATHER_BASE, NumelIn=5, NumelOut=40"));
  ASSERT_EQ(log.records.groups.size(), 1U);
  EXPECT_EQ(log.records.groups[0].size, 8);
  EXPECT_EQ(log.records.groups[0].places, (std::map<int, int>{{2, 9}}));
  EXPECT_EQ(log.records.groups[0].members, (std::vector<int>{9}));
  const ReadLog scatter =
      read_log(timeout_of(0, "SeqNum=7, OpType=_REDUCE_SCATTER_BASE, NumelIn=96, NumelOut=1"));
  EXPECT_EQ(scatter.records.groups[0].size, 96);
}

TEST(NcclLog, CallsThatAreFarApartAreNotOneGroup) {
  const ReadLog log = read_log(timeout_of(0, "SeqNum=96120, OpType=ALLREDUCE") +
                               timeout_of(0, "SeqNum=96117, OpType=ALLREDUCE") +
                               timeout_of(7, "SeqNum=64088, OpType=ALLREDUCE"));
  EXPECT_EQ(log.records.groups.size(), 2U);
  EXPECT_EQ(log.records.timeouts.size(), 3U);
}

TEST(NcclLog, ReadsWatchdogsOfEveryVersion) {
  // PyTorch 1.9 to 1.12 write no number.
  ReadLog log = read_log("  what():  " + timeout_of(3, "OpType=ALLREDUCE").substr(29));
  ASSERT_TRUE(log.ok);
  ASSERT_EQ(log.records.timeouts.size(), 1U);
  EXPECT_EQ(log.records.timeouts[0].sequence, -1);
  log = read_log(
      "[Rank 2] Caught collective operation timeout: WorkNCCL(OpType=BROADCAST, TensorShape=[8, "
      "2], "
      "Timeout(ms)=1000) ran for 1002 milliseconds before timing out.\n");
  ASSERT_EQ(log.records.timeouts.size(), 1U);
  EXPECT_EQ(log.records.timeouts[0].in_elements, 16);
  // Wrapped by a page and by a terminal, and with the prefix of Ray.
  log = read_log(
      "(Worker pid=3, ip=10.0.0.1) [rank3] [Rank 3] Watchdog caught collective operation timeout:\n"
      "(Worker pid=3, ip=10.0.0.1) WorkNCCL(SeqNum=64, OpType=ALLGATHER, NumelIn=1, NumelO\n"
      "(Worker pid=3, ip=10.0.0.1) ut=32, Timeout(ms)=6000\n"
      "(Worker pid=3, ip=10.0.0.1) 00) ran for 600012 milliseconds before timing out.\n");
  ASSERT_EQ(log.records.timeouts.size(), 1U);
  EXPECT_EQ(log.records.timeouts[0].out_elements, 32);
  EXPECT_EQ(log.records.timeouts[0].limit, Ns(600'000'000'000));
  // Memory that nobody has set.
  const auto status = parse_watchdog(
      "[rank2]:[E a.cpp:1] [PG 0 Rank 2] Timeout at NCCL work: 1, last enqueued NCCL work: 1, last "
      "completed "
      "NCCL work: 76280750235782912.");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->enqueued, 1);
  EXPECT_FALSE(status->completed);
}

TEST(NcclLog, AFieldAtTheEndOfACutLineIsAbsent) {
  const std::string front = "[Rank 5] Watchdog caught collective operation timeout: WorkNCCL(";
  EXPECT_FALSE(parse_watchdog(front + "SeqNum=46"));
  const auto said = parse_watchdog(front + "SeqNum=469, OpType=ALLR");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->sequence, 469);
  EXPECT_EQ(said->operation, "");
  EXPECT_FALSE(parse_watchdog(front + "SeqNum=4, OpType=ALLREDUCE, NumelIn=12")->in_elements);
  // The next message is not the rest of a cut one.
  const ReadLog log = read_log("[E] " + front + "SeqNum=7, OpType=ALLR\n" +
                               timeout_of(1, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4"));
  ASSERT_EQ(log.records.timeouts.size(), 2U);
  EXPECT_EQ(log.records.timeouts[0].group, log.records.timeouts[1].group);
}

TEST(NcclLog, AStatusSaysWhetherACallHadStarted) {
  const std::string call = timeout_of(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4");
  const auto state_with = [&](const std::string& status) {
    const ReadLog log = read_log(call +
                                 "[PG 1 Rank 0] Timeout at NCCL work: 7, last enqueued NCCL "
                                 "work: 9, " +
                                 status + "last completed NCCL work: 6.\n");
    return log.records.sequences.at(0).collectives.at(0).state;
  };
  EXPECT_EQ(state_with(""), CallState::unfinished);
  EXPECT_EQ(state_with("last started NCCL work: 6, "), CallState::scheduled);
  EXPECT_EQ(state_with("last started NCCL work: 7, "), CallState::started);
}

TEST(NcclLog, AWrappedStatusAloneIsATimeout) {
  const ReadLog log = read_log(
      "[stderr] [rank3]:[E ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank 3] Timeout at NCCL "
      "work: 20, last enqueued \nNCCL work: 22, last completed NCCL work: 19.\n");
  ASSERT_EQ(log.records.timeouts.size(), 1U);
  EXPECT_EQ(log.records.timeouts[0].sequence, 20);
  EXPECT_EQ(log.records.groups[log.records.timeouts[0].group].name, "default_pg");
  EXPECT_EQ(log.records.sequences.at(0).status->enqueued, 22);
}

TEST(NcclLog, ReadsWhatADetailedCheckCompared) {
  const auto print = [](int rank, int sequence, const char* shape) {
    return "Rank " + std::to_string(rank) +
           " is running collective: CollectiveFingerPrint(SequenceNumber=" +
           std::to_string(sequence) + ", OpType=ALLREDUCE, TensorShape=" + shape +
           ", TensorDtypes=BFloat16, TensorDeviceTypes=TensorOptions(dtype=float (default), "
           "device=cuda))";
  };
  const ReadLog log =
      read_log("[rank1]: RuntimeError: Detected mismatch between collectives on ranks. " +
               print(1, 9, "[4, 2]") + ", but " + print(0, 9, "[6]") + ".\n" +
               "Detected mismatch between collectives on ranks. Rank 0 is running\n");
  ASSERT_EQ(log.records.compared.size(), 1U);
  EXPECT_EQ(log.records.compared[0].rank, 1);
  EXPECT_EQ(log.records.compared[0].call.in_elements, 8);
  EXPECT_EQ(log.records.compared[0].instead.in_elements, 6);
  EXPECT_EQ(log.records.compared[0].instead.sequence, 9);
}

TEST(NcclLog, ReadsWhatRanksOfEarlyVersionsCompared) {
  ReadLog log = read_log(
      "Detected mismatch between collectives on ranks. Rank 3 is running inconsistent collective: "
      "CollectiveFingerPrint(OpType=BROADCAST, TensorShape=[34], TensorDtypes=Float, x\n");
  ASSERT_EQ(log.records.compared.size(), 1U);
  EXPECT_EQ(log.records.compared[0].rank, 3);
  EXPECT_FALSE(log.records.compared[0].other);
  EXPECT_EQ(log.records.compared[0].call.in_elements, 34);
  log = read_log(
      "Detected mismatch between collectives on ranks. Rank 0 is running collective: "
      "CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[8]), but Rank 1 is running collective: "
      "REDUCE.\n");
  ASSERT_EQ(log.records.compared.size(), 1U);
  EXPECT_EQ(log.records.compared[0].other, 1);
  EXPECT_EQ(log.records.strings[log.records.compared[0].instead.name], "REDUCE");
}

// Only some ranks name their group; the others wait in the same call.
TEST(NcclLog, FindsTheGroupOfATimeoutByItsCall) {
  const std::string call = "SeqNum=7, OpType=ALLREDUCE, NumelIn=64, NumelOut=64";
  const std::string named =
      "[PG 1 Rank 0] Timeout at NCCL work: 7, last enqueued NCCL work: 9, "
      "last completed NCCL work: 6.\n";
  const ReadLog log = read_log(timeout_of(0, call) + timeout_of(2, call) + named);
  ASSERT_EQ(log.records.timeouts.size(), 2U);
  EXPECT_EQ(log.records.timeouts[0].group, log.records.timeouts[1].group);
  const ReadLog other =
      read_log(timeout_of(0, call) +
               timeout_of(2, "SeqNum=7, OpType=ALLREDUCE, NumelIn=65, NumelOut=65") + named);
  EXPECT_NE(other.records.timeouts[0].group, other.records.timeouts[1].group);
}

TEST(NcclLog, ReadsTasksThatMissedABarrierOfJax) {
  const ReadLog log = read_log(
      "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: start0. Timed out task "
      "names:\n/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:0\n\n"
      "RuntimeError: [Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 2000 ms\n");
  ASSERT_EQ(log.records.barriers.size(), 2U);
  EXPECT_EQ(log.records.barriers[0].name, "start0");
  EXPECT_EQ(log.records.barriers[0].missing, (std::vector<int>{0, 3}));
  EXPECT_TRUE(log.records.barriers[1].name.empty());
}

TEST(NcclLog, ReadsRanksThatMissedABarrier) {
  const ReadLog log = read_log(
      "[E ProcessGroupGloo.cpp:138] [Rank 0]: Rank 4 failed to pass monitoredBarrier in 2000 ms\n"
      "RuntimeError: [Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 2000 ms\n"
      "monitoredBarrier passed\n");
  ASSERT_EQ(log.records.barriers.size(), 1U);
  EXPECT_EQ(log.records.barriers[0].missing, (std::vector<int>{4, 5}));
  EXPECT_EQ(log.records.barriers[0].waits, 0);
}

TEST(NcclLog, JoinsTheWaitsOfOneStoreBarrierUntilItIsOver) {
  const auto waits = [](int rank, int came) {
    return "Waiting in store based barrier to initialize process group for rank: " +
           std::to_string(rank) + ", key: k:1 (world_size=4, worker_count=" + std::to_string(came) +
           ", timeout=0:30:00)\n";
  };
  const std::string said = waits(1, 1) + waits(3, 2) + waits(1, 2);
  const ReadLog log = read_log(said);
  EXPECT_TRUE(log.ok);
  ASSERT_EQ(log.records.set_up.size(), 1U);
  EXPECT_EQ(log.records.set_up[0].ranks, (std::set<int>{1, 3}));
  EXPECT_EQ(log.records.set_up[0].came, 2);
  EXPECT_EQ(log.records.set_up[0].size, 4);
  EXPECT_TRUE(log.records.rank_index.contains(3));
  const std::string over = "Rank 1: Completed store-based barrier for key:k:1 with 4 nodes.\n";
  EXPECT_TRUE(read_log(said + over).records.set_up.empty());
  EXPECT_FALSE(read_log(over).ok);
}

TEST(NcclLog, ALineWithoutItsProcessHidesNoHost) {
  const auto joined = [](const std::string& host) {
    return host + ":7:7 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 - Init COMPLETE\n";
  };
  const ReadLog log =
      read_log("NCCL INFO Launch mode Parallel\n" + joined("a") + joined("b") + joined("cut offb"));
  std::vector<std::string> hosts;
  for (const auto& p : log.records.nccl.processes)
    if (p.pid == 7) hosts.push_back(p.host);
  EXPECT_EQ(hosts, (std::vector<std::string>{"a", "b"}));
}

TEST(NcclLog, TimeoutsTakeTheGroupThatALaterLineOfTheirRankNames) {
  std::string text;
  for (const std::string rank : {"0", "1"})
    text += "[rank" + rank + "]:[E] [Rank " + rank +
            "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=57, "
            "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 milliseconds before timing "
            "out.\n";
  text +=
      "[rank1]:[E] [PG ID 0 PG GUID 3(tp) Rank 1] Exception (either an error or timeout) detected "
      "by watchdog at work: 57, last enqueued NCCL work: 58, last completed NCCL work: 56.\n";
  const ReadLog log = read_log(text);
  ASSERT_EQ(log.records.timeouts.size(), 2U);
  EXPECT_EQ(log.records.ranks[log.records.timeouts[0].rank].number, 1);
  EXPECT_EQ(log.records.groups[log.records.timeouts[0].group].id, "3");
  EXPECT_TRUE(log.records.groups[log.records.timeouts[1].group].unnamed);
}

// As a book quotes them: without their process, and with bytes in the place of count and comm.
TEST(NcclLog, AnExcerptIsReadAndItsGapsAreNamed) {
  const ReadLog log = read_log(
      "NCCL INFO Ring 00 : 0 -> 1 -> 2 -> 3 -> 0\n"
      "NCCL INFO AllReduce: opCount 42 bytes 104857600 datatype 7 op 0\n");
  ASSERT_TRUE(log.ok);
  EXPECT_EQ(log.input.notes.at("lines_without_a_host_and_process"), 2U);
  EXPECT_EQ(log.input.notes.at("calls_that_name_neither_communicator_nor_count"), 1U);
  EXPECT_EQ(log.input.notes.at("AllReduce_opCount_42_bytes_104857600"), 1U);
  const std::string line = "NCCL INFO Ring 00 : 0 -> 1 -> 0\n";  // its file may name the process
  EXPECT_EQ(read_log(line, "nccl_log_4242.txt").input.notes.size(), 1U);
  EXPECT_EQ(read_log(line, "job/nccl_log_a_4242.txt").input.notes.size(), 0U);
}

TEST(NcclLine, IsTakenApartWhereWritersCutIntoEachOther) {
  const auto said =
      sayings("h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -h:2:2 [1] NCCL INFO Connected");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].text, "Channel 00/0 : 0[0]");
  EXPECT_EQ(said[1].text, "Connected");
  EXPECT_EQ(said[1].pid, 2);
  const auto glued =
      sayings("h:1:1 [0] NCCL INFO Init COMPLETEnode1:2:2 [1] NCCL INFO x", {"node1"});
  ASSERT_EQ(glued.size(), 2U);
  EXPECT_EQ(glued[0].text, "Init COMPLETE");
  EXPECT_EQ(glued[1].host, "node1");
  std::string room;
  EXPECT_EQ(without_colours("\x1b[1;32mok\x1b[0m", room), "ok");
  EXPECT_EQ(without_colours("a\x1b[3", room), "a");
}

TEST(NcclLine, HasTheArgumentsOfACall) {
  const auto call = parse_call(
      "AllReduce: opCount 2a sendbuff 0x7f recvbuff 0x8f acc (nil) count 1048576 datatype 7 op 0 "
      "root 0 comm 0x55d0 [nranks=8] stream 0x11 task 0 globalrank 0");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->operation, "AllReduce");
  EXPECT_EQ(call->op_count, 42);
  EXPECT_EQ(call->count, 1048576);
  EXPECT_EQ(nccl_type_name(call->type), "float32");
  EXPECT_EQ(nccl_reduction_name(call->reduction), "sum");
  EXPECT_EQ(call->ranks, 8);
  EXPECT_EQ(call->communicator, 0x55d0U);
  EXPECT_FALSE(parse_call("AllReduce: opCount zz count 1"));
  EXPECT_FALSE(parse_call("AllReduce: opCount 1 sendbuff 0x7f recvb"));
  EXPECT_FALSE(parse_call("AllReduce: 4 Bytes -> Algo TREE proto LL"));
  const auto cut = parse_call("Send: opCount 1 count 8 datatype 0 op 0 root 3 c");
  ASSERT_TRUE(cut);
  EXPECT_FALSE(cut->communicator);
}

TEST(NcclLine, NamesTheAlgorithmOfEveryVersion) {
  const auto old = parse_choice("1048576 Bytes -> Algo 1 proto 2 time 123.4");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->algorithm, "RING");
  EXPECT_EQ(old->protocol, "SIMPLE");
  const auto current = parse_choice("AllReduce: 4 Bytes -> Algo NVLS_TREE proto LL128 channel{}");
  ASSERT_TRUE(current);
  EXPECT_EQ(current->operation, "AllReduce");
  EXPECT_EQ(current->bytes, 4);
  EXPECT_EQ(current->algorithm, "NVLS_TREE");
}

TEST(NcclLine, HasWhatAWatchdogGaveUpOn) {
  const auto said = parse_watchdog(
      "[rank1]:[E810 03:04:11.06 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=80, NumelOut=81, "
      "Timeout(ms)=600000) ran for 600096 milliseconds before timing out.");
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->timeout);
  EXPECT_EQ(said->rank, 1);
  EXPECT_EQ(said->sequence, 78);
  EXPECT_EQ(said->operation, "BROADCAST");
  EXPECT_EQ(said->in_elements, 80);
  EXPECT_EQ(said->out_elements, 81);
  EXPECT_EQ(said->limit_ms, 600000);
  EXPECT_EQ(said->ran_ms, 600096);
  EXPECT_EQ(said->group, "");
  const auto status = parse_watchdog(
      "[rank1]:[E810 ProcessGroupNCCL.cpp:2241] [PG ID 3 PG GUID 7(tp) Rank 1]  failure detected "
      "by "
      "watchdog at work sequence id: 78 PG status: last enqueued work: 79, last completed work: "
      "77");
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->timeout);
  EXPECT_EQ(status->group, "7");
  EXPECT_EQ(status->group_name, "tp");
  EXPECT_EQ(status->enqueued, 79);
  EXPECT_EQ(status->completed, 77);
  EXPECT_FALSE(parse_watchdog("NCCL work is last"));
}

constexpr const char* calls =
    "Epoch 1\n"
    "h:10:1 [0] NCCL INFO ncclCommInitRank comm 0xa rank 0 nranks 2 busId 1 commId 0x9 - Init "
    "START\n"
    "h:11:1 [1] NCCL INFO ncclCommInitRank comm 0xb rank 1 nranks 2 busId 2 commId 0x9 - Init "
    "START\n"
    "h:10:1 [0] NCCL INFO Channel 00/02 : 0 1\n"
    "h:10:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
    "h:10:1 [0] NCCL INFO 2 coll channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per "
    "peer\n"
    "h:10:1 [0] NCCL INFO ncclCommInitRank comm 0xa rank 0 nranks 2 busId 1 commId 0x9 - Init "
    "COMPLETE\n"
    "h:11:1 [1] NCCL INFO ncclCommInitRank comm 0xb rank 1 nranks 2 busId 2 commId 0x9 - Init "
    "COMPLETE\n"
    "h:10:1 [0] NCCL INFO AllGather: opCount 0 sendbuff 0x1 recvbuff 0x2 count 8 datatype 0 op 0 "
    "root "
    "0 comm 0xa [nranks=2] stream 0x1\n"
    "\x1b[31mh:11:1 [1] NCCL INFO AllGather: opCount 0 sendbuff 0x1 recvbuff 0x2 count 9 datatype "
    "0 "
    "op 0 root 0 comm 0xb [nranks=2] stream 0x1\x1b[0m\n"
    "h:11:1 [1] NCCL INFO Send: opCount 1 sendbuff 0x1 recvbuff (nil) count 9 datatype 0 op 0 root "
    "0 "
    "comm 0xb [nranks=2] stream 0x1\n"
    "h:11:1 [1] NCCL INFO Send: opCount 2 sendbuff 0x1 rech:11:2 [1] NCCL INFO Connected all trees";

TEST(NcclLog, KeepsTheCallsOfEachCommunicatorAndHowItIsConnected) {
  const ReadLog log = read_log(calls);
  ASSERT_TRUE(log.ok);
  const CommRecords& r = log.records;
  ASSERT_EQ(r.groups.size(), 1U);
  EXPECT_EQ(r.groups[0].members, (std::vector<int>{0, 1}));
  ASSERT_EQ(r.sequences.size(), 2U);
  EXPECT_EQ(r.sequences[0].collectives[0].in_elements, 8);
  EXPECT_EQ(r.sequences[1].collectives[0].in_elements, 9);
  ASSERT_EQ(r.sequences[1].pairs.size(), 1U);
  EXPECT_EQ(r.sequences[1].pairs[0].peer, 0);
  EXPECT_EQ(log.input.calls, 3U);
  EXPECT_EQ(log.input.notes.at("calls_cut_before_their_communicator"), 1U);
  ASSERT_EQ(r.nccl.communicators.size(), 1U);
  const LoggedCommunicator& c = r.nccl.communicators[0];
  EXPECT_EQ(c.id, "0x9");
  EXPECT_EQ(c.channels, 2);
  EXPECT_EQ(c.pair_channels, 4);
  EXPECT_EQ(c.rings, (std::map<int, std::string>{{0, "0 1"}}));
  EXPECT_EQ(c.transports.at("P2P/CUMEM"), 1U);
  EXPECT_TRUE(c.members[0].complete);
}

TEST(NcclLog, KeepsTheRingAndTheTreesOfEachRank) {
  const ReadLog log = read_log(
      "h:1:1 [0] NCCL INFO Ring 00 : 2 -> 0 -> 1\n"
      "h:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1  [1] 1/-1/-1->0->-1\n"
      "h:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 3 cudaDev 0 busId 1 - Init COMPLETE\n"
      "h:2:1 [1] NCCL INFO Ring 00 : 0 -> 1 -> 2\n"
      "h:2:1 [1] NCCL INFO Trees [0] 2/-1/-1->1->0 [1] 2/-1/-1->1->0\n"
      "h:2:1 [1] NCCL INFO comm 0xb rank 1 nranks 3 cudaDev 1 busId 2 - Init COMPLETE\n"
      "h:3:1 [2] NCCL INFO Ring 01 : 0 -> 1 -> 2 -> 0\n"
      "h:3:1 [2] NCCL INFO Ring 0x : 0\n"
      "h:3:1 [2] NCCL INFO comm 0xc rank 2 nranks 3 cudaDev 2 busId 3 - Init COMPLETE\n");
  ASSERT_EQ(log.records.nccl.communicators.size(), 1U);
  const LoggedCommunicator& c = log.records.nccl.communicators[0];
  const std::map<int, int> ring = {{0, 1}, {1, 2}, {2, 0}};
  EXPECT_EQ(c.ring_hops.at(0), ring);
  EXPECT_EQ(c.ring_hops.at(1), ring);
  ASSERT_EQ(c.members.size(), 3U);
  EXPECT_EQ(c.members[0].trees, "[0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1");
  EXPECT_EQ(c.members[2].trees, "");
}

TEST(NcclLog, JoinsCommunicatorsWithoutIdsOnlyWhereOrderTells) {
  const auto line = [](int process, int pointer, int rank, int ranks) {
    return "h:" + std::to_string(process) + ":1 [0] NCCL INFO comm 0x" + std::to_string(pointer) +
           " rank " + std::to_string(rank) + " nranks " + std::to_string(ranks) +
           " cudaDev 0 busId 1 - Init COMPLETE\n";
  };
  std::string text;
  for (int p = 0; p < 4; ++p) text += line(p + 1, 10 + p, p, 4);
  const ReadLog one = read_log(text);
  EXPECT_EQ(one.records.nccl.communicators.size(), 1U);
  EXPECT_EQ(one.records.ranks.size(), 4U);
  EXPECT_EQ(one.records.ranks[3].number, 3);
  for (int p = 0; p < 4; ++p) text += line(p + 1, 20 + p, p % 2, 2);
  const ReadLog pairs = read_log(text);
  EXPECT_EQ(pairs.records.nccl.communicators.size(), 5U);
  EXPECT_EQ(
      pairs.records.inputs[0].notes.count("communicators_of_one_size_that_cannot_be_told_apart"),
      1U);
}

TEST(NcclLog, PutsATimeoutIntoTheGroupThatItsRankNamesLater) {
  const ReadLog log = read_log(
      "[rank0]: [E ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump "
      "signal. Last enqueued NCCL work: 77, last completed NCCL work: 77.\n"
      "[rank1]: [E ProcessGroupNCCL.cpp:1] [Rank 1] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=80, NumelOut=80, Timeout(ms)=600000) ran for "
      "600096 milliseconds\n"
      "[rank1]: [E ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 1] failure detected "
      "by "
      "watchdog at work sequence id: 78 PG status: last enqueued work: 79, last completed work: "
      "77\n");
  ASSERT_TRUE(log.ok);
  ASSERT_EQ(log.records.timeouts.size(), 1U);
  EXPECT_EQ(log.records.groups[log.records.timeouts[0].group].name, "default_pg");
  EXPECT_EQ(log.records.timeouts[0].limit, Ns(600'000'000'000));
  const auto late = std::ranges::find_if(log.records.sequences, [&](const CommSequence& s) {
    return log.records.ranks[s.rank].number == 0;
  });
  ASSERT_NE(late, log.records.sequences.end());
  EXPECT_EQ(late->status->enqueued, 77);
  EXPECT_TRUE(late->watchdog_only);
}

TEST(NcclLog, IsRefusedWhereNobodySpeaksOfCommunication) {
  EXPECT_FALSE(read_log("step 1 loss 2\nNCCL is a library\n").ok);
  EXPECT_FALSE(read_log("").ok);
  const ReadLog long_line = read_log(std::string(3'000'000, 'x') + "\n" + calls);
  EXPECT_TRUE(long_line.ok);
  EXPECT_EQ(long_line.input.calls, 3U);
}

TEST(NcclLog, CountsWarningsOfEachRank) {
  const ReadLog log = read_log(std::string(calls) +
                               "\n\nh:10:1 [0] a.cc:1 NCCL WARN Call to ibv_modify_qp failed\n"
                               "h:10:1 [0] a.cc:1 NCCL WARN Call to ibv_modify_qp failed\n");
  ASSERT_EQ(log.records.messages.size(), 1U);
  EXPECT_EQ(log.records.messages[0].times, 2U);
  EXPECT_EQ(log.records.ranks[*log.records.messages[0].rank].number, 0);
}

}  // namespace
}  // namespace stepscope
