// SPDX-License-Identifier: Apache-2.0
// Any bytes as a memory snapshot (pickle, JSON or page), and its account. The results add up:
// segments to the reserved bytes, uses to the live bytes, columns of the tree to one another.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/read/memory/read_memory_snapshot.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check_instant(const MemoryInstant& at) {
  const MemoryFragments& f = at.fragments;
  expect(f.rounding >= Bytes{} && f.cached >= Bytes{} && f.stranded >= Bytes{},
         "no part is negative");
  expect(f.live() + f.free() == f.reserved, "the parts sum to what is reserved");
  expect(f.largest_free <= f.free(), "the largest free block is free");
  expect(f.pending <= f.live(), "what waits is live");
  Bytes uses{};
  for (const Bytes b : at.by_use) uses += b;
  Bytes held{};
  for (const MemoryHolder& h : at.holders) held += h.bytes;
  expect(uses == held, "uses and holders hold the same");
  expect(f.outside > 0 || uses == f.live(), "uses sum to what is live");
}

void check_account(const MemorySnapshot& snapshot) {
  for (const DeviceMemoryAccount& d : memory_account(snapshot).devices) {
    check_instant(d.peak);
    check_instant(d.end);
    expect(!d.timeline.empty() && d.timeline.size() <= timeline_points, "a timeline");
    expect(d.ooms.size() <= most_ooms && d.ooms.size() <= d.oom_count, "failures are counted");
    const std::size_t nodes = d.tree.label.size();
    expect(nodes > 0 && d.tree.parent.size() == nodes && d.tree.total.size() == nodes, "a tree");
    for (std::size_t i = 1; i < nodes; ++i) {
      expect(d.tree.parent[i] < i && d.tree.label[i] < d.tree.labels.size(), "nodes in preorder");
      expect(d.tree.total[i] <= d.tree.total[d.tree.parent[i]], "a node is part of its parent");
    }
  }
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const auto snapshots =
      parse_memory_snapshots(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!snapshots) {
    expect(!snapshots.error().message().empty(), "an error says something");
    return 0;
  }
  for (const MemorySnapshot& snapshot : *snapshots) {
    for (const SnapshotDevice& d : snapshot.devices) {
      for (const SnapshotSegment& s : d.segments)
        expect(std::size_t{s.first_block} + s.blocks <= d.blocks.size(), "blocks of a segment");
      for (const AllocatorEvent& e : d.events)
        expect(e.stack < snapshot.stacks.size(), "an event's stack");
    }
    check_account(snapshot);
  }
  return 0;
}
