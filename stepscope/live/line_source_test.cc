// SPDX-License-Identifier: Apache-2.0
// Lines of each kind of file, as their writers write them.
#include "stepscope/live/line_source.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

std::string plugin_row(int rank, int number, double begin_us, double taken_us,
                       const char* name = "allreduce") {
  return R"({"ph":"X","cat":"kernel","pid":0,"tid":1,"name":"ncclAllReduce_RING_LL","ts":)" +
         std::to_string(begin_us) + R"(,"dur":)" + std::to_string(taken_us) +
         R"(,"args":{"device":0,"stream":1,"correlation":5,"Collective name":")" + name +
         R"(","dtype":"Float","In msg nelems":4096,"Out msg nelems":4096,"Group size":2,)" +
         R"("Process Group Name":"0x1f","Rank":)" + std::to_string(rank) + R"(,"Seq":)" +
         std::to_string(number) + R"(,"NCCL seq":1,"timing":"gpu"}},)";
}

TEST(LineSource, ReadsRowsOfTheNcclPlugin) {
  JobState state;
  LineSource a("a.partial.json"), b("b.partial.json");
  a.take(R"({"schemaVersion":1,"written by":"stepscope NCCL plugin")", state, 0);
  for (int n = 0; n < 3; ++n) {
    a.take(plugin_row(0, n, 1000 + n * 500, 300), state, n);
    b.take(plugin_row(1, n, 5000 + n * 500, 100), state, n);
  }
  EXPECT_EQ(a.kind(), LineKind::nccl_plugin);
  EXPECT_EQ(a.not_understood(), 0U);
  ASSERT_EQ(state.communicators().size(), 1U);
  const LiveCommunicator& c = *state.communicators()[0];
  EXPECT_EQ(c.counts().matched, 6U);
  EXPECT_FLOAT_EQ(static_cast<float>(c.transfer()), 300e3F);
  EXPECT_FLOAT_EQ(c.wait(0), 600e3F);
  EXPECT_FLOAT_EQ(c.wait(1), 0.0F);
}

// "Rank" of a broadcast is its root. The own rank is known from other calls of the communicator.
TEST(LineSource, TakesTheOwnRankOfRootedCallsFromOthers) {
  JobState state;
  LineSource source("a");
  source.take(plugin_row(0, 0, 1000, 300, "broadcast"), state, 0);
  EXPECT_EQ(source.not_understood(), 1U);
  source.take(plugin_row(1, 1, 2000, 300), state, 0);
  source.take(plugin_row(0, 2, 3000, 300, "broadcast"), state, 0);
  EXPECT_EQ(source.not_understood(), 1U);
  EXPECT_EQ(state.coverage().records, 2U);
  EXPECT_EQ(state.processes()[0].rank, 1);
}

std::string torchtitan(int rank, int step, long long us) {
  return R"({"delta_ms": 1.5, "tid": 7, "rank": )" + std::to_string(rank) +
         R"(, "source": "training", "host_name": "node1", "pid": 77, "step": )" +
         std::to_string(step) + R"(, "time_us": )" + std::to_string(us) +
         R"(, "log_type": "event", "log_type_name": "fwd_bwd_start", "seq_id": 3})";
}

TEST(LineSource, TakesStepsOfTorchtitanFromItsFirstRecords) {
  JobState state;
  LineSource zero("r0.jsonl"), one("r1.jsonl");
  for (int s = 1; s <= 4; ++s)
    for (int part = 0; part < 3; ++part) {
      zero.take(torchtitan(0, s, 1'700'000'000'000'000 + s * 250'000 + part * 70'000), state, s);
      one.take(torchtitan(1, s, 1'700'000'000'000'000 + s * 250'000 + part * 70'000), state, s);
    }
  EXPECT_EQ(zero.kind(), LineKind::torchtitan);
  EXPECT_EQ(state.step_source(), StepSource::log);
  EXPECT_EQ(state.curve().steps(), 3);
  EXPECT_EQ(state.curve().last(), 3);
  EXPECT_EQ(state.curve().recent_ns(), 250e6);
}

TEST(LineSource, GivesEachStepOfALogOnceInBoundedMemory) {
  JobState state;
  LineSource source("train.log");
  source.take("loading data", state, 0);
  for (int s = 0; s < 5000; ++s) {
    source.take("step " + std::to_string(s) +
                    "  loss 4.0  norm 2.9  lr 3.00e-04     241.5 ms   4.24 k tokens/s   15.8 % MFU",
                state, s);
    if (s % 7 == 0) source.flush(state, s);
  }
  source.flush(state, 5000);
  source.flush(state, 5000);
  EXPECT_EQ(source.kind(), LineKind::log);
  EXPECT_EQ(state.curve().steps(), 5000);
  EXPECT_EQ(state.curve().last(), 4999);
}

TEST(LineSource, ReadsALogByItsPattern) {
  JobState state;
  LineSource source("train.log", *parse_line_pattern("it {step} took {s} s"));
  for (int s = 0; s < 9; ++s) source.take("it " + std::to_string(s) + " took 0.25 s", state, s);
  source.flush(state, 9);
  EXPECT_EQ(state.curve().steps(), 9);
  EXPECT_EQ(state.curve().recent_ns(), 250e6);
}

TEST(LineSource, LeavesOutDurationsThatTheGpuDidNotTime) {
  JobState state;
  LineSource source("a");
  source.take(R"({"header":{"id":"0xa","rank":0,"n_ranks":2,"nnodes":1},"metadata":{)"
              R"("inspector_output_format_version":"v4.2","hostname":"h","pid":1},"coll_perf":{)"
              R"("coll":"AllReduce","coll_sn":1,"coll_msg_size_bytes":8192,"coll_exec_time_us":7,)"
              R"("coll_timing_source":"collective_cpu"}})",
              state, 0);
  EXPECT_EQ(state.coverage().not_gpu_timed, 1U);
  EXPECT_EQ(state.coverage().records, 0U);
}

TEST(LineSource, CountsLinesOfNoKind) {
  JobState state;
  LineSource source("a");
  source.take("{\"a\": 1}", state, 0);
  EXPECT_EQ(source.kind(), LineKind::unknown);
  EXPECT_EQ(source.not_understood(), 1U);
}

TEST(LineSource, RowsOfATrainerAreALog) {
  JobState state;
  LineSource source("trainer_log.jsonl");
  for (int n = 0; n < 4; ++n)
    source.take(R"({"current_steps": )" + std::to_string(10 * n) +
                    R"(, "loss": 1.5, "elapsed_time": "0:0)" + std::to_string(n) + R"(:00"})",
                state, n);
  EXPECT_EQ(source.kind(), LineKind::log);
  source.flush(state, 4);
  EXPECT_EQ(state.curve().steps(), 30);
}

}  // namespace
}  // namespace stepscope
