// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/rank_recorder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "engine/telemetry/window_test_builder.h"

// Counts this program's allocations per thread. Not under ThreadSanitizer, whose operator new
// cannot be replaced.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STEPSCOPE_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef STEPSCOPE_COUNTS_ALLOCATIONS
#define STEPSCOPE_COUNTS_ALLOCATIONS 1
#endif
namespace {
thread_local std::size_t allocations = 0;
}  // namespace
#if STEPSCOPE_COUNTS_ALLOCATIONS
// NOLINTBEGIN(cppcoreguidelines-*,misc-definitions-in-headers)
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return ::operator new(size); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-*,misc-definitions-in-headers)
#endif

namespace stepscope {
namespace {

using namespace std::chrono_literals;

Activity any_activity(std::mt19937_64& random) {
  return static_cast<Activity>(random() % activity_count);
}

// Opens and closes scopes at random and keeps its own account of them, ns by ns.
struct RandomNesting {
  std::mt19937_64 random;
  RankRecorder& recorder;
  Ns now;
  ActivityTimes told{};

  void pass_time(Activity running) {
    const Ns spent{static_cast<std::int64_t>(random() % 1000)};
    now += spent;
    told[slot(running)] += spent;
  }
  void scope(Activity outer, int depth) {
    const Activity inner = any_activity(random);
    const Activity before = recorder.enter_at(inner, now);
    EXPECT_EQ(before, outer);
    pass_time(inner);
    for (std::uint64_t i = random() % 3; depth < 6 && i > 0; --i) {
      scope(inner, depth + 1);
      pass_time(inner);
    }
    recorder.enter_at(before, now);
  }
};

TEST(RankRecorder, AStepIsTheSumOfItsActivitiesToTheNanosecond) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RankRecorder recorder({.clock = ClockSource::monotonic});
    recorder.end_step_at(recorder.now(), 0, {}, {});  // from here on the test sets instants
    const Ns start = recorder.last_step()->end;
    RandomNesting run{std::mt19937_64(seed), recorder, start};
    ActivityTimes told_before{};
    for (int step = 0; step < 20; ++step) {
      const Ns begin = run.now;
      for (int i = 0; i < 8; ++i) {
        run.pass_time(Activity::other);
        run.scope(Activity::other, 0);
      }
      recorder.end_step_at(run.now, 7, Flops{10}, Flops{12});
      const StepRecord& last = *recorder.last_step();
      EXPECT_EQ(last.begin, begin);
      EXPECT_EQ(last.end, run.now);
      EXPECT_EQ(sum(last.activity), last.end - last.begin);
      EXPECT_EQ(sum(last.surrounding), last.end - last.begin);
      for (std::size_t i = 0; i < activity_count; ++i)
        EXPECT_EQ(last.activity[i], run.told[i] - told_before[i]) << activity_names[i];
      told_before = run.told;
    }
    const RankWindow window = recorder.take_window();
    EXPECT_EQ(window.totals.steps, 21);
    EXPECT_EQ(window.totals.tokens, 140);
    EXPECT_EQ(sum(window.totals.activity), window.totals.wall);
    EXPECT_EQ(window.totals.wall, window.end - window.begin);
  }
}

TEST(RankRecorder, OnTheRealClockTooNothingIsLost) {
  for (const ClockSource source : {ClockSource::automatic, ClockSource::monotonic}) {
    RankRecorder recorder({.clock = source});
    std::mt19937_64 random(3);
    for (int step = 0; step < 200; ++step) {
      {
        const ActivityScope forward(recorder, any_activity(random));
        const ActivityScope inside(recorder, any_activity(random));
        recorder.enter(any_activity(random));
      }
      recorder.end_step(1, {}, {});
    }
    const RankWindow window = recorder.take_window();
    ASSERT_EQ(window.steps.size(), 200U);
    Ns boundary = window.begin;
    for (const StepRecord& step : window.steps) {
      EXPECT_EQ(step.begin, boundary);
      EXPECT_EQ(sum(step.activity), step.end - step.begin);
      boundary = step.end;
    }
    EXPECT_EQ(boundary, window.end);
    EXPECT_EQ(sum(window.totals.activity), window.end - window.begin);
  }
}

TEST(RankRecorder, AnInstantBeforeTheLastCountsAsThat) {
  RankRecorder recorder({});
  recorder.end_step(0, {}, {});
  const Ns at = recorder.last_step()->end;
  recorder.enter_at(Activity::forward, at + 10ns);
  recorder.enter_at(Activity::backward, at + 5ns);
  recorder.end_step_at(at + 30ns, 0, {}, {});
  EXPECT_EQ(recorder.last_step()->activity[slot(Activity::forward)], 0ns);
  EXPECT_EQ(recorder.last_step()->activity[slot(Activity::backward)], 20ns);
}

TEST(RankRecorder, AWaitBelongsToTheComputationBeforeIt) {
  RankRecorder recorder({});
  recorder.end_step(0, {}, {});
  const Ns at = recorder.last_step()->end;
  recorder.enter_at(Activity::data, at + 10ns);
  recorder.enter_at(Activity::other, at + 20ns);
  recorder.enter_at(Activity::forward, at + 23ns);
  recorder.enter_at(Activity::wait_gather, at + 30ns);
  recorder.enter_at(Activity::other, at + 40ns);  // before more of it
  recorder.enter_at(Activity::forward, at + 41ns);
  recorder.enter_at(Activity::other, at + 50ns);  // before backward
  recorder.enter_at(Activity::backward, at + 52ns);
  recorder.enter_at(Activity::other, at + 60ns);
  recorder.enter_at(Activity::wait_reduce, at + 61ns);
  recorder.enter_at(Activity::optimizer, at + 90ns);
  recorder.enter_at(Activity::other, at + 95ns);
  recorder.end_step_at(at + 96ns, 0, {}, {});
  recorder.enter_at(Activity::wait_io, at + 100ns);  // a checkpoint, before any computation
  recorder.end_step_at(at + 110ns, 0, {}, {});
  const std::vector<StepRecord> steps = recorder.take_window().steps;
  const auto time = [&](std::size_t step, Activity a) { return steps[step].surrounding[slot(a)]; };
  EXPECT_EQ(time(1, Activity::data), 10ns);
  EXPECT_EQ(time(1, Activity::forward), 27ns);
  EXPECT_EQ(time(1, Activity::backward), 38ns);
  EXPECT_EQ(time(1, Activity::optimizer), 5ns);
  EXPECT_EQ(time(1, Activity::other), 10ns + 3ns + 2ns + 1ns);
  EXPECT_EQ(time(2, Activity::other), 14ns);
}

// The listed pieces sum to the step's times and leave no gap.
TEST(RankRecorder, ListsItsTimeLineWhileAsked) {
  RankRecorder recorder({.clock = ClockSource::monotonic});
  std::vector<ActivitySpan> log;
  log.reserve(100);
  recorder.log_activities(&log);
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) recorder.enter(any_activity(random));
  recorder.enter(Activity::other);
  recorder.end_step(1, Flops{}, Flops{});
  recorder.log_activities(nullptr);
  recorder.enter(Activity::forward);
  ASSERT_FALSE(log.empty());
  for (std::size_t i = 1; i < log.size(); ++i) {
    EXPECT_EQ(log[i].begin, log[i - 1].end);
    EXPECT_NE(log[i].activity, log[i - 1].activity);
  }
  ActivityTimes listed{};
  const StepRecord& step = *recorder.last_step();
  for (const ActivitySpan& piece : log)
    listed[slot(piece.activity)] +=
        std::min(piece.end, step.end) - std::max(piece.begin, step.begin);
  listed[slot(Activity::other)] += log.front().begin - step.begin;
  EXPECT_EQ(listed, step.activity);
}

struct RandomCall {
  Ns submitted{}, finished{}, told{};
  std::optional<Ns> last_arrival{};
  std::uint64_t sequence = 0;
};

// In steps of 1000 ns. A call is reported at once, or later in the same step.
std::vector<RandomCall> random_calls(std::mt19937_64& random) {
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::vector<RandomCall> calls;
  for (std::uint64_t i = 0; i < 25; ++i) {
    const Ns submitted{below(9000)};
    const Ns finished = submitted + Ns{1 + below(700)};
    const Ns step_end = Ns{(finished.count() / 1000 + 1) * 1000 - 1};
    RandomCall call{submitted, finished, below(2) == 0 ? finished : step_end, {}, i};
    if (below(4) != 0) call.last_arrival = submitted + Ns{below((finished - submitted).count())};
    calls.push_back(call);
  }
  return calls;
}

// One ns of a timeline, by the definitions of ExposedTime. At the end of a step the last arrival of
// a call that ends later is unknown.
void count_nanosecond(const std::vector<RandomCall>& calls, Ns now, Activity running,
                      StepRecord& expected) {
  bool any = false;
  bool complete = false;
  bool unknown = false;
  for (const RandomCall& call : calls) {
    if (now < call.submitted || now >= call.finished) continue;
    any = true;
    const bool known = call.last_arrival && call.finished.count() / 1000 == now.count() / 1000;
    if (!known) unknown = true;
    if (known && now >= *call.last_arrival) complete = true;
  }
  const bool waits = running == Activity::wait_fetch || running == Activity::wait_reduce ||
                     running == Activity::wait_gather;
  if (computes(running)) {
    expected.overlapped += any ? 1ns : 0ns;
    return;
  }
  if (running == Activity::data || (!any && !waits)) return;
  ExposedTime& exposed = expected.exposed;
  (complete ? exposed.transfer : unknown || !any ? exposed.unsplit : exposed.wait) += 1ns;
  if (running == Activity::wait_transfer) exposed.during_transfer += 1ns;
  if (running == Activity::wait_io) exposed.during_io += 1ns;
  if (running == Activity::other) exposed.during_other += 1ns;
}

// Checks every ns of a random timeline for the main thread's activity and the collectives in
// flight.
TEST(RankRecorder, OverlapAndExposureEqualCountingEachNanosecond) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    RankRecorder recorder({.groups = {{"world", 2}}});
    recorder.end_step(0, {}, {});
    const Ns start = recorder.last_step()->end;
    const std::vector<RandomCall> calls = random_calls(random);
    Ns now{};
    Activity running = Activity::other;
    ExposedTime sum;
    for (int step = 0; step < 10; ++step) {
      StepRecord expected;
      for (int t = 0; t < 1000; ++t, now += 1ns) {
        if (random() % 20 == 0) {
          running = any_activity(random);
          recorder.enter_at(running, start + now);
        }
        count_nanosecond(calls, now, running, expected);
        for (const RandomCall& call : calls) {
          if (call.submitted == now)
            recorder.collective_submitted_at(start + now, 0, call.sequence);
          CollectiveRecord record{.kind = CollectiveKind::all_gather,
                                  .sequence = call.sequence,
                                  .submitted = start + call.submitted,
                                  .finished = start + call.finished};
          if (call.last_arrival) record.last_arrival = start + *call.last_arrival;
          if (call.told == now) recorder.collective(record);
        }
      }
      recorder.end_step_at(start + now, 0, {}, {});
      EXPECT_EQ(recorder.last_step()->overlapped, expected.overlapped) << "seed " << seed;
      EXPECT_EQ(recorder.last_step()->exposed, expected.exposed) << "seed " << seed;
      sum += expected.exposed;
    }
    EXPECT_EQ(recorder.take_window().totals.exposed, sum);
  }
}

TEST(RankRecorder, ExposedTimeIsSplitByTheLastArrival) {
  RankRecorder recorder({.world = 2, .groups = {{"world", 2}}});
  recorder.end_step(0, {}, {});
  const Ns t = recorder.last_step()->end;
  recorder.enter_at(Activity::wait_fetch, t + 100ns);
  recorder.collective({.kind = CollectiveKind::all_gather,
                       .submitted = t + 50ns,
                       .last_arrival = t + 130ns,
                       .finished = t + 200ns,
                       .stall = 100ns});
  recorder.collective({.kind = CollectiveKind::all_gather,
                       .submitted = t + 200ns,
                       .finished = t + 240ns,
                       .stall = 40ns});
  recorder.enter_at(Activity::forward, t + 240ns);
  recorder.end_step_at(t + 300ns, 0, {}, {});
  const StepRecord& step = *recorder.last_step();
  EXPECT_EQ(step.activity[slot(Activity::wait_fetch)], 140ns);
  const ExposedTime expected{.transfer = 70ns, .unsplit = 40ns, .wait = 80ns, .during_other = 50ns};
  EXPECT_EQ(step.exposed, expected);
  EXPECT_EQ(step.overlapped, 0ns);
  EXPECT_EQ(recorder.take_window().totals.exposed, expected);
}

TEST(RankRecorder, KeepsCollectivesByGroupKindAndPurpose) {
  RankRecorder recorder({.rank = 1, .world = 4, .groups = {{"world", 4}, {"pair", 2}}});
  const Ns t = recorder.now();
  recorder.collective({.kind = CollectiveKind::all_gather,
                       .purpose = CollectivePurpose::parameters,
                       .group = 0,
                       .sequence = 0,
                       .bytes = Bytes{4000},
                       .padding = Bytes{40},
                       .submitted = t,
                       .last_arrival = t + 30ns,
                       .finished = t + 100ns,
                       .stall = 80ns});
  recorder.collective({.kind = CollectiveKind::all_gather,
                       .purpose = CollectivePurpose::parameters,
                       .group = 0,
                       .sequence = 1,
                       .bytes = Bytes{4000},
                       .submitted = t + 50ns,
                       .finished = t + 150ns,
                       .stall = 10ns});
  recorder.collective({.kind = CollectiveKind::all_reduce,
                       .purpose = CollectivePurpose::gradients,
                       .group = 1,
                       .bytes = Bytes{100},
                       .submitted = t + 300ns,
                       .finished = t + 340ns});
  recorder.end_step(1, {}, {});
  const RankWindow window = recorder.take_window();
  ASSERT_EQ(window.collectives.size(), 2U);
  const CollectiveTotals& gathers = window.collectives[0];
  EXPECT_EQ(gathers.kind, CollectiveKind::all_gather);
  EXPECT_EQ(gathers.calls, 2U);
  EXPECT_EQ(gathers.bytes, Bytes{8000});
  EXPECT_EQ(gathers.padding, Bytes{40});
  EXPECT_EQ(gathers.time, 200ns);
  EXPECT_EQ(gathers.stall, 90ns);
  EXPECT_EQ(gathers.timed_calls, 1U);
  EXPECT_EQ(gathers.timed_bytes, Bytes{4000});
  EXPECT_EQ(gathers.transfer, 70ns);
  EXPECT_EQ(gathers.peer_wait, 30ns);
  EXPECT_EQ(gathers.peer_stall,
            10ns);  // the main thread waits from 20 to 100, the last rank arrives at 30
  EXPECT_EQ(gathers.durations.count(), 2U);
  EXPECT_EQ(window.totals.comm_in_flight, 190ns);  // 0–150 and 300–340
  ASSERT_EQ(window.arrivals.size(), 3U);
  EXPECT_EQ(window.arrivals[1].sequence, 1U);
  EXPECT_EQ(window.arrivals[2].group, 1);
}

TEST(RankRecorder, KeepsTransfersPrefetchesLayersPassesAndMemory) {
  RankRecorder recorder({.units = {"embed", "block 0"}});
  const Ns t = recorder.now();
  recorder.transfer(TransferDirection::nvme_to_host, Bytes{100}, t, t + 50ns, true);
  recorder.transfer(TransferDirection::nvme_to_host, Bytes{300}, t + 20ns, t + 90ns, false);
  recorder.transfer(TransferDirection::host_to_nvme, Bytes{10}, t, t + 5ns, false);
  recorder.prefetch(PrefetchOutcome::hit, Bytes{64}, 0ns, 100ns);
  recorder.prefetch(PrefetchOutcome::late, Bytes{32}, 40ns, 100ns);
  recorder.layer(1, Activity::forward, 30ns);
  recorder.layer(1, Activity::forward, 20ns);
  recorder.layer(1, Activity::backward, 70ns);
  recorder.layer(1, Activity::recompute, 40ns);
  recorder.pass(TrainingPass::forward, 500ns, 128);
  recorder.memory(MemoryClass::parameters, Bytes{1000}, Bytes{1000});
  recorder.memory(MemoryClass::activations, Bytes{50}, Bytes{700});
  recorder.memory(MemoryClass::activations, Bytes{20}, Bytes{60});
  recorder.end_step(1, {}, {});
  RankWindow window = recorder.take_window();
  const TransferTotals& in = window.totals.transfers[slot(TransferDirection::nvme_to_host)];
  EXPECT_EQ(in, (TransferTotals{.calls = 2,
                                .bytes = Bytes{400},
                                .time = 120ns,
                                .busy = 90ns,
                                .parameter_calls = 1,
                                .parameter_bytes = Bytes{100},
                                .parameter_time = 50ns}));
  EXPECT_EQ(window.totals.prefetch[slot(PrefetchOutcome::late)].stall, 40ns);
  EXPECT_EQ(window.layers[1].forward,
            (Durations{.count = 2, .total = 50ns, .min = 20ns, .max = 30ns}));
  EXPECT_EQ(window.layers[1].backward.total, 70ns);
  EXPECT_EQ(window.layers[1].recompute.total, 40ns);
  EXPECT_EQ(window.layers[0].forward.count, 0U);
  EXPECT_EQ(window.totals.passes[slot(TrainingPass::forward)].items, 128);
  EXPECT_EQ(window.totals.memory[slot(MemoryClass::activations)].peak, Bytes{700});
  EXPECT_EQ(window.totals.memory[slot(MemoryClass::activations)].current, Bytes{20});
  EXPECT_EQ(window.totals.memory_total.current, Bytes{1020});
  EXPECT_EQ(window.totals.memory_total.peak, Bytes{1050});

  // The next window starts empty, but held memory is still held.
  recorder.end_step(1, {}, {});
  window = recorder.take_window();
  EXPECT_EQ(window.totals.transfers[slot(TransferDirection::nvme_to_host)], TransferTotals{});
  EXPECT_EQ(window.layers[1].forward.count, 0U);
  EXPECT_EQ(window.layers[1].recompute.count, 0U);
  EXPECT_EQ(window.totals.memory_total, (MemoryTotals{Bytes{1020}, Bytes{1020}}));
  EXPECT_EQ(window.first_step, 1);
  EXPECT_EQ(window.end_step, 2);
}

TEST(RankRecorder, WindowsOfOneRecorderAppendToOne) {
  Builder whole(5);
  Builder parts(5);
  RankWindow joined;
  for (int step = 0; step < 12; ++step) {
    whole.step();
    parts.step();
    if (step % 3 != 2) continue;
    const auto next = concat(joined, parts.recorder.take_window());
    ASSERT_TRUE(next) << next.error().message();
    joined = *next;
  }
  expect_same(joined, whole.recorder.take_window());
}

TEST(RankRecorder, BeyondItsCapacitySumsStayAndTheRestIsCounted) {
  RankRecorder recorder({.groups = {{"world", 1}}, .steps = 4, .collectives = 3});
  for (int i = 0; i < 6; ++i) {
    recorder.collective({.kind = CollectiveKind::barrier, .sequence = static_cast<unsigned>(i)});
    recorder.end_step(10, {}, {});
  }
  RankWindow window = recorder.take_window();
  EXPECT_EQ(window.steps.size(), 4U);
  EXPECT_EQ(window.totals.steps, 6);
  EXPECT_EQ(window.totals.tokens, 60);
  EXPECT_EQ(window.arrivals.size(), 3U);
  EXPECT_EQ(window.totals.arrivals_dropped, 3U);
  EXPECT_EQ(window.collectives.at(0).calls, 6U);
}

TEST(RankRecorder, TheTrainingThreadAllocatesNothing) {
  Builder run(9);
  RankWindow window;
  for (int round = 0; round < 2; ++round) {
    for (int step = 0; step < 40; ++step) run.step();
    run.recorder.take_window(window);
  }
  run.random.seed(9);  // as large as before, not larger
  for (int step = 0; step < 40; ++step) run.step();
  run.recorder.take_window(window);
  run.random.seed(9);
  const std::size_t before = allocations;
  for (int step = 0; step < 40; ++step) run.step();
  EXPECT_EQ(allocations, before);
  run.recorder.take_window(window);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(window.totals.steps, 40);
  {
    const ActivityScope forward(run.recorder, Activity::forward);
  }
  run.recorder.end_step(1, {}, {});  // on the real clock
  EXPECT_EQ(allocations, before);
#if STEPSCOPE_COUNTS_ALLOCATIONS
  EXPECT_GT(allocations, 0U);  // the hook counts allocations
#endif
}

TEST(RankRecorder, PreparedCollectivesAllocateNothingFromTheFirst) {
  RankRecorder recorder({.groups = {{"world", 2}}});
  recorder.prepare(0, CollectiveKind::all_reduce, CollectivePurpose::gradients);
  const Ns t = recorder.now();
  const std::size_t before = allocations;
  recorder.collective({.kind = CollectiveKind::all_reduce,
                       .purpose = CollectivePurpose::gradients,
                       .submitted = t,
                       .finished = t + 1us});
  recorder.collective({.kind = CollectiveKind::all_reduce,
                       .purpose = CollectivePurpose::gradients,
                       .submitted = t,
                       .finished = t + 1s});
  EXPECT_EQ(allocations, before);
}

TEST(RankRecorder, WindowsGoToAnotherThreadByValue) {
  RankRecorder recorder({});
  std::vector<RankWindow> taken;
  for (int i = 0; i < 10; ++i) {
    recorder.end_step(1, {}, {});
    std::thread reader([window = recorder.take_window(), &taken] { taken.push_back(window); });
    recorder.enter(Activity::forward);
    reader.join();
  }
  EXPECT_EQ(taken.size(), 10U);
}

}  // namespace
}  // namespace stepscope
