// SPDX-License-Identifier: Apache-2.0
// Lines as torchrun, srun, Slurm, mpirun, NVIDIA's driver, the kernel, NCCL and Python write them,
// with other values.
#include "stepscope/read/incident/incident_log.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/read/incident/ended_line.h"
#include "stepscope/read/incident/incident_line.h"

namespace stepscope {
namespace {

Incident incident_in(std::string_view text, std::string_view path = "train.log") {
  Incident out;
  IncidentLog log(out);
  log.begin(0, path);
  log.take(text);
  log.end();
  log.settle();
  return out;
}

TEST(IncidentLine, HasTheEndOfAProcessInEveryDialect) {
  struct Case {
    const char* line;
    IncidentKind kind;
    std::optional<std::int64_t> code;
    std::optional<int> rank;
    bool follows = false;
  };
  using enum IncidentKind;
  const std::vector<Case> cases = {
      {"E0612 11:30:42.8 33 torch/distributed/elastic/multiprocessing/api.py:869] failed "
       "(exitcode: -9) "
       "local_rank: 3 (pid: 44) of binary: /usr/bin/python",
       signal, 9, std::nullopt},
      {"failed (exitcode: -15) local_rank: 1 (pid: 45) of binary: python", signal, 15, std::nullopt,
       true},
      {"failed (exitcode: 2) local_rank: 1 (pid: 45) of binary: python", exit, 2, std::nullopt},
      {"srun: error: n7: task 17: Killed", signal, 9, 17},
      {"srun: error: n7: tasks 0-7: Exited with exit code 1", exit, 1, std::nullopt},
      {"srun: error: n7: task 4: Out Of Memory", host_memory, std::nullopt, 4},
      {"slurmstepd: error: *** STEP 5.0 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT "
       "***",
       cancelled, std::nullopt, std::nullopt},
      {"slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have "
       "been OOM "
       "Killed.",
       host_memory, std::nullopt, std::nullopt},
      {"mpirun noticed that process rank 3 with PID 99 on node n2 exited on signal 11 "
       "(Segmentation "
       "fault).",
       signal, 11, 3},
      {"[  815.1] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
       "off the "
       "bus.",
       device_error, 79, std::nullopt},
      {"[ 9.5] Out of memory: Killed process 812 (python) total-vm:90kB, anon-rss:80kB",
       host_memory, std::nullopt, std::nullopt},
      {"n3:7:9 [1] transport/net_ib.cc:2300 NCCL WARN NET/IB : Got completion from peer "
       "10.1.0.2<5555> "
       "with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_1",
       network, 12, std::nullopt},
      {"NET/IB: Got completion from peer 10.1.0.2<5555> with status=IBV_WC_RETRY_EXC_ERR(12) "
       "opcode=x",
       network, 12, std::nullopt},
      {"NET/IB : Got completion from peer 10.1.0.2<5555> with error 5, opcode 1, len 0", network, 5,
       std::nullopt, true},
      {"RuntimeError: DataLoader worker (pid 5) is killed by signal: Bus error.", signal, 7,
       std::nullopt},
      {"Fatal Python error: Segmentation fault", signal, 11, std::nullopt},
      {"Killed", signal, 9, std::nullopt},
      {"1: Killed", signal, 9, std::nullopt},
      {"run.sh: line 28:  8156 Killed                  python a.py", signal, 9, std::nullopt},
      {"run.sh: line 3: 77 Segmentation fault      (core dumped) python a.py", signal, 11,
       std::nullopt},
      {"[1]  + 8156 killed     python a.py", signal, 9, std::nullopt},
      {"zsh: terminated  python a.py", signal, 15, std::nullopt, true},
      {"  3%|x | 1/34 [00:07<06:50,  1.23s/it]Killed", signal, 9, std::nullopt},
      {"command terminated with exit code 137", exit, 137, std::nullopt},
      {"    exitCode: 143", exit, 143, std::nullopt, true},
      {"['python', 'a.py'] exits with return code = 1", exit, 1, std::nullopt},
      {"['python', 'a.py'] exits with return code = -11", signal, 11, std::nullopt},
      {"  traceback : Signal 9 (SIGKILL) received by PID 36071", signal, 9, std::nullopt},
      {"CalledProcessError: Command 'a' died with <Signals.SIGABRT: 6>.", signal, 6, std::nullopt},
      {"=>> PBS: job killed: mem 9kb exceeded limit 8kb", host_memory, std::nullopt, std::nullopt},
      {"TERM_RUNLIMIT: job killed after reaching LSF run time limit.", cancelled, std::nullopt,
       std::nullopt},
      {"(raylet) A worker died or was killed while executing a task by an unexpected system "
       "error. Worker PID: 10176",
       exit, std::nullopt, std::nullopt, true},
      {"n1:7:9 [1] include/socket.h:409 NCCL WARN Net : Connect to 10.0.0.9<5> failed : No route",
       network, std::nullopt, std::nullopt},
      {"ProcessGroupNCCL's watchdog got stuck for 600 seconds without making progress", stuck,
       600000, std::nullopt},
      {"W0409 07:28:49.5 13 torch/distributed/elastic/agent/server/api.py:719] Received 15 death "
       "signal, shutting down workers",
       signal, 15, std::nullopt},
      {"ERROR:composer.cli.launcher:Global rank 4 (PID 20886) exited with code -11", signal, 11, 4},
      {"ERROR:composer.cli.launcher:Global rank 4 (PID 20886) exited with code 1", exit, 1, 4},
      {"[2]: time : 2026-11-30_06:05:04 host : n9 rank : 11 (local_rank: 3) exitcode : -6 (pid: 9) "
       "error_file: <N/A>",
       signal, 6, 11},
      {"nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Severity 1 Engine instance 12",
       device_error, 24007, std::nullopt},
      {"[ 5.1] NVRM: GPU at 0000:3b:00.0 has fallen off the bus.", device_error, std::nullopt,
       std::nullopt},
      {"[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated with exception: CUDA "
       "error: uncorrectable ECC error encountered",
       device_error, std::nullopt, 1},
      {"[rank2]:[E1 a.cpp:1] [PG ID 0 PG GUID 0 Rank 2] Process group watchdog thread terminated "
       "with exception: NCCL error: remote process exited or there was a network error",
       exception, std::nullopt, 2, true},
      {"CUDA error: an illegal memory access was encountered", device_error, std::nullopt,
       std::nullopt},
      {"/w/IndexKernel.cu:60: operator(): block: [0,0,0], thread: [52,0,0] Assertion `i < n` "
       "failed.",
       device_error, std::nullopt, std::nullopt},
      {"EI0006: 2026-11-30-06:05:04.270.506 Getting socket times out. Reason: Remote Rank did not "
       "send the data in time.",
       exception, std::nullopt, std::nullopt, true},
      {"EH9999: 2026-11-30-06:05:04.450.757  wait for compute device to finish failed",
       device_error, std::nullopt, std::nullopt},
      {"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
       "shared memory (shm).",
       signal, 7, std::nullopt},
      {"n1:7:9 [1] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9 "
       "bytes, error: No space left on device (28)",
       shared_memory, std::nullopt, std::nullopt},
      {"n1:7:9 [1] init.cc:497 NCCL WARN Duplicate GPU detected : rank 2 and rank 0 both on CUDA "
       "device 1000",
       network, std::nullopt, std::nullopt},
      {"n1:7:9 [1] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed "
       "out",
       network, std::nullopt, std::nullopt},
      {"n1:7:9 [1] net_ib.cc:101 NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", network,
       std::nullopt, std::nullopt},
      {"ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
       exit, std::nullopt, std::nullopt, true},
      {"ERROR: Unexpected segmentation fault encountered in worker.", signal, 11, std::nullopt},
      {"Unable to determine the device handle for GPU 0000:03:00.0: Unknown Error", device_error,
       std::nullopt, std::nullopt},
      {"slurmstepd: error: NVML: Failed to get usage(15): GPU is lost", device_error, std::nullopt,
       std::nullopt},
      {"n7:4:5 [0] transport/p2p.cc:237 NCCL WARN Cuda failure 'invalid argument'", network,
       std::nullopt, std::nullopt},
      {"srun: error: Node failure on n7", node, std::nullopt, std::nullopt},
      {"srun: error: Task launch for StepId=36.0 failed on node n7: Job credential expired",
       not_started, std::nullopt, std::nullopt},
      {"The actor is dead because its owner has died. Owner Ip address: 10.0.0.7 Owner worker exit "
       "type: SYSTEM_ERROR Worker exit detail: Owner's node has crashed.",
       node, std::nullopt, std::nullopt},
      {"The node was low on resource: ephemeral-storage. Threshold quantity: 21", evicted,
       std::nullopt, std::nullopt},
      {"The node was low on resource: memory. Threshold quantity: 21", host_memory, std::nullopt,
       std::nullopt}};
  for (const Case& c : cases) {
    auto event = parse_incident(c.line);
    if (!event) event = parse_ended(c.line);
    ASSERT_TRUE(event) << c.line;
    EXPECT_EQ(event->kind, c.kind) << c.line;
    EXPECT_EQ(event->code, c.code) << c.line;
    EXPECT_EQ(event->rank, c.rank) << c.line;
    EXPECT_EQ(event->follows, c.follows) << c.line;
  }
}

TEST(IncidentLine, IsNoneInOrdinaryOutput) {
  for (const char* line : {"step 12 loss 2.3",
                           "exit code 0",
                           "the watchdog got stuck for us",
                           "NVRM: Xid is a number",
                           "failed (exitcode: 0) local_rank: 1",
                           "srun: error: Unable to create job step",
                           "process rank 3 is ready",
                           "Killed 3 birds",
                           "caught signal lamps",
                           "Terminated by choice",
                           "exit code 1",
                           "return code 2",
                           "exit code 200",
                           "status code 404",
                           "NCCL WARN Connect to the network",
                           "[3] Killed",
                           "0 Workers (tasks / actors) killed due to memory pressure (OOM)",
                           "CANCELLED AT noon",
                           "",
                           "NCCL WARN NET/IB : mlx5_0:1 Got async event : port active",
                           "trainer exited with code 1",
                           "p2p.cc:237 NCCL WARN Cuda failure 'unspecified launch failure'",
                           "nvidia-nvswitch0: SXid (PCI:0000:aa:00.0): 22013, Non-fatal, Link 4",
                           "EX12: a name",
                           "a test of CUDA error: handling",
                           "Assertion `x` failed."})
    EXPECT_FALSE(parse_incident(line) || parse_ended(line)) << line;
  EXPECT_TRUE(is_exception_line("torch.cuda.OutOfMemoryError: CUDA out of memory."));
  EXPECT_TRUE(is_exception_line("KeyboardInterrupt"));
  for (const char* line : {"loss: 2", "Error", "0.5Error: x", "the Error: x", "warnings.warn: x"})
    EXPECT_FALSE(is_exception_line(line) && std::string_view(line) != "Error") << line;
}

TEST(IncidentLine, HasTheTimeOfEveryWriter) {
  const auto of_day = [](std::string_view line) {
    const auto t = written_time(line);
    return t ? t->time % std::chrono::days(1) : Ns{-1};
  };
  const Ns five_past_six =
      std::chrono::hours(6) + std::chrono::minutes(5) + std::chrono::seconds(4);
  for (const char* line :
       {"2026-11-30 06:05:04,000 INFO x", "[2026-11-30T06:05:04] x",
        "[rank2]:[E1130 06:05:04.000 a.cpp:1]", "W1130 06:05:04.000000 33 b.py:1] x",
        "Nov 30 06:05:04 n1 kernel: x", "[Mon Nov 30 06:05:04 2026] NVRM: x"})
    EXPECT_EQ(of_day(line), five_past_six) << line;
  EXPECT_TRUE(written_time("[rank2]:[E810 06:05:04.1 a.cpp:1]")->no_year);
  EXPECT_FALSE(written_time("[Mon Nov 30 06:05:04 2026] NVRM: x")->no_year);
  EXPECT_FALSE(written_time("E9930 06:05:04.1 x"));
  EXPECT_FALSE(written_time("took 06:05:04"));
}

TEST(IncidentLog, KeepsTheTracebacksOfRanksApart) {
  const Incident found = incident_in(
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]:   File \"/w/train.py\", line 20, in main\n"
      "[rank1]:     step()\n"
      "[rank0]:   File \"/w/train.py\", line 30, in main\n"
      "[rank0]:   File \"/usr/lib/python3.12/site-packages/torch/nn.py\", line 9, in f\n"
      "[rank1]: ValueError: a bad batch\n"
      "[rank0]: torch.distributed.DistBackendError: NCCL error, remote process exited or there was "
      "a "
      "network error\n");
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.events[0].rank, 1);
  EXPECT_EQ(found.events[0].text, "ValueError: a bad batch");
  EXPECT_EQ(found.events[0].where, "train.py:20");
  EXPECT_EQ(found.events[0].line, 7U);
  EXPECT_FALSE(found.events[0].follows);
  EXPECT_EQ(found.events[1].rank, 0);
  EXPECT_EQ(found.events[1].where, "train.py:30");
  EXPECT_TRUE(found.events[1].follows);
  EXPECT_EQ(found.last_lines.at(1).line, 7U);
}

TEST(IncidentLog, HasTheLastErrorOfNccl) {
  const Incident found = incident_in(
      "Traceback (most recent call last):\n"
      "  File \"/w/train.py\", line 20, in main\n"
      "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2000, unhandled "
      "system "
      "error, NCCL version 2.21.5\n"
      "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
      "prematurely.\n"
      "Last error:\n"
      "socketProgress: Connection closed by remote peer n2<4444>\n"
      "\n");
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_TRUE(found.events[0].follows);
  EXPECT_NE(found.events[0].text.find("ncclRemoteError"), std::string::npos);
}

TEST(IncidentLog, JoinsAMessageThatATerminalHasCut) {
  const Incident found = incident_in(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a\n"
      "total capacity of 79.15 GiB of which 1.00 GiB is free. Including non-PyTorch memory,\n"
      "this process has 78.00 GiB memory in use. Of the allocated memory 70.00 GiB is\n"
      "allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.\n",
      "logs/rank_6.log");
  ASSERT_EQ(found.ooms.size(), 1U);
  EXPECT_EQ(found.ooms[0].rank, 6);
  EXPECT_EQ(found.ooms[0].unallocated, Bytes{std::int64_t{7} << 30});
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].kind, IncidentKind::device_memory);
}

TEST(IncidentLog, HasRankHostAndTimeOfTheRootCause) {
  const Incident found = incident_in(
      "Root Cause (first observed failure):\n[0]:\n"
      "  time      : 2026-11-30_06:05:04\n"
      "  host      : n9\n"
      "  rank      : 11 (local_rank: 3)\n"
      "  exitcode  : -7 (pid: 123)\n"
      "  error_file: <N/A>\n");
  ASSERT_EQ(found.events.size(), 1U);
  const IncidentEvent& e = found.events[0];
  EXPECT_EQ(e.kind, IncidentKind::signal);
  EXPECT_EQ(e.code, 7);
  EXPECT_EQ(e.rank, 11);
  EXPECT_EQ(e.host, "n9");
  ASSERT_TRUE(e.time);
}

TEST(IncidentLog, CountsOneTimeoutOnce) {
  const std::string line =
      "[rank2]:[E626 05:06:30.9 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught collective "
      "operation "
      "timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=1000) ran "
      "for "
      "1001 milliseconds before timing out.\n";
  const Incident found = incident_in(line + "x\n" + line);
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].times, 2U);
  EXPECT_EQ(found.events[0].text, "ALLREDUCE 9");
  EXPECT_EQ(found.events[0].code, 1001);
}

TEST(IncidentLog, ReadsTheJobThatALogDescribes) {
  const Incident found = incident_in(
      "  world_size ................ 64\n  micro_batch_size .......... 2\n"
      "  tensor_model_parallel_size  4\n  max_micro_batch_size 8\n");
  ASSERT_EQ(found.world_sizes.size(), 1U);
  EXPECT_EQ(found.world_sizes.begin()->first, 64);
  EXPECT_EQ(found.settings.at("micro_batch_size"), "2");
  EXPECT_EQ(found.settings.at("tensor_model_parallel_size"), "4");
}

TEST(IncidentLog, ReadsAnExceptionWithoutTheHeaderOfItsTraceback) {
  const std::string frames =
      "  File \"/w/train.py\", line 20, in main\n    step()\n"
      "  File \"/w/site-packages/torch/nn.py\", line 9, in f\n    g()\n";
  const Incident cut = incident_in(frames + "ValueError: a bad batch\n");
  ASSERT_EQ(cut.events.size(), 1U);
  EXPECT_EQ(cut.events[0].where, "train.py:20");
  EXPECT_TRUE(incident_in("step 3\nValueError: a bad batch\n").events.empty());
  const Incident alone = incident_in(
      "[rank7]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled "
      "cuda error\n[rank7]: Last error:\n[rank7]: Cuda failure 1 'invalid argument'\n");
  ASSERT_EQ(alone.events.size(), 1U);
  EXPECT_EQ(alone.events[0].rank, 7);
  EXPECT_NE(alone.events[0].text.find("invalid argument"), std::string::npos);
  EXPECT_EQ(incident_in("RuntimeError: CUDA error: uncorrectable ECC error encountered\n")
                .events.at(0)
                .text,
            "CUDA error: uncorrectable ECC error encountered");
}

TEST(IncidentLog, BoundsAnExceptionByTheTimeInFrontOfItsTraceback) {
  std::string text = "2026-11-30 06:05:04 step 3\nTraceback (most recent call last):\n";
  for (int frame = 0; frame < 40; ++frame) text += "  File \"/w/train.py\", line 20, in main\n";
  const Incident found = incident_in(text + "KeyError: 'labels'\n");
  ASSERT_EQ(found.events.size(), 1U);
  ASSERT_TRUE(found.events[0].time);
  EXPECT_TRUE(found.events[0].time->after);
}

TEST(IncidentLog, LearnsTheNamesInFrontOfTheLinesOfAFile) {
  const auto of = [](const std::string& front, const std::string& other) {
    return incident_in(other + "x\n" + front + "Traceback (most recent call last):\n" + other +
                       "y\n" + front + "  File \"/w/train.py\", line 20, in main\n" + front +
                       "ValueError: a bad batch\n");
  };
  for (const auto& [front, other, host] :
       std::vector<std::array<std::string, 3>>{{"worker-0: ", "worker-1: ", "worker-0"},
                                               {"trainer-0  | ", "trainer-1  | ", "trainer-0"},
                                               {"[pod/t-0/main] ", "[pod/t-1/main] ", "t-0"},
                                               {"n0 [stderr] ", "n1 [stdout] ", "n0"}}) {
    const Incident found = of(front, other);
    ASSERT_EQ(found.events.size(), 1U) << front;
    EXPECT_EQ(found.events[0].host, host);
    EXPECT_EQ(found.events[0].where, "train.py:20") << front;
    EXPECT_EQ(found.events[0].text, "ValueError: a bad batch") << front;
  }
  const Incident tagged = of("[1,2]<stderr>:", "[1,0]<stdout>:");
  ASSERT_EQ(tagged.events.size(), 1U);
  EXPECT_EQ(tagged.events[0].rank, 2);
  EXPECT_EQ(tagged.events[0].where, "train.py:20");
}

TEST(IncidentLog, SaysInWhichCallASignalEndedAProcess) {
  const Incident found = incident_in(
      "Fatal Python error: Segmentation fault\n\nThread 0x00007f01 (most recent call first):\n"
      "  File \"/w/watch.py\", line 4 in watch\n\n"
      "Current thread 0x00007f02 (most recent call first):\n"
      "  File \"/p/distributed_c10d.py\", line 25 in all_reduce\n");
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].where, "all_reduce (distributed_c10d.py:25)");
}

TEST(IncidentLog, NamesTheGpuThatTheDriverLost) {
  const Incident found = incident_in(
      "[ 18.3] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
      "               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "               NVRM: fallen off the bus and is not responding to commands.\n");
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].where, "0000:b3:00.0");
}

TEST(IncidentLog, NamesTheProcessOfAShellAndOfAnActor) {
  const Incident shell = incident_in(
      "/w/run.sh: line 4: 811 Aborted                 (core dumped) python a.py\n"
      "/w/run.sh: line 4: 812 Aborted                 (core dumped) python a.py\n");
  ASSERT_EQ(shell.events.size(), 2U);
  EXPECT_EQ(shell.events[1].pid, 812);
  const Incident actor = incident_in(
      "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
      "  class_name: Worker\n  pid: 16424\n  ip: 10.0.0.7\n");
  ASSERT_EQ(actor.events.size(), 1U);
  EXPECT_EQ(actor.events[0].pid, 16424);
  EXPECT_EQ(actor.events[0].host, "10.0.0.7");
}

TEST(IncidentLog, ReadsTheErrorOfASpawnedProcessAndNotItsWrapper) {
  const Incident found = incident_in(
      "Traceback (most recent call last):\n  File \"/w/main.py\", line 131, in main\n"
      "torch.multiprocessing.spawn.ProcessRaisedException:\n\n"
      "-- Process 1 terminated with the following error:\nTraceback (most recent call last):\n"
      "  File \"/w/main.py\", line 137, in work\nValueError: a bad batch\n");
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_TRUE(found.events[0].follows);
  EXPECT_FALSE(found.events[1].follows);
  EXPECT_EQ(found.events[1].local_rank, 1);
}

TEST(IncidentLog, NamesTheRanksThatHorovodWaitsFor) {
  const Incident early = incident_in(
      "Broadcast_a [missing ranks: 0, 2]\n"
      "Broadcast_b [missing ranks: 0, 2]\n");
  ASSERT_EQ(early.events.size(), 2U);
  EXPECT_EQ(early.events[1].rank, 2);
  EXPECT_EQ(early.events[1].times, 2U);
  const Incident late =
      incident_in("Missing ranks:\n1: [Allreduce_a, Allreduce_b]\n3: [Allreduce_a]\n");
  ASSERT_EQ(late.events.size(), 2U);
  EXPECT_EQ(late.events[0].text, "Allreduce_a");
  EXPECT_EQ(late.events[1].rank, 3);
}

TEST(IncidentLog, TakesTheFrameOfTheProgramOnWindows) {
  const Incident found = incident_in(
      "Traceback (most recent call last):\n"
      "  File \"C:\\a\\rvc\\train.py\", line 334, in run\n"
      "  File \"C:\\a\\lib\\site-packages\\torch\\c10d.py\", line 19, in f\n"
      "RuntimeError: unsupported gloo device\n");
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].where, "train.py:334");
}

TEST(IncidentLog, TakesLabelsOfSrunOnlyWhereAllLinesHaveThem) {
  const std::string fatal = "Fatal Python error: Segmentation fault\n";
  EXPECT_EQ(incident_in("0: a\n1: b\n0: c\n5: " + fatal).events[0].rank, 5);
  EXPECT_EQ(incident_in("begin\nx\ny\n120: " + fatal).events[0].rank, std::nullopt);
}

TEST(IncidentLog, DoesNotTakeTheNameOfAFileForTheRankOfLinesOfOthers) {
  const std::string fatal = "Fatal Python error: Segmentation fault\n";
  EXPECT_EQ(incident_in(fatal, "rank_4.log").events[0].rank, 4);
  const Incident found = incident_in(fatal + "[rank1]: x\n[rank2]: y\n", "rank_4_is_lost.log");
  EXPECT_EQ(found.events[0].rank, std::nullopt);
  EXPECT_FALSE(found.last_lines.contains(4));
  EXPECT_TRUE(found.last_lines.contains(2));
}

TEST(IncidentLog, SaysWhereALongLineIsCut) {
  const Incident found = incident_in("[rank1]: " + std::string(400, 'x') + "\n[rank2]: y\n");
  EXPECT_TRUE(found.last_lines.at(1).text.ends_with("xx…"));
  EXPECT_EQ(found.last_lines.at(2).text.find("…"), std::string::npos);
}

TEST(IncidentLog, HasTheRankInANameOfAFile) {
  EXPECT_EQ(rank_in_file_name("a/rank_3.log"), 3);
  EXPECT_EQ(rank_in_file_name("out-rank12.txt.gz"), 12);
  EXPECT_EQ(rank_in_file_name("rank_3/train.log"), std::nullopt);
  EXPECT_EQ(rank_in_file_name("ranks.txt"), std::nullopt);
}

TEST(IncidentLog, GivesTheSizesOfAnAllocatorToItsMessage) {
  const Incident behind = incident_in(
      "W tensorflow/bfc_allocator.cc:1] Allocator (GPU_1_bfc) ran out of memory trying to allocate "
      "2.00GiB\nI tensorflow/bfc_allocator.cc:2] Stats: \nLimit:            10737418240\n"
      "InUse:             9663676416\n");
  ASSERT_EQ(behind.ooms.size(), 1U);
  EXPECT_EQ(behind.ooms[0].device, 1);
  EXPECT_EQ(behind.ooms[0].allowed, Bytes{10737418240});
  EXPECT_EQ(behind.ooms[0].allocated, Bytes{9663676416});
  const Incident before = incident_in(
      "Limit:            10737418240\nInUse:            10737418240\n"
      "Allocator (cuda_host_bfc) ran out of memory trying to allocate 2.00GiB\n");
  ASSERT_EQ(before.ooms.size(), 1U);
  EXPECT_EQ(before.ooms[0].allowed, Bytes{10737418240});
  EXPECT_TRUE(before.events.empty());  // memory of the host
}

}  // namespace
}  // namespace stepscope
