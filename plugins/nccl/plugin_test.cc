// SPDX-License-Identifier: Apache-2.0
// Sends each version's events as NCCL would, and checks the file's rows.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "plugins/nccl/plugin_test_driver.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope::nccl::test {
namespace {

using abi::EventType;
using abi::State;

std::vector<SliceId> kernels(const Trace& trace) {
  std::vector<SliceId> found;
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i)
    if (trace.slices.category[i] == Category::kernel) found.push_back(SliceId{i});
  return found;
}

// The trace of a test's only file.
Run read_only_file(const Scratch& scratch) {
  const auto files = scratch.files();
  EXPECT_EQ(files.size(), 1U);
  auto run = read_run(files, {});
  EXPECT_TRUE(run.errors.empty());
  EXPECT_EQ(run.ranks.size(), 1U);
  return run;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class T>
class EveryVersion : public testing::Test {};
using Versions = testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 2>,
                                std::integral_constant<int, 3>, std::integral_constant<int, 4>,
                                std::integral_constant<int, 5>, std::integral_constant<int, 6>>;
TYPED_TEST_SUITE(EveryVersion, Versions);

TYPED_TEST(EveryVersion, ACollectiveIsARowOfTheDeviceWithAllThatIsKnown) {
  constexpr int v = TypeParam::value;
  Scratch scratch;
  const Library library;
  Player<v> nccl(library, 0x1f2e3d4c5b6a7988, 4, 2);
  ASSERT_EQ(nccl.comm().result, abi::Result::success);
  EXPECT_EQ(nccl.comm().mask, 0x704e);
  EXPECT_STREQ(nccl.profiler().name, "stepscope");
  constexpr std::int64_t gpu = 7'000'000'000'000;
  nccl.calibrate(gpu);
  void* coll = nccl.coll({.count = 1000, .seq = 5});
  ASSERT_NE(coll, nullptr);
  nccl.stop(coll);
  const std::int64_t begun = now_ns() - 3'000'000;
  nccl.kernel(coll, 1, static_cast<std::uint64_t>(begun + gpu + 500),
              static_cast<std::uint64_t>(begun + gpu + 2'000'000));
  nccl.kernel(coll, 0, static_cast<std::uint64_t>(begun + gpu),
              static_cast<std::uint64_t>(begun + gpu + 1'900'000));
  void* proxy = nccl.proxy_op(coll, true, 3);
  nccl.stop(proxy);
  nccl.finalize();

  const auto run = read_only_file(scratch);
  const Trace& trace = run.ranks.at(0).trace;
  EXPECT_EQ(run.ranks[0].rank, 2);
  EXPECT_EQ(trace.metadata.clock, Clock::unix_epoch);
  const auto rows = kernels(trace);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(trace.name(rows[0]), "ncclAllReduce_RING_SIMPLE");
  EXPECT_TRUE(trace.is_communication(rows[0]));
  const Collective* c = trace.collective(rows[0]);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(trace.strings[c->name], "allreduce");
  EXPECT_EQ(trace.strings[c->dtype], "Float");
  EXPECT_EQ(trace.strings[c->group_name], "0x1f2e3d4c5b6a7988");
  EXPECT_EQ(trace.strings[c->group_description], "world");
  EXPECT_EQ(c->in_elements, 1000);
  EXPECT_EQ(c->out_elements, 1000);
  EXPECT_EQ(c->seq, 0);
  EXPECT_EQ(c->rank, 2);
  EXPECT_EQ(c->group_size, v >= 4 ? 4 : -1);
  const std::string text = Scratch::text(scratch.files()[0]);
  EXPECT_TRUE(holds(text, "\"NCCL seq\":5"));
  EXPECT_TRUE(holds(text, "\"proxy operations\":1"));
  EXPECT_TRUE(holds(text, v <= 2   ? "\"timing\":\"proxy\""
                          : v == 3 ? "\"timing\":\"kernel seen by host\""
                                   : "\"timing\":\"gpu\""));
  if (v < 4) return;
  EXPECT_EQ(trace.slices.dur[index(rows[0])].count(), 2'000'000);
  const std::int64_t start =
      trace.slices.start[index(rows[0])].count() - trace.metadata.base.count();
  EXPECT_NEAR(static_cast<double>(start - begun), 0, 20'000);
}

TYPED_TEST(EveryVersion, MessagesNameTheirPeer) {
  constexpr int v = TypeParam::value;
  Scratch scratch;
  const Library library;
  Player<v> nccl(library, 9, 4, 1);
  nccl.calibrate(0);
  void* send = nccl.p2p({.function = "Send", .function_code = 6, .count = 64, .root = 3});
  nccl.stop(send);
  const auto t = static_cast<std::uint64_t>(now_ns());
  nccl.kernel(send, 0, t, t + 10);
  nccl.kernel(send, 1, t, t + 10);
  nccl.stop(nccl.proxy_op(send, true, 3));
  nccl.finalize();
  const auto run = read_only_file(scratch);
  const Trace& trace = run.ranks.at(0).trace;
  ASSERT_EQ(kernels(trace).size(), 1U);
  const Collective* c = trace.collective(kernels(trace)[0]);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(trace.strings[c->name], "send");
  EXPECT_EQ(c->rank, 3);
  EXPECT_EQ(c->seq, -1);
  EXPECT_EQ(c->in_elements, 64);
}

// NCCL miscounts from the message on: its kernel times are those of other calls.
TYPED_TEST(EveryVersion, AfterAMessageToItselfKernelTimesAreNotBelieved) {
  constexpr int v = TypeParam::value;
  Scratch scratch;
  const Library library;
  Player<v> nccl(library, 9, 4, 1);
  nccl.calibrate(0);
  const auto call = [&](void* handle) {
    nccl.stop(handle);
    const auto t = static_cast<std::uint64_t>(now_ns());
    nccl.kernel(handle, 0, t, t + 10);
    nccl.kernel(handle, 1, t, t + 10);
    nccl.stop(nccl.proxy_op(handle, true, 3));
  };
  call(nccl.coll({.seq = 0}));
  std::this_thread::sleep_for(std::chrono::milliseconds{3});
  nccl.stop(nccl.p2p({.function = "Send", .function_code = 6, .count = 64, .root = 1}));
  call(nccl.coll({.seq = 1}));
  nccl.finalize();
  const std::string text = Scratch::text(scratch.files()[0]);
  EXPECT_TRUE(holds(text, "\"timing\":\"proxy\""));
  EXPECT_EQ(holds(text, "\"timing\":\"gpu\""), v >= 4);
  EXPECT_TRUE(holds(text, v >= 3 ? "\"nccl_calls_with_times_of_others\":1"
                                 : "\"nccl_calls_with_times_of_others\":0"));
}

TEST(Plugin, AfterABroadcastKernelTimesAreBelievedUntilInterfaceFiveOrWithoutAllGatherV) {
  const auto timed_by_gpu = [](auto version, const char* all_gather_v) {
    Scratch scratch;
    if (all_gather_v != nullptr) scratch.set("NCCL_ALLGATHERV_ENABLE", all_gather_v);
    const Library library;
    Player<decltype(version)::value> nccl(library, 9, 4, 1);
    nccl.calibrate(0);
    nccl.stop(nccl.coll({.function = "Broadcast", .seq = 0}));
    std::this_thread::sleep_for(std::chrono::milliseconds{3});
    void* coll = nccl.coll({.seq = 0});
    nccl.stop(coll);
    const auto t = static_cast<std::uint64_t>(now_ns());
    nccl.kernel(coll, 0, t, t + 10);
    nccl.kernel(coll, 1, t, t + 10);
    nccl.finalize();
    return holds(Scratch::text(scratch.files()[0]), "\"timing\":\"gpu\"");
  };
  EXPECT_TRUE(timed_by_gpu(std::integral_constant<int, 5>{}, nullptr));
  EXPECT_FALSE(timed_by_gpu(std::integral_constant<int, 6>{}, nullptr));
  EXPECT_FALSE(timed_by_gpu(std::integral_constant<int, 6>{}, "1"));
  EXPECT_TRUE(timed_by_gpu(std::integral_constant<int, 6>{}, "0"));
}

TYPED_TEST(EveryVersion, CallsInAnyOrderWithNullStaleAndNonsenseHandlesDoNoHarm) {
  constexpr int v = TypeParam::value;
  Scratch scratch;
  const Library library;
  Player<v> nccl(library, 9, 2, 0);
  const auto& profiler = nccl.profiler();
  auto d = nccl.descriptor(EventType::coll);
  void* handle = &d;
  using Args = typename Version<v>::Args;
  Args args = {};
  // Null and foreign contexts, descriptors, handles.
  EXPECT_EQ(profiler.start_event(nullptr, &handle, &d), abi::Result::success);
  EXPECT_EQ(handle, nullptr);
  int foreign = 0;
  handle = &d;
  EXPECT_EQ(profiler.start_event(&foreign, &handle, &d), abi::Result::success);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(profiler.start_event(nccl.comm().context, nullptr, &d), abi::Result::success);
  EXPECT_EQ(profiler.start_event(nccl.comm().context, &handle, nullptr), abi::Result::success);
  EXPECT_EQ(profiler.stop_event(nullptr), abi::Result::success);
  EXPECT_EQ(profiler.record_event_state(nullptr, 8, &args), abi::Result::success);
  EXPECT_EQ(profiler.stop_event(&foreign), abi::Result::success);
  EXPECT_EQ(profiler.record_event_state(&foreign, 8, &args), abi::Result::success);
  EXPECT_EQ(profiler.finalize(nullptr), abi::Result::success);
  EXPECT_EQ(profiler.finalize(&foreign), abi::Result::success);
  // Types without a kind, with several kinds, and of later versions.
  for (const unsigned type : {0U, 3U, 255U}) {
    auto odd = nccl.descriptor(EventType::group);
    odd.type = static_cast<decltype(odd.type)>(type);
    EXPECT_EQ(nccl.start(odd), nullptr) << type;
  }
  // A child that ends before its parent, one that ends after it, states of other kinds, two stops.
  void* coll = nccl.coll({.channels = 1});
  void* op = nccl.proxy_op(coll, false, 1);
  void* step = nccl.proxy_step(op, 0);  // steps are not asked for
  EXPECT_EQ(step, nullptr);
  for (int state = -5; state < 40; ++state) {
    EXPECT_EQ(profiler.record_event_state(coll, state, &args), abi::Result::success);
    EXPECT_EQ(profiler.record_event_state(op, state, nullptr), abi::Result::success);
    EXPECT_EQ(profiler.record_event_state(op, state, &args), abi::Result::success);
  }
  nccl.stop(op);
  nccl.stop(op);
  nccl.stop(coll);
  nccl.state(coll, State::send_wait);
  void* late = nccl.proxy_op(coll, true, 1);
  nccl.stop(late);
  void* open = nccl.coll({});
  EXPECT_NE(open, nullptr);
  nccl.finalize();
  nccl.stop(open);  // after the end
  EXPECT_EQ(nccl.start(d), nullptr);
  const std::string text = Scratch::text(scratch.files().at(0));
  EXPECT_TRUE(holds(text, "\"proxy operations\":2")) << text;
  EXPECT_TRUE(holds(text, "\"nccl_events_unfinished\":1,")) << text;
  EXPECT_TRUE(holds(text, "\"nccl_stale_handles\":4,")) << text;
}

TYPED_TEST(EveryVersion, OnlyWhatTheMaskAsksForIsRecorded) {
  constexpr int v = TypeParam::value;
  Scratch scratch;
  scratch.set("NCCL_PROFILE_EVENT_MASK", "2");
  const Library library;
  Player<v> nccl(library, 9, 2, 0);
  EXPECT_EQ(nccl.comm().mask, 2);
  void* coll = nccl.coll({});
  EXPECT_NE(coll, nullptr);
  EXPECT_NE(nccl.start(nccl.descriptor(EventType::group)), nullptr);  // its parent
  EXPECT_EQ(nccl.proxy_op(coll, true, 1), nullptr);
  EXPECT_EQ(nccl.start(nccl.descriptor(EventType::proxy_ctrl)), nullptr);
  EXPECT_EQ(nccl.p2p({}), nullptr);
  if constexpr (v >= 3) {
    EXPECT_EQ(nccl.start(nccl.descriptor(EventType::kernel_channel)), nullptr);
  }
  nccl.stop(coll);
  nccl.finalize();
  EXPECT_TRUE(holds(Scratch::text(scratch.files().at(0)), "\"nccl_calls_untimed\":1\n"));
}

TYPED_TEST(EveryVersion, SeveralCommunicatorsAndThreadsAtOnce) {
  constexpr int v = TypeParam::value;
  Scratch scratch;
  scratch.set("RANK", "1");
  scratch.set("WORLD_SIZE", "64");
  const Library library;
  Player<v> a(library, 0xa, 2, 0, "a");
  Player<v> b(library, 0xb, 2, 1, "b");
  constexpr int each = 300;
  std::vector<std::thread> threads;
  std::atomic<int> recorded{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Player<v>& nccl = t % 2 == 0 ? a : b;
      for (int i = 0; i < each; ++i) {
        void* coll = nccl.coll({.seq = static_cast<std::uint64_t>(i), .channels = 1});
        void* op = nccl.proxy_op(coll, t < 2, 1);
        nccl.state(op, State::send_posted);
        nccl.stop(coll);
        const auto now = static_cast<std::uint64_t>(now_ns());
        nccl.kernel(coll, 0, now - 1000, now);
        nccl.stop(op);
        if (coll != nullptr) ++recorded;
      }
    });
  for (std::thread& thread : threads) thread.join();
  a.finalize();
  b.finalize();
  EXPECT_EQ(recorded.load(), 4 * each);
  const auto run = read_only_file(scratch);
  const Trace& trace = run.ranks.at(0).trace;
  EXPECT_EQ(run.ranks[0].rank, 1);
  EXPECT_EQ(trace.metadata.world_size, 64);
  std::map<std::string, std::vector<std::int64_t>> seqs;
  for (const Collective& c : trace.collectives)
    seqs[std::string(trace.strings[c.group_name])].push_back(c.seq);
  for (const char* group : {"0xa", "0xb"}) {
    std::vector<std::int64_t>& seq = seqs[group];
    std::ranges::sort(seq);
    ASSERT_EQ(seq.size(), 2U * each) << group;
    for (std::size_t i = 0; i < seq.size(); ++i) EXPECT_EQ(seq[i], static_cast<std::int64_t>(i));
  }
}

TEST(Plugin, AFullPoolDropsCountsAndGoesOn) {
  Scratch scratch;
  scratch.set("STEPSCOPE_NCCL_SLOTS", "32");
  const Library library;
  Player<6> nccl(library, 9, 2, 0);
  std::vector<void*> open;
  int dropped = 0;
  for (int i = 0; i < 100; ++i) {
    void* coll = nccl.coll({});
    if (coll == nullptr)
      ++dropped;
    else
      open.push_back(coll);
  }
  EXPECT_EQ(open.size(), 8U);
  for (void* coll : open) nccl.stop(coll);
  // The writer frees stopped events. The next call's number includes the dropped calls.
  void* next = nullptr;
  for (int i = 0; i < 2000 && next == nullptr; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    next = nccl.coll({.channels = 1});
    if (next == nullptr) ++dropped;
  }
  ASSERT_NE(next, nullptr);
  nccl.stop(next);
  for (int i = 0; i < 2000 && nccl.start(nccl.descriptor(EventType::kernel_channel)) == nullptr;
       ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto t = static_cast<std::uint64_t>(now_ns());
  nccl.kernel(next, 0, t, t + 1);
  nccl.finalize();
  const auto run = read_only_file(scratch);
  const Trace& trace = run.ranks.at(0).trace;
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives[0].seq, 8 + dropped);
  EXPECT_GE(run.inputs.at(0).notes.counts.at("nccl_events_dropped"),
            static_cast<std::uint64_t>(dropped));
}

TEST(Plugin, ProxyStepsTellWhatTheNetworkWaitedFor) {
  Scratch scratch;
  scratch.set("STEPSCOPE_NCCL_EVENTS", "coll,proxy,step,net,ctrl,kernel");
  const Library library;
  Player<6> nccl(library, 9, 2, 0);
  EXPECT_EQ(nccl.comm().mask, 2 + 8 + 16 + 128 + 32 + 64);
  void* coll = nccl.coll({});
  void* op = nccl.proxy_op(coll, true, 1);
  nccl.state(op, State::proxy_op_in_progress);
  for (int i = 0; i < 3; ++i) {
    void* step = nccl.proxy_step(op, i);
    nccl.state(step, State::send_gpu_wait);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    nccl.state(step, State::send_wait, {.step_bytes = 4096});
    auto net = nccl.descriptor(EventType::net_plugin, step);
    abi::NetIb pair = {1, 3, 17, 2, 99, 4096};
    net.net = {1 << 16, &pair};
    nccl.stop(nccl.start(net));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    nccl.stop(step);
  }
  nccl.stop(op);
  nccl.stop(coll);
  void* sleeping = nccl.start(nccl.descriptor(EventType::proxy_ctrl));
  nccl.state(sleeping, State::ctrl_idle);
  nccl.stop(sleeping);
  // Another process's operation on this process's NIC: its parent has no meaning here.
  nccl.stop(nccl.proxy_op(coll, true, 1, getpid() + 1));
  nccl.finalize();
  const std::string text = Scratch::text(scratch.files().at(0));
  EXPECT_TRUE(holds(text, "\"proxy operations\":1,")) << text;
  EXPECT_TRUE(holds(text, "\"proxy steps\":3,"));
  EXPECT_TRUE(holds(text, "\"sent bytes\":12288,"));
  const std::string key = "\"send waits for GPU ns\":";
  ASSERT_TRUE(holds(text, key));
  EXPECT_GE(std::stoll(text.substr(text.find(key) + key.size())), 6'000'000);
  EXPECT_TRUE(holds(text, "\"send in network ns\":"));
  EXPECT_TRUE(holds(text, "\"queue pair\":99,\"operation\":2,\"bytes\":4096"));
  EXPECT_TRUE(holds(text, "\"cat\":\"nccl_proxy_thread\""));
  EXPECT_TRUE(holds(text, "\"name\":\"idle\""));
  EXPECT_TRUE(holds(text, "\"nccl_proxy_steps_lost\":0,"));
}

TEST(Plugin, ApiRangesAndWhatTheUserAskedFor) {
  Scratch scratch;
  scratch.set("STEPSCOPE_NCCL_EVENTS", "api,launch,coll,kernel,group");
  const Library library;
  Player<5> nccl(library, 9, 4, 0);
  nccl.calibrate(0);
  auto group = nccl.descriptor(EventType::group_api);
  group.group_api = {false, 1};
  void* outer = nccl.start(group);
  auto api = nccl.descriptor(EventType::coll_api, outer);
  api.coll_api = {"AllGather", 100, "ncclBfloat16", 0, &group, true};
  void* asked = nccl.start(api);
  nccl.stop(asked);
  auto launch = nccl.descriptor(EventType::kernel_launch, outer);
  launch.launch.stream = &group;
  nccl.stop(nccl.start(launch));
  // NCCL counts an all-gather in bytes.
  void* coll = nccl.coll({.function = "AllGather",
                          .datatype = "ncclInt8",
                          .count = 200,
                          .channels = 1,
                          .parent = asked});
  nccl.stop(coll);
  nccl.stop(outer);
  const auto t = static_cast<std::uint64_t>(now_ns());
  nccl.kernel(coll, 0, t - 100, t);
  nccl.finalize();
  const auto run = read_only_file(scratch);
  const Trace& trace = run.ranks.at(0).trace;
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.strings[trace.collectives[0].dtype], "BFloat16");
  EXPECT_EQ(trace.collectives[0].in_elements, 100);
  EXPECT_EQ(trace.collectives[0].out_elements, 400);
  std::map<std::string, int> names;
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i)
    ++names[std::string(trace.name(SliceId{i}))];
  EXPECT_EQ(names["ncclGroup"], 1);
  EXPECT_EQ(names["ncclAllGather"], 1);
  EXPECT_EQ(names["NCCL kernel launch"], 1);
}

TEST(Plugin, CopyEngineCollectivesAreRecordedAsWhatIsKnownOfThem) {
  Scratch scratch;
  const Library library;
  Player<6> nccl(library, 9, 4, 0);
  auto ce = nccl.descriptor(EventType::ce_coll);
  ce.ce_coll.func = "AllGather";
  ce.ce_coll.datatype = "ncclFloat16";
  ce.ce_coll.count = 10;
  void* handle = nccl.start(ce);
  EXPECT_NE(handle, nullptr);
  auto batch = nccl.descriptor(EventType::ce_batch, handle);
  batch.ce_batch = {3, 600, false};
  nccl.stop(nccl.start(batch));
  nccl.stop(handle);
  nccl.finalize();
  const std::string text = Scratch::text(scratch.files().at(0));
  EXPECT_TRUE(holds(text, "\"cat\":\"nccl_copy_engine\"")) << text;
  EXPECT_TRUE(holds(text, "\"In msg nelems\":10,\"Out msg nelems\":40"));
}

TEST(Plugin, WhereNothingCanBeWrittenTheCommunicatorGoesUnrecordedAndIsTold) {
  Scratch scratch;
  scratch.set("STEPSCOPE_NCCL_DIR", scratch.folder().string() + "/none");
  logged().clear();
  const Library library;
  Player<6> nccl(library, 9, 4, 0);
  EXPECT_NE(nccl.comm().result, abi::Result::success);
  EXPECT_EQ(nccl.comm().context, nullptr);
  ASSERT_EQ(logged().size(), 1U);
  EXPECT_TRUE(holds(logged()[0], "WARN stepscope: nothing is recorded, ")) << logged()[0];
  EXPECT_TRUE(holds(logged()[0], "No such file or directory")) << logged()[0];
}

TEST(Plugin, AVariableThatIsNotUnderstoodIsSaid) {
  Scratch scratch;
  scratch.set("STEPSCOPE_NCCL_EVENTS", "everything");
  logged().clear();
  const Library library;
  Player<4> nccl(library, 9, 4, 0);
  EXPECT_EQ(nccl.comm().mask, 0x704e);
  ASSERT_EQ(logged().size(), 2U);
  EXPECT_TRUE(holds(logged()[0], "WARN stepscope: STEPSCOPE_NCCL_EVENTS=everything"));
  EXPECT_TRUE(holds(logged()[1], "INFO stepscope: recording events 0x704e of interface v4"));
  nccl.finalize();
}

TEST(Plugin, PastItsSizeAFileTakesNoMoreRowsAndStaysWhole) {
  Scratch scratch;
  scratch.set("STEPSCOPE_NCCL_MAX_MB", "1");
  const Library library;
  Player<6> nccl(library, 9, 2, 0);
  for (int i = 0; i < 4000; ++i) {
    void* coll = nccl.coll({.channels = 1});
    nccl.stop(coll);
    const auto t = static_cast<std::uint64_t>(now_ns());
    nccl.kernel(coll, 0, t, t + 1);
  }
  nccl.finalize();
  const std::string text = Scratch::text(scratch.files().at(0));
  EXPECT_LT(text.size(), (1U << 20U) + 4096U);
  EXPECT_TRUE(text.ends_with("\n}\n"));
  EXPECT_FALSE(holds(text, "\"nccl_rows_dropped\":0,"));
  const auto run = read_only_file(scratch);
  EXPECT_FALSE(run.inputs.at(0).notes.truncated);
}

void play_one(const Player<6>& nccl) {
  void* coll = nccl.coll({.channels = 1});
  nccl.stop(coll);
  const auto t = static_cast<std::uint64_t>(now_ns());
  nccl.kernel(coll, 0, t, t + 1);
}

TEST(Plugin, UnloadingWithoutFinalizeCompletesTheFile) {
  Scratch scratch;
  {
    const Library library;
    const Player<6> nccl(library, 9, 2, 0);
    play_one(nccl);
  }
  EXPECT_EQ(read_only_file(scratch).ranks.at(0).trace.collectives.size(), 1U);
}

TEST(Plugin, ASecondSessionOfAProcessWritesAnotherFile) {
  Scratch scratch;
  const Library library;
  for (int session = 0; session < 2; ++session) {
    Player<6> nccl(library, 9, 2, 0);
    play_one(nccl);
    nccl.finalize();
  }
  const auto files = scratch.files();
  ASSERT_EQ(files.size(), 2U);
  const auto run = read_run(files, {});
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(run.ranks[0].trace.collectives.size(), 2U);
}

// A child of a fork that leaves through exit() must not touch its parent's file.
TEST(Plugin, AForkedChildLeavesTheFileAlone) {
  Scratch scratch;
  const Library library;
  Player<6> nccl(library, 9, 2, 0);
  play_one(nccl);
  const pid_t child = fork();
  if (child == 0) {
    const bool nothing = nccl.coll({}) == nullptr;
    nccl.profiler().finalize(nccl.comm().context);
    _exit(nothing ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(scratch.files().empty() || scratch.files()[0].ends_with(".partial.json"));
  play_one(nccl);
  nccl.finalize();
  EXPECT_EQ(read_only_file(scratch).ranks.at(0).trace.collectives.size(), 2U);
}

// The flushed rows are readable, as a file that ends early.
TEST(Plugin, AKilledProcessLeavesWhatWasFlushed) {
  Scratch scratch;
  scratch.set("RANK", "5");
  scratch.set("WORLD_SIZE", "8");
  const pid_t child = fork();
  if (child == 0) {
    const Library library;
    const Player<6> nccl(library, 9, 8, 5);
    for (int i = 0; i < 50; ++i) play_one(nccl);
    while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  std::string file;
  for (int i = 0; i < 6000 && file.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto files = scratch.files(".partial.json");
    if (!files.empty() && holds(Scratch::text(files[0]), "\"Seq\":49")) file = files[0];
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_FALSE(file.empty());
  auto run = read_run(std::vector{file}, {});
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(run.ranks[0].rank, 5);
  EXPECT_TRUE(run.inputs.at(0).notes.truncated);
  EXPECT_EQ(run.ranks[0].trace.collectives.size(), 50U);
  const std::vector<RankInput> inputs = {{5, &run.ranks[0].trace}};
  EXPECT_EQ(analyze_job(inputs).steps.common.size(), 1U) << "what was flushed is a window";
}

}  // namespace
}  // namespace stepscope::nccl::test
