// SPDX-License-Identifier: Apache-2.0
// All forms of a snapshot give the same result. A form that lacks a part gives less. Broken or
// hostile files are refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "tests/memory/simulated_training.h"
#include "tests/memory/written_snapshot.h"

namespace stepscope {
namespace {

using namespace testing;

std::vector<MemorySnapshot> read(std::string text) {
  auto snapshots = parse_memory_snapshots(std::move(text), "made");
  EXPECT_TRUE(snapshots) << (snapshots ? "" : snapshots.error().message());
  return snapshots ? std::move(*snapshots) : std::vector<MemorySnapshot>();
}

DeviceMemoryAccount account_of(const std::string& text) {
  const auto snapshots = read(text);
  EXPECT_EQ(snapshots.size(), 1U);
  MemoryAccount account = memory_account(snapshots.at(0));
  EXPECT_EQ(account.devices.size(), 1U);
  return std::move(account.devices.at(0));
}

void expect_same(const DeviceMemoryAccount& a, const DeviceMemoryAccount& b) {
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.peak.position, b.peak.position);
  EXPECT_EQ(a.peak.by_use, b.peak.by_use);
  EXPECT_EQ(a.peak.fragments.stranded, b.peak.fragments.stranded);
  ASSERT_EQ(a.peak.holders.size(), b.peak.holders.size());
  for (std::size_t i = 0; i < a.peak.holders.size(); ++i) {
    EXPECT_EQ(a.peak.holders[i].bytes, b.peak.holders[i].bytes);
    EXPECT_EQ(a.peak.holders[i].site.name, b.peak.holders[i].site.name);
  }
  EXPECT_EQ(a.tree.labels, b.tree.labels);
  EXPECT_EQ(a.length, b.length);
}

TEST(SnapshotForms, SayTheSame) {
  const SimRun run = simulated_training({}, 3);
  const std::string pickle = pickled(run.allocator);
  const DeviceMemoryAccount first = account_of(pickle);
  expect_same(first, account_of(as_json(run.allocator)));
  expect_same(first, account_of(as_page(pickle)));
}

TEST(SnapshotForms, APageMayHoldSeveral) {
  const SimRun run = simulated_training({}, 3);
  const std::string page = as_page(pickled(run.allocator));
  const auto snapshots = read(page + page);
  ASSERT_EQ(snapshots.size(), 2U);
  EXPECT_EQ(snapshots[1].path, "made#2");
  EXPECT_EQ(snapshots[1].format, "page");
}

TEST(SnapshotForms, WithoutStacksTheBytesAreTheSame) {
  const SimRun run = simulated_training({}, 5);
  const DeviceMemoryAccount with = account_of(pickled(run.allocator));
  const DeviceMemoryAccount without = account_of(pickled(run.allocator, {.stacks = false}));
  EXPECT_FALSE(without.has_stacks);
  EXPECT_EQ(without.peak.position, with.peak.position);
  EXPECT_EQ(without.peak.fragments.live(), with.peak.fragments.live());
  ASSERT_EQ(without.peak.holders.size(), 1U);
  EXPECT_EQ(without.peak.holders[0].bytes, with.peak.fragments.live());
  EXPECT_EQ(without.peak.by_use[static_cast<std::size_t>(MemoryUse::unknown)],
            with.peak.fragments.live());
}

TEST(SnapshotForms, WithoutHistoryThePeakIsTheSnapshot) {
  const SimRun run = simulated_training({}, 5);
  const DeviceMemoryAccount with = account_of(pickled(run.allocator));
  const DeviceMemoryAccount without = account_of(pickled(run.allocator, {.history = false}));
  EXPECT_EQ(without.events, 0U);
  EXPECT_EQ(without.peak.position, 0U);
  EXPECT_EQ(without.peak.fragments.live(), with.end.fragments.live());
  EXPECT_EQ(without.peak.fragments.stranded, with.end.fragments.stranded);
  EXPECT_EQ(without.peak.fragments.requested, with.end.fragments.requested);
}

TEST(SnapshotForms, WithoutTimesEventsAreTheAxis) {
  const SimRun run = simulated_training({}, 5);
  const DeviceMemoryAccount d = account_of(pickled(run.allocator, {.times = false}));
  EXPECT_FALSE(d.has_times);
  EXPECT_FALSE(d.peak.time);
  EXPECT_EQ(d.peak.position, run.peak_event);
}

TEST(SnapshotForms, DevicesStandApart) {
  const SimRun run = simulated_training({}, 5);
  const auto snapshots = read(pickled(run.allocator, {.device = 3}));
  ASSERT_EQ(snapshots.size(), 1U);
  ASSERT_EQ(snapshots[0].devices.size(), 1U);
  EXPECT_EQ(snapshots[0].devices[0].device, 3);
}

TEST(SnapshotForms, ACutFileIsRefusedAtEveryByte) {
  const SimRun run = simulated_training({.layers = 1, .steps = 1}, 1);
  const std::string pickle = pickled(run.allocator);
  const std::string json = as_json(run.allocator);
  for (const std::string& whole : {pickle, json})
    for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 997) {
      const auto cut = parse_memory_snapshots(whole.substr(0, n), "cut");
      ASSERT_FALSE(cut) << n;
      ASSERT_TRUE(cut.error().byte) << n << cut.error().message();
      ASSERT_LE(*cut.error().byte, n);
    }
}

TEST(SnapshotForms, WhatDoesMoreThanHoldDataIsRefused) {
  using namespace std::string_literals;
  const std::vector<std::string> hostile = {
      "\x80\x02}q\x00X\x08\x00\x00\x00segmentsq\x01"
      "cos\nsystem\nq\x02X\x02\x00\x00\x00idq\x03\x85q\x04Rq\x05s."s,
      "\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x8c\x02id\x94\x85R."s,
      "\x80\x02}X\x08\x00\x00\x00segmentscbuiltins\neval\n."s,
      "(dS'segments'\ni__main__\nX\n."s,
  };
  for (const std::string& bytes : hostile) {
    const auto result = parse_memory_snapshots(bytes, "hostile");
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message().find("more than plain data"), std::string::npos)
        << result.error().message();
    const auto page = parse_memory_snapshots(as_page(bytes), "hostile.html");
    ASSERT_FALSE(page);
    EXPECT_NE(page.error().message().find("more than plain data"), std::string::npos);
  }
}

TEST(SnapshotForms, OtherFilesAreNotSnapshots) {
  for (const std::string text :
       {"", "hello", "[1, 2]", "{\"entries\": []}", "<html></html>",
        "<!DOCTYPE html><script>[{\"base64\": \"!!\"}]</script>", "[]", "{\"segments\": 3}"})
    EXPECT_FALSE(parse_memory_snapshots(text, "other")) << text;
}

// Segments alone, as from torch.cuda.memory_snapshot(); blocks of PyTorch 1.13.
TEST(SnapshotForms, OldOnesAreUnderstood) {
  const std::string json =
      "[{\"device\": 0, \"address\": 4096, \"total_size\": 2097152, \"stream\": 0, "
      "\"segment_type\": \"small\", \"blocks\": [{\"size\": 1024, \"state\": "
      "\"active_allocated\", \"history\": [{\"addr\": 4096, \"real_size\": 700, \"frames\": "
      "[{\"name\": \"f\", \"filename\": \"a.py\", \"line\": 3}]}]}, {\"size\": 2096128, \"state\": "
      "\"inactive\"}]}]";
  const DeviceMemoryAccount d = account_of(json);
  EXPECT_EQ(d.peak.fragments.requested.value, 700);
  EXPECT_EQ(d.peak.fragments.rounding.value, 324);
  EXPECT_EQ(d.peak.fragments.stranded.value, 2096128);
  ASSERT_EQ(d.peak.holders.size(), 1U);
  EXPECT_EQ(d.peak.holders[0].site.name, "f");
}

TEST(SnapshotForms, ContradictionsAreCounted) {
  const std::string json =
      "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 512, \"size\": 9, "
      "\"stream\": 0}, {\"action\": \"alloc\", \"addr\": 512, \"size\": 10, \"stream\": 0}, "
      "{\"action\": \"segment_free\", \"addr\": 0, \"size\": 4, \"stream\": 0}, {\"action\": "
      "\"segment_free\", \"addr\": 0, \"size\": 4, \"stream\": 0}, {\"action\": \"dance\"}, "
      "{\"action\": \"alloc\", \"size\": -4}]]}";
  const auto snapshots = read(json);
  ASSERT_EQ(snapshots.size(), 1U);
  EXPECT_EQ(snapshots[0].notes.at("events_of_unknown_action"), 1U);
  EXPECT_EQ(snapshots[0].notes.at("unreadable_events"), 1U);
  const MemoryAccount account = memory_account(snapshots[0]);
  EXPECT_GT(account.devices.at(0).contradictions, 0U);
}

}  // namespace
}  // namespace stepscope
