// SPDX-License-Identifier: Apache-2.0
// Compares the analysis of a simulated allocator's snapshots with the allocator's own records.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "tests/memory/simulated_training.h"
#include "tests/memory/written_snapshot.h"

namespace stepscope {
namespace {

using namespace testing;

MemorySnapshot read(const std::string& text) {
  auto snapshots = parse_memory_snapshots(text, "made");
  EXPECT_TRUE(snapshots) << (snapshots ? "" : snapshots.error().message());
  if (!snapshots || snapshots->size() != 1) return {};
  EXPECT_TRUE(snapshots->front().notes.empty());
  return std::move(snapshots->front());
}

// Compares the whole content of the snapshot at the end, by address.
void expect_end(const MemoryReplay& replay, const SimulatedAllocator& truth) {
  const MemoryState end = state_at(replay, static_cast<std::uint32_t>(replay.live.size() - 1));
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> found;
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> expected;
  for (const BlockLife* b : end.blocks)
    found.emplace_back(b->address, b->size.value, b->requested.value);
  std::vector<std::pair<std::uint64_t, std::int64_t>> found_segments;
  std::vector<std::pair<std::uint64_t, std::int64_t>> expected_segments;
  for (const SegmentLife* s : end.segments) found_segments.emplace_back(s->address, s->size.value);
  for (const auto& [address, segment] : truth.segments) {
    expected_segments.emplace_back(address, segment.size);
    for (const auto& [at, block] : segment.blocks)
      if (block.state != SimBlock::State::free)
        expected.emplace_back(at, block.size, block.requested);
  }
  std::ranges::sort(expected);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found_segments, expected_segments);
}

std::uint64_t contradictions(const MemoryReplay& r) {
  return r.blocks_missing + r.blocks_reused + r.frees_unknown + r.segments_unknown;
}

TEST(MemoryReplay, KnowsWhatTheAllocatorHeldAfterEachEvent) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const SimRun run =
        simulated_noise(1500, seed % 2 == 1, std::int64_t{seed % 3 == 0 ? 400 : 4000} << 20, seed);
    const MemorySnapshot snapshot = read(pickled(run.allocator));
    ASSERT_EQ(snapshot.devices.size(), 1U);
    const MemoryReplay replay = replay_memory(snapshot.devices.front(), snapshot.settings);
    ASSERT_EQ(replay.live.size(), run.allocator.totals.size());
    for (std::size_t p = 0; p < replay.live.size(); ++p) {
      const SimTotals& truth = run.allocator.totals[p];
      ASSERT_EQ(replay.requested[p], truth.requested) << p;
      ASSERT_EQ(replay.reserved[p], truth.reserved) << p;
      ASSERT_EQ(replay.live[p], truth.live) << p << ' ' << run.allocator.events[p - 1].action;
    }
    EXPECT_TRUE(replay.begins_empty);
    EXPECT_EQ(contradictions(replay), 0U);
    EXPECT_EQ(replay.sizes_corrected, 0U);
    expect_end(replay, run.allocator);
  }
}

TEST(MemoryReplay, GoesBackFromTheSnapshotWhereTheHistoryBeginsInTheMiddle) {
  for (unsigned seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    const SimRun run = simulated_noise(1500, seed % 2 == 1, std::int64_t{4000} << 20, seed);
    const std::size_t all = run.allocator.events.size();
    const std::size_t kept = all / 3 + seed;
    const MemorySnapshot snapshot = read(pickled(run.allocator, {.ring = kept}));
    const MemoryReplay replay = replay_memory(snapshot.devices.front(), snapshot.settings);
    ASSERT_EQ(replay.live.size(), kept + 1);
    EXPECT_FALSE(replay.begins_empty);
    EXPECT_EQ(contradictions(replay), 0U);
    std::int64_t widest = 0;
    for (std::size_t p = 0; p <= kept; ++p) {
      const SimTotals& truth = run.allocator.totals[all - kept + p];
      ASSERT_EQ(replay.requested[p], truth.requested) << p;
      ASSERT_EQ(replay.reserved[p], truth.reserved) << p;
      widest = std::max(widest, std::abs(replay.live[p] - truth.live));
    }
    // Only remainders of blocks without a recorded allocation, each at most 1 MiB.
    const auto earlier = std::ranges::count_if(replay.blocks, &BlockLife::before_trace);
    EXPECT_LE(widest, earlier << 20);
    EXPECT_EQ(replay.live.back(), run.allocator.totals.back().live);
    expect_end(replay, run.allocator);
  }
}

TEST(MemoryAccount, ComposesThePeakExactly) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const TrainingShape shape{.layers = 3 + static_cast<int>(seed),
                              .steps = 3,
                              .width = 100'000 << (seed % 5),
                              .expandable = seed % 2 == 1};
    const SimRun run = simulated_training(shape, seed);
    const MemorySnapshot snapshot = read(pickled(run.allocator));
    const MemoryAccount account = memory_account(snapshot);
    ASSERT_EQ(account.devices.size(), 1U);
    const DeviceMemoryAccount& d = account.devices.front();
    EXPECT_EQ(d.peak.position, run.peak_event);
    std::map<std::string, std::int64_t> uses;
    std::map<std::size_t, std::pair<std::int64_t, std::uint64_t>> stacks;
    for (const SimLife& life : run.lives)
      if (life.begin <= run.peak_event && run.peak_event < life.end) {
        uses[life.use] += life.size;
        stacks[life.stack].first += life.size;
        ++stacks[life.stack].second;
      }
    for (std::size_t u = 0; u < memory_use_count; ++u)
      EXPECT_EQ(d.peak.by_use[u].value, uses[std::string(memory_use_names[u])])
          << memory_use_names[u];
    std::vector<std::pair<std::int64_t, std::uint64_t>> expected;
    std::vector<std::pair<std::int64_t, std::uint64_t>> found;
    for (const auto& [stack, held] : stacks) expected.push_back(held);
    for (const MemoryHolder& h : d.peak.holders) found.emplace_back(h.bytes.value, h.blocks);
    std::ranges::sort(expected);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(d.tree.total.front(), d.peak.fragments.live());
    // The uses over time sum to the live bytes.
    for (const MemoryTimePoint& p : d.timeline) {
      Bytes sum{};
      for (const Bytes b : p.by_use) sum += b;
      EXPECT_EQ(sum, p.live) << p.position;
    }
  }
}

TEST(MemoryAccount, NamesLineOperatorAndNode) {
  const SimRun run = simulated_training({}, 1);
  const MemoryAccount account = memory_account(read(pickled(run.allocator)));
  const auto& holders = account.devices.front().peak.holders;
  const auto at = [&](std::string_view name) {
    return std::ranges::find(holders, name, [](const MemoryHolder& h) { return h.site.name; });
  };
  const auto forward = at("forward");
  ASSERT_NE(forward, holders.end());
  EXPECT_EQ(forward->site.file, "/src/model.py");
  EXPECT_EQ(forward->site.operation, "addmm");
  EXPECT_EQ(forward->use, MemoryUse::activations);
  const auto init = at("__init__");
  ASSERT_NE(init, holders.end());
  EXPECT_EQ(init->site.line, 11);
  EXPECT_EQ(init->use, MemoryUse::parameters);
}

// A name of the user's own shows no part of training, and so no use.
TEST(MemoryAccount, ABlockOfNoKnownPartIsOfUnknownUseUnlessABackwardFreesIt) {
  const auto stack = [](const std::string& file, const std::string& name) {
    return R"("frames": [{"filename": "/w/)" + file + R"(", "line": 20, "name": ")" + name +
           R"("}])";
  };
  const auto event = [](const std::string& action, int address, const std::string& frames) {
    return R"({"action": ")" + action + R"(", "addr": )" + std::to_string(address) +
           R"(, "size": 1048576, "stream": 0, )" + frames + "}";
  };
  const std::string block = R"({"size": 1048576, "requested_size": 1048576, )" +
                            stack("opt.py", "step") + R"(, "state": "active_allocated"})";
  const std::string text =
      R"({"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "stream": 0,
          "segment_type": "large", "blocks": [)" +
      block + R"(, {"size": 1048576, "requested_size": 0, "state": "inactive", "frames": []}]}],
          "device_traces": [[)" +
      event("alloc", 4096, stack("opt.py", "step")) + ", " +
      event("alloc", 1052672, stack("model.py", "forward")) + ", " +
      event("free_completed", 1052672, R"("frames": [])") + "]]}";
  const MemoryAccount account = memory_account(read(text));
  const auto& holders = account.devices.front().peak.holders;
  const auto step =
      std::ranges::find(holders, "step", [](const MemoryHolder& h) { return h.site.name; });
  ASSERT_NE(step, holders.end());
  EXPECT_EQ(step->use, MemoryUse::unknown);
}

TEST(MemoryAccount, BlocksWithoutAStackAreListedByTheirUse) {
  const std::string text =
      R"({"segments": [{"device": 0, "address": 4096, "total_size": 3145728, "stream": 0,
          "segment_type": "large", "blocks": [
          {"size": 1048576, "requested_size": 1048576, "state": "active_allocated", "frames": []},
          {"size": 2097152, "requested_size": 0, "state": "inactive", "frames": []}]}],
          "device_traces": [[{"action": "free_completed", "addr": 1052672, "size": 2097152,
          "stream": 0, "frames": [{"filename": "/w/optim/adam.py", "line": 1, "name": "step"}]}]]})";
  const MemoryAccount account = memory_account(read(text));
  std::vector<std::pair<MemoryUse, std::int64_t>> found;
  for (const MemoryHolder& h : account.devices.front().peak.holders)
    found.emplace_back(h.use, h.bytes.value);
  EXPECT_EQ(found, (std::vector<std::pair<MemoryUse, std::int64_t>>{{MemoryUse::optimizer, 2097152},
                                                                    {MemoryUse::older, 1048576}}));
}

// A program that ends, or that an error unwinds, frees what it had kept.
TEST(MemoryAccount, WhatIsFreedAtTheEndWasKeptAndALineMayServeSeveralUses) {
  const auto event = [](const std::string& action, int megabyte, const std::string& file,
                        const std::string& name) {
    return R"({"action": ")" + action + R"(", "addr": )" + std::to_string(megabyte << 20) +
           R"(, "size": 1048576, "stream": 0, "frames": [{"filename": "/w/)" + file +
           R"(", "line": 7, "name": ")" + name + R"("}]})";
  };
  const std::string text =
      R"({"segments": [{"device": 0, "address": 1048576, "total_size": 4194304, "stream": 0,
          "segment_type": "large", "blocks": [
          {"size": 4194304, "requested_size": 0, "state": "inactive", "frames": []}]}],
          "device_traces": [[)" +
      event("alloc", 1, "model.py", "__init__") + ", " + event("alloc", 2, "adam.py", "step") +
      ", " + event("alloc", 3, "adam.py", "step") + ", " +
      event("alloc", 4, "model.py", "forward") + ", " +
      event("free_completed", 3, "adam.py", "step") + ", " +
      event("free_completed", 4, "loss.py", "backward") + ", " +
      event("alloc", 3, "model.py", "forward") + ", " +
      event("free_completed", 3, "main.py", "main") + ", " +
      event("free_completed", 2, "main.py", "main") + ", " +
      event("free_completed", 1, "main.py", "main") + "]]}";
  const MemoryAccount account = memory_account(read(text));
  const MemoryInstant& peak = account.devices.front().peak;
  for (const MemoryUse use : {MemoryUse::parameters, MemoryUse::optimizer})
    EXPECT_EQ(peak.by_use[static_cast<std::size_t>(use)].value, 1048576) << static_cast<int>(use);
  std::set<MemoryUse> of_step;
  for (const MemoryHolder& h : peak.holders)
    if (h.site.name == "step") of_step.insert(h.use);
  EXPECT_EQ(of_step, (std::set{MemoryUse::optimizer, MemoryUse::temporary}));
}

// An optimizer of the user's own, which PyTorch's calls.
TEST(MemoryAccount, AStepThatTorchWrapsIsOfTheOptimizer) {
  const std::string block = R"({"size": 1048576, "requested_size": 1048576, "frames": [
      {"filename": "/w/own.py", "line": 9, "name": "step"},
      {"filename": "/lib/torch/optim/optimizer.py", "line": 493, "name": "wrapper"}],
      "state": "active_allocated"})";
  const std::string text =
      R"({"segments": [{"device": 0, "address": 4096, "total_size": 1048576, "stream": 0,
          "segment_type": "large", "blocks": [)" +
      block + R"(]}], "device_traces": [[]]})";
  const auto& holders = memory_account(read(text)).devices.front().peak.holders;
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders.front().use, MemoryUse::optimizer);
  EXPECT_EQ(holders.front().site.line, 9);
}

// Autocast keeps one copy of a parameter. Another cast of that size is of an activation.
TEST(MemoryAccount, CopiesByAutocastAreNoActivations) {
  const std::string frames = R"("frames": [
      {"filename": "??", "line": 0, "name": "at::autocast::cached_cast"},
      {"filename": "/w/model.py", "line": 20, "name": "forward"}])";
  const std::string cast = R"({"size": 524288, "requested_size": 524288, )" + frames +
                           R"(, "state": "active_allocated"})";
  const auto event = [&](int address) {
    return R"({"action": "alloc", "addr": )" + std::to_string(address) +
           R"(, "size": 524288, "stream": 0, )" + frames + "}";
  };
  const std::string text =
      R"({"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "stream": 0,
          "segment_type": "large", "blocks": [
          {"size": 1048576, "requested_size": 1048576, "state": "active_allocated", "frames": []},)" +
      cast + ", " + cast + R"(]}], "device_traces": [[)" + event(1052672) + ", " + event(1576960) +
      "]]}";
  const auto& by_use = memory_account(read(text)).devices.front().peak.by_use;
  const auto held = [&](MemoryUse use) { return by_use[static_cast<std::size_t>(use)].value; };
  EXPECT_EQ(held(MemoryUse::older), 1048576);
  EXPECT_EQ(held(MemoryUse::casts), 524288);
  EXPECT_EQ(held(MemoryUse::activations), 524288);
}

// Computed from the allocator's own list of blocks.
TEST(MemoryFragments, AreTheAllocatorsFreeBlocks) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const SimRun run = simulated_noise(800, false, std::int64_t{4000} << 20, seed);
    const MemoryAccount account = memory_account(read(pickled(run.allocator)));
    const MemoryFragments& f = account.devices.front().peak.fragments;
    std::int64_t reserved = 0;
    std::int64_t requested = 0;
    std::int64_t rounding = 0;
    std::int64_t cached = 0;
    std::int64_t stranded = 0;
    std::int64_t pending = 0;
    std::int64_t largest = 0;
    for (const auto& [address, segment] : run.peak_segments) {
      reserved += segment.size;
      const bool used = std::ranges::any_of(
          segment.blocks, [](const auto& b) { return b.second.state != SimBlock::State::free; });
      for (const auto& [at, block] : segment.blocks) {
        if (block.state == SimBlock::State::free) {
          (used ? stranded : cached) += block.size;
          largest = std::max(largest, block.size);
          continue;
        }
        requested += block.requested;
        rounding += block.size - block.requested;
        if (block.state == SimBlock::State::pending) pending += block.size;
      }
    }
    EXPECT_EQ(f.reserved.value, reserved);
    EXPECT_EQ(f.requested.value, requested);
    EXPECT_EQ(f.rounding.value, rounding);
    EXPECT_EQ(f.cached.value, cached);
    EXPECT_EQ(f.stranded.value, stranded);
    EXPECT_EQ(f.pending.value, pending);
    EXPECT_EQ(f.largest_free.value, largest);
    EXPECT_EQ(f.outside, 0U);
    EXPECT_EQ(f.live() + f.free(), f.reserved);
  }
}

constexpr std::int64_t mib = 1 << 20;

OutOfMemory only_oom(const SimulatedAllocator& a) {
  const MemoryAccount account = memory_account(read(pickled(a)));
  EXPECT_EQ(account.devices.front().oom_count, 1U);
  return account.devices.front().ooms.empty() ? OutOfMemory{}
                                              : account.devices.front().ooms.front();
}

TEST(OutOfMemory, IsFragmentationWhereTheFreeBytesWouldBeEnough) {
  SimulatedAllocator a(60 * mib, false);
  const std::size_t s = a.stack({{"f", "/src/a.py", 1}});
  std::vector<std::uint64_t> at;
  for (int i = 0; i < 12; ++i) at.push_back(a.allocate(5 * mib, 0, s).value());
  for (std::size_t i = 0; i < at.size(); i += 2) a.free(at[i], s);
  ASSERT_FALSE(a.allocate(12 * mib, 0, s));
  const OutOfMemory oom = only_oom(a);
  EXPECT_EQ(oom.verdict, OomVerdict::fragmented);
  EXPECT_EQ(oom.request.value, 12 * mib);
  EXPECT_EQ(oom.fit.largest_usable.value, 5 * mib);
  EXPECT_EQ(oom.fit.free_usable.value, 30 * mib);
  EXPECT_EQ(oom.missing.value, 0);
  EXPECT_EQ(oom.device_free.value, 0);
}

TEST(OutOfMemory, IsOfStreamsWhereAnotherOneHasTheRoom) {
  SimulatedAllocator a(60 * mib, false);
  const std::size_t s = a.stack({{"f", "/src/a.py", 1}});
  const auto first = a.allocate(5 * mib, 7, s).value();
  (void)a.allocate(5 * mib, 7, s);
  (void)a.allocate(20 * mib, 0, s);
  (void)a.allocate(20 * mib, 0, s);
  a.free(first, s);
  ASSERT_FALSE(a.allocate(12 * mib, 0, s));
  const OutOfMemory oom = only_oom(a);
  EXPECT_EQ(oom.verdict, OomVerdict::streams);
  EXPECT_EQ(oom.fit.free_usable.value, 0);
  EXPECT_EQ(oom.fit.largest_other.value, 10 * mib);
}

TEST(OutOfMemory, IsPendingWhereAnotherStreamStillReads) {
  SimulatedAllocator a(40 * mib, false);
  const std::size_t s = a.stack({{"f", "/src/a.py", 1}});
  const auto first = a.allocate(20 * mib, 0, s).value();
  (void)a.allocate(20 * mib, 0, s);
  a.free(first, s, true);
  ASSERT_FALSE(a.allocate(15 * mib, 0, s));
  const OutOfMemory oom = only_oom(a);
  EXPECT_EQ(oom.verdict, OomVerdict::pending);
  EXPECT_EQ(oom.fragments.pending.value, 20 * mib);
}

TEST(OutOfMemory, SaysWhatIsMissing) {
  SimulatedAllocator a(40 * mib, false);
  const std::size_t s = a.stack({{"f", "/src/a.py", 1}});
  (void)a.allocate(20 * mib, 0, s);
  ASSERT_FALSE(a.allocate(31 * mib, 0, s));
  const OutOfMemory oom = only_oom(a);
  EXPECT_EQ(oom.verdict, OomVerdict::too_large);
  EXPECT_EQ(oom.device_free.value, 20 * mib);
  EXPECT_EQ(oom.missing.value, 11 * mib);
}

TEST(SegmentRetries, AreCountedApartFromAnEmptiedCache) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const SimRun run = simulated_noise(1500, false, std::int64_t{300} << 20, seed);
    const MemoryAccount account = memory_account(read(pickled(run.allocator)));
    const SegmentRetries& r = account.devices.front().retries;
    // A cache emptied directly before a retry is one run of frees; they cannot be distinguished.
    EXPECT_LE(r.count, run.allocator.retries);
    EXPECT_GE(r.count + r.emptied, run.allocator.retries);
    EXPECT_EQ(r.count, r.certain);
    EXPECT_GT(r.count, 0U);
  }
}

}  // namespace
}  // namespace stepscope
