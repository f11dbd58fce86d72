// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/library_line.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/read/incident/incident_log.h"

namespace stepscope {
namespace {

TEST(LibraryLine, HasTheErrorOfEveryLibrary) {
  using enum IncidentKind;
  struct Case {
    std::string_view line;
    IncidentKind kind;
    std::string_view host;
    std::optional<std::int64_t> pid{};
    std::optional<std::int64_t> code{};
    std::string_view text{};
  };
  const std::vector<Case> cases = {
      {"[n7:812] Signal: Aborted (6)", signal, "n7", 812, 6},
      {"[n7:812:0:813] Caught signal 11 (Segmentation fault: address not mapped)", signal, "n7",
       812, 11},
      {"Caught signal 7 (Bus error: nonexistent physical address)", signal, "", {}, 7},
      {"free(): invalid next size (normal)",
       error,
       "",
       {},
       {},
       "free(): invalid next size (normal)"},
      {"python: malloc.c: double free or corruption (out)",
       error,
       "",
       {},
       {},
       "double free or corruption (out)"},
      {"2026:11:30-12:00:00:(35) |CCL_ERROR| exec.cpp:134 start: no thread",
       error,
       "",
       35,
       {},
       "oneCCL: exec.cpp:134 start: no thread"},
      {"n7: Test NCCL failure common.cu:1285 'internal error / '",
       error,
       "n7",
       {},
       {},
       "NCCL: internal error / "},
      {"n7: Test CUDA failure common.cu:9 'out of memory'",
       device_error,
       "n7",
       {},
       {},
       "CUDA error: out of memory"},
      {"Coordination service agent in error status: INTERNAL: x",
       error,
       "",
       {},
       {},
       "Coordination service agent in error status: INTERNAL: x"}};
  for (const Case& c : cases) {
    const auto event = parse_library_error(c.line);
    ASSERT_TRUE(event) << c.line;
    EXPECT_EQ(event->kind, c.kind) << c.line;
    EXPECT_EQ(event->host, c.host) << c.line;
    EXPECT_EQ(event->pid, c.pid) << c.line;
    EXPECT_EQ(event->code, c.code) << c.line;
    EXPECT_EQ(event->text, c.text) << c.line;
  }
  EXPECT_EQ(
      parse_library_error("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD")->rank,
      3);
  EXPECT_EQ(parse_library_error("Abort(1) on node 3 (rank 5 in comm 0): Fatal error")->rank, 5);
  EXPECT_EQ(parse_library_error("  Process name: [[29973,1],4]")->rank, 4);
  for (const char* line :
       {"] Signal: Aborted (6)", "Signal: green (6)", "it ends with free(): invalid pointer",
        "Process name: [x]", "caught signal lamps", "|CCL_WARN| x", "Test NCCL failure"})
    EXPECT_FALSE(parse_library_error(line)) << line;
}

TEST(LibraryLine, TakesFieldsFromTheLinesBehind) {
  Incident found;
  IncidentLog log(found);
  log.begin(0, "job.log");
  log.take(
      "An MPI communication peer process has unexpectedly disconnected.  This\n\n"
      "  Local host: n3\n  Local PID:  77\n  Peer host:  n6\n"
      "The first process to do so was:\n\n  Process name: [[29973,1],4]\n  Exit code:    2\n"
      "n7: Test NCCL failure common.cu:1285 'internal error'\n .. n7 pid 99: Test failure "
      "a.cu:1\n");
  log.end();
  ASSERT_EQ(found.events.size(), 3U);
  EXPECT_EQ(found.events[0].host, "n3");
  EXPECT_EQ(found.events[0].pid, 77);
  EXPECT_EQ(found.events[0].where, "n6");
  EXPECT_TRUE(found.events[0].follows);
  EXPECT_EQ(found.events[1].rank, 4);
  EXPECT_EQ(found.events[1].code, 2);
  EXPECT_EQ(found.events[2].pid, 99);
}

TEST(LibraryLine, NamesTheRankThatPalsSawEnd) {
  const auto died = parse_library_error("n1.hsn: rank 2 died from signal 6 and dumped core");
  ASSERT_TRUE(died);
  EXPECT_EQ(died->kind, IncidentKind::signal);
  EXPECT_EQ(died->rank, 2);
  EXPECT_EQ(died->code, 6);
  EXPECT_EQ(died->host, "n1.hsn");
  EXPECT_FALSE(died->follows);
  const auto stopped = parse_library_error("rank 1 died from signal 15");
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->follows);
  EXPECT_FALSE(parse_library_error("the epoch: rank 2 died from signal 6"));
  EXPECT_FALSE(parse_library_error("n1: rank 2 died from signal 99"));
}

TEST(LibraryLine, HasErrorsOfTransportsAndRuntimes) {
  const auto ucx = parse_library_error(
      "[n1:77:0:77] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15)");
  ASSERT_TRUE(ucx);
  EXPECT_EQ(ucx->kind, IncidentKind::network);
  EXPECT_EQ(ucx->code, 12);
  EXPECT_EQ(ucx->pid, 77);
  const auto gaudi = parse_library_error(
      "[19:08:34.16][PT_BRIDGE       ][error][tid:44F8A] Graph compile failed.");
  ASSERT_TRUE(gaudi);
  EXPECT_EQ(gaudi->text, "SynapseAI: Graph compile failed.");
  const auto julia = parse_library_error("ERROR: LoadError: Out of GPU memory");
  ASSERT_TRUE(julia);
  EXPECT_EQ(julia->kind, IncidentKind::exception);
  EXPECT_FALSE(parse_library_error("it says ERROR: LoadError: Out of GPU memory"));
}

}  // namespace
}  // namespace stepscope
